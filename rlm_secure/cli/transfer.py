"""The options --input and --output-dir: files of this machine for a session, and those that its cells wrote."""

from __future__ import annotations

import argparse
import os
import unicodedata
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlm_secure import files
from rlm_secure.cli.terminal import COULD_NOT_RUN, say
from rlm_secure.inert import inert_line
from rlm_secure.plural import counted

if TYPE_CHECKING:
    from rlm_secure.policy import Policy

_ACTED_UPON: Final = "other programs act upon such a name, or people are deceived by it"


def add(command: argparse.ArgumentParser) -> None:
    """Add both options."""
    command.add_argument(
        "--input",
        action="append",
        default=[],
        metavar="PATH",
        help="a file that cells have in `files`, by its name; may be repeated (--policy standard, data or research)",
    )
    command.add_argument("--output-dir", metavar="DIR", help="a new or empty folder for the files that cells write")


def read(arguments: argparse.Namespace, policy: Policy) -> dict[str, bytes]:
    """The files of --input, by name: as many, and as many bytes together, as a session may have.

    On failure prints the reason and raises SystemExit(2). Raises Refused where the policy grants no files.
    """
    from rlm_secure.policy.gate import Gate

    if arguments.input or arguments.output_dir is not None:
        Gate(policy).files().require()
    if arguments.output_dir is not None and _has_entries(arguments.output_dir):
        # Cells choose the names: beside files of the user's, one could be a Makefile or a hook that somebody runs.
        shown = inert_line(arguments.output_dir)
        say(f"{arguments.prog}: error: --output-dir {shown} is not empty; name a new folder", style="red")
        raise SystemExit(COULD_NOT_RUN)
    given: dict[str, bytes] = {}
    most, room = policy.limits.files, policy.limits.file_bytes
    if len(arguments.input) > most:
        say(f"{arguments.prog}: error: there may be {counted(most, '--input')} (limits.files)", style="red")
        raise SystemExit(COULD_NOT_RUN)
    for path in arguments.input:
        name = Path(path).name
        try:
            if name in given:
                raise FileExistsError(0, "another --input has this name")
            given[name] = files.read(path, room)
            room -= len(given[name])
        except OSError as error:
            reason = error.strerror
            if isinstance(error, files.TooLarge):
                reason = f"it is larger than limits.file_bytes{', with those before it' if given else ''}"
            say(f"{arguments.prog}: error: --input {inert_line(path)} cannot be read: {reason}", style="red")
            raise SystemExit(COULD_NOT_RUN) from None
    return given


def _has_entries(folder: str) -> bool:
    """Whether there is anything in `folder`, or in its place; False where there is none yet."""
    try:
        with os.scandir(folder) as entries:
            return next(entries, None) is not None
    except FileNotFoundError:
        return False
    except OSError:
        return True


def write(arguments: argparse.Namespace, written: Mapping[str, bytes]) -> bool:
    """Write the files below --output-dir, and say so on stderr. Returns whether all of them could be written."""
    if arguments.output_dir is None:
        return True
    refused = [name for name in written if _is_acted_upon(name)]
    for name in refused:
        say(f"{arguments.prog}: error: {inert_line(name)} is not written: {_ACTED_UPON}", style="red")
    for name, data in written.items():
        if name in refused:
            continue
        path = Path(arguments.output_dir, name)  # a name of a session's file never leads up or elsewhere
        try:
            files.replace(path, data, folders=True)
        except OSError as error:
            say(f"{arguments.prog}: error: {inert_line(str(path))} cannot be written: {error.strerror}", style="red")
            return False
        say(f"{inert_line(str(path))}: {counted(len(data), 'byte')}", style="dim")
    return not refused


def _is_acted_upon(name: str) -> bool:
    """Whether a program may act upon a file of this name although nobody opens it, or it looks like another's.

    Git, which many prompts and editors ask about each folder that they enter, runs programs that the configuration of a
    repository names: of `.git`, and of any folder with a file HEAD. A name that begins with a dash is an option, for a
    program that is given `*`. HFS+ ignores invisible characters, in `.git` as well.
    """
    seen = "".join(character for character in name if unicodedata.category(character) != "Cf")
    parts = seen.split("/")
    return inert_line(name) != name or any(part.startswith((".", "-")) or part.upper() == "HEAD" for part in parts)
