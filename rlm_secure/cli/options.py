"""The options that commands share, and the format of help."""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from rlm_secure.cli.terminal import COULD_NOT_RUN, say

if TYPE_CHECKING:
    from rlm_secure.testing.arena import Arena

_SCHEMA_BYTES = 1024 * 1024
_SECRET_NAME = re.compile(r"key|token|secret|password|credential", re.IGNORECASE)


class Parser(argparse.ArgumentParser):
    """A parser whose errors name the command, and the option or choice that was probably meant."""

    def parse_known_args(  # type: ignore[override]  # the overloads of argparse differ in the namespace alone
        self, args: Sequence[str] | None = None, namespace: argparse.Namespace | None = None
    ) -> tuple[argparse.Namespace, list[str]]:
        """As argparse's. An unknown option is reported first: its value would be taken for another argument."""
        given = sys.argv[1:] if args is None else list(args)
        known = self._option_string_actions
        for each in given:
            if each == "--" or (self._subparsers is not None and not each.startswith("-")):
                break
            name = each.partition("=")[0]
            if name.startswith("--") and " " not in name and name not in known:
                self.error(f"there is no option {name}" + meant(name, known))
        parsed, rest = super().parse_known_args(given, argparse.Namespace() if namespace is None else namespace)
        if rest and self._subparsers is None:
            self.error(f"unrecognized arguments: {' '.join(rest)}")
        return parsed, rest

    def error(self, message: str) -> NoReturn:
        """Print the usage and one sentence, and exit with 2."""
        wrong, listed, choices = message.partition("invalid choice: ")[2].rpartition(" (choose from ")
        if listed:
            message += meant(wrong.strip("'"), re.findall(r"[\w.-]+", choices))
        super().error(message)


def meant(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest, as the end of a sentence; "" where none is near."""
    import difflib  # for a mistake alone

    near = difflib.get_close_matches(name, known, 1)
    return f"; did you mean {near[0]}?" if near else ""


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
    prog = " ".join(filter(None, ("rlm-secure", within, name)))
    command = commands.add_parser(
        name,
        prog=prog,
        usage=f"{prog} {usage}".rstrip(),
        help=summary,
        description=f"{summary[0].upper()}{summary[1:]}.",
        epilog=details,
        formatter_class=Help,
        allow_abbrev=False,
    )
    command.set_defaults(prog=prog)  # for errors that are found later
    return command


def verb(
    verbs: argparse._SubParsersAction[argparse.ArgumentParser], command: str, name: str, usage: str, summary: str
) -> argparse.ArgumentParser:
    """Add a verb of a subcommand: `summary` is its line in the command's help, and its own description."""
    return parser(verbs, name, usage=usage, summary=summary, within=command)


def add_walls(command: argparse.ArgumentParser) -> None:
    """Add --environment and --policy."""
    command.add_argument("--environment", default="local", metavar="NAME", help="where cells run (default: local)")
    add_policy(command)


def add_backend(command: argparse.ArgumentParser) -> None:
    """Add --backend, --model, --base-url and --backend-arg: who answers. `backend_kwargs` reads them."""
    command.add_argument("--backend", default="openai", metavar="NAME", help="who answers (default: openai)")
    command.add_argument("--model", metavar="NAME", help="the model, as the backend calls it")
    command.add_argument("--base-url", metavar="URL", help="another server that speaks the backend's API")
    command.add_argument(
        "--backend-arg",
        action="append",
        default=[],
        type=backend_argument,
        metavar="KEY=VALUE",
        help="a further argument of the backend; VALUE is JSON or text; may be repeated",
    )


def backend_kwargs(arguments: argparse.Namespace) -> dict[str, Any]:
    """What the backend is told. Where no model was named, prints that and raises SystemExit(2)."""
    given = {"model_name": arguments.model, "base_url": arguments.base_url}
    found = {key: value for key, value in given.items() if value is not None} | dict(arguments.backend_arg)
    if "model_name" not in found and arguments.backend != "scripted":
        say(f"{arguments.prog}: error: no model was named; add --model NAME, as the backend calls it", style="red")
        raise SystemExit(COULD_NOT_RUN)
    return found


def add_context(command: argparse.ArgumentParser) -> None:
    """Add --context."""
    command.add_argument(
        "--context", action="append", metavar="PATH", help="file, directory or - for stdin; may be repeated"
    )


def add_limits(command: argparse.ArgumentParser) -> None:
    """Add --max-budget, --max-tokens and --timeout: what a run may take, within its policy."""
    command.add_argument(
        "--max-budget", type=dollars, metavar="USD", help="US dollars at most (default: the policy's)"
    )
    command.add_argument(
        "--max-tokens", type=count, metavar="N", help="tokens at most, in and out (default: the policy's)"
    )
    command.add_argument("--timeout", type=seconds, metavar="SECONDS", help="stop earlier than the policy does")


def limits(arguments: argparse.Namespace) -> dict[str, Any]:
    """Those limits, as an RLM or an agent takes them."""
    return {
        "max_budget": arguments.max_budget,
        "max_tokens": arguments.max_tokens,
        "max_timeout": arguments.timeout,
    }


def add_schema(command: argparse.ArgumentParser | argparse._ArgumentGroup) -> None:
    """Add --schema."""
    command.add_argument(
        "--schema",
        type=schema,
        metavar="FILE|JSON",
        help="a JSON Schema; the answer is JSON that fits it",
    )


def add_watching(command: argparse.ArgumentParser) -> None:
    """Add --log-dir, --verbose and --json."""
    command.add_argument("--log-dir", metavar="DIR", help="write the trajectory there, as JSON lines")
    command.add_argument("--verbose", action="store_true", help="show cells and their output on stderr")
    add_json(command)


def add_policy(command: argparse.ArgumentParser) -> None:
    """Add --policy."""
    command.add_argument(
        "--policy",
        default="strict",
        metavar="NAME|FILE",
        help="strict, standard, data, research, or a TOML file (default: strict)",
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


def dollars(text: str) -> float:
    """Parse a positive amount of US dollars, for argparse."""
    try:
        value = float(text)
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive amount of US dollars")
    return value


def schema(text: str) -> dict[str, Any]:
    """Parse a JSON Schema, given as JSON or as the name of a file, for argparse."""
    from rlm_secure import files
    from rlm_secure.rlm.answers import AnswerSchema

    try:
        given = json.loads(text if text.lstrip().startswith("{") else files.read(text, _SCHEMA_BYTES))
        if not isinstance(given, dict):
            raise argparse.ArgumentTypeError(f"{text!r} is no JSON Schema; give an object, as JSON or as a file")
        AnswerSchema(given)
    except OSError as error:
        reason = error.strerror or "it cannot be read"
        raise argparse.ArgumentTypeError(f"{text!r}: {reason}; give a JSON Schema, as JSON or as a file") from None
    except (ValueError, RecursionError) as error:
        raise argparse.ArgumentTypeError(f"{text[:200]!r} is no JSON Schema: {error}") from None
    return given


def count(text: str) -> int:
    """Parse a positive whole number, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = 0
    if value < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive whole number")
    return value


def count_or_none(text: str) -> int:
    """Parse a whole number, 0 or more, for argparse."""
    try:
        value = int(text)
    except ValueError:
        value = -1
    if value < 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number, 0 or more")
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
