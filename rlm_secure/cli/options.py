"""The options that commands share, and the format of help."""

from __future__ import annotations

import argparse
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlm_secure.testing.arena import Arena

_SECRET_NAME = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


class Help(argparse.RawDescriptionHelpFormatter):
    """Help with the same layout on every Python version and terminal, so that the README can quote it."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=28, width=100)


def parser(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str,
    *,
    usage: str,
    summary: str,
    details: str | None = None,
    within: str = "",
) -> argparse.ArgumentParser:
    """Add a subcommand (`within` another one): `summary` is its line in `--help`, `details` follow the options."""
    return commands.add_parser(
        name,
        usage=" ".join(filter(None, ("rlm-secure", within, name, usage))),
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=details,
        formatter_class=Help,
        allow_abbrev=False,
    )


def verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], command: str, name: str, usage: str, summary: str
) -> argparse.ArgumentParser:
    """Add a verb of a subcommand: `summary` is its line in the command's help, and its own description."""
    return parser(verbs, name, usage=usage, summary=summary, within=command)


def add_walls(command: argparse.ArgumentParser) -> None:
    """Add --environment and --policy."""
    command.add_argument("--environment", default="local", metavar="NAME", help="where cells run (default: local)")
    add_policy(command)


def add_policy(command: argparse.ArgumentParser) -> None:
    """Add --policy."""
    command.add_argument(
        "--policy",
        default="strict",
        metavar="NAME|FILE",
        help="strict, standard, research, or a TOML file (default: strict)",
    )


def add_json(command: argparse.ArgumentParser) -> None:
    """Add --json."""
    command.add_argument("--json", action="store_true", help="print one JSON document on stdout")


def add_shares(command: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add --share, --share-network and --share-variable: what an arena gets from this machine."""
    command.add_argument(
        "--share",
        action="append",
        default=[],
        metavar="PATH",
        help="show this directory, file or socket in the arena, read-only; PATH:rw lets it write "
        "(and makes a new directory, for as long as the arena is there); may be repeated",
    )
    command.add_argument("--share-network", action="store_true", help="give the arena this machine's network")
    command.add_argument(
        "--share-variable",
        action="append",
        default=[],
        metavar="NAME",
        help="give the arena this variable of the environment; may be repeated",
    )


def arena_of(arguments: argparse.Namespace) -> Arena:
    """The arena that those options describe. Raises ValueError for an invalid share."""
    from rlm_secure.testing.arena import Arena
    from rlm_secure.testing.arena.paths import Share

    shares = tuple(Share.parse(text) for text in arguments.share)
    return Arena(shares, arguments.share_network, tuple(arguments.share_variable))


def seconds(text: str) -> float:
    """Parse a positive number of seconds, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number of seconds")
    return value


def count(text: str) -> int:
    """Parse a positive whole number, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return value


def backend_argument(text: str) -> tuple[str, Any]:
    """Parse KEY=VALUE for the backend: VALUE is JSON if it parses as JSON, else a string. Refuses names of secrets."""
    key, equals, value = text.partition("=")
    if not equals or not key.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    if _SECRET_NAME.search(key):
        raise argparse.ArgumentTypeError(
            f"{key} may not be an argument, where every process can read it; "
            "put it into the backend's environment variable (OPENAI_API_KEY, ...)"
        )
    try:
        return key, json.loads(value)
    except ValueError:
        return key, value
