"""`rlm-secure log`: show a trajectory as a page or write it as upstream does, and verify an audit log."""

from __future__ import annotations

import argparse
import itertools
import os
import sys
from collections.abc import Iterable, Iterator
from functools import partial
from typing import TextIO

from rlm_secure import files
from rlm_secure.cli import options
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, say, write_json
from rlm_secure.plural import counted

DETAILS = """\
examples:
  rlm-secure log view logs/run.jsonl -o run.html
  rlm-secure log export logs/run.jsonl -o whole.jsonl
  rlm-secure log verify audit.jsonl --head 3b9f...:120
  rlm-secure log verify audit.jsonl --key-file audit.key

A chain without a break shows no more than that. Whoever may write the file can write another chain, or cut lines off
its end: --head finds both, up to the line that you kept the hash of; --key-file, or the key in RLM_SECURE_AUDIT_KEY,
finds every line that was not written with the key.

exit codes:
  0  done; for verify: unbroken, and what --head and the key ask for
  1  for verify: it is not
  2  could not run: bad usage, or a file that cannot be read or written"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command and its two verbs."""
    command = options.parser(
        commands,
        "log",
        usage="VERB FILE [options]",
        summary="read trajectories, and verify audit logs",
        details=DETAILS,
    )
    command.set_defaults(command=lambda _: _help(command))
    verbs = command.add_subparsers(title="verbs", metavar="VERB")
    verb = partial(options.verb, verbs, "log")
    view = verb("view", "FILE [-o PAGE]", "a trajectory as one HTML page that runs and loads nothing")
    view.add_argument("file", metavar="FILE", help="what RLMLogger wrote")
    view.add_argument("-o", "--output", metavar="PAGE", help="where to (default: stdout); never overwritten")
    view.set_defaults(command=_view)
    export = verb("export", "FILE [-o LOG]", "a trajectory in the format of upstream's logger, for its visualizer")
    export.add_argument("file", metavar="FILE", help="what RLMLogger wrote")
    export.add_argument("-o", "--output", metavar="LOG", help="where to (default: stdout); never overwritten")
    export.set_defaults(command=_export)
    verify = verb("verify", "FILE [options]", "whether an audit log is unbroken, and the one that was written")
    verify.add_argument("file", metavar="FILE", help="what AuditLog wrote")
    verify.add_argument(
        "--head", metavar="HASH[:N]", help="a hash that you kept: of the last line, or with :N of line N"
    )
    verify.add_argument("--key-file", metavar="FILE", help="the key that sealed it; a file that only you may read")
    options.add_json(verify)
    verify.set_defaults(command=_verify)


def _help(command: argparse.ArgumentParser) -> int:
    command.print_help(sys.stderr)
    return COULD_NOT_RUN


def _view(arguments: argparse.Namespace) -> int:
    from rlm_secure.logger.view import pieces

    return _made(arguments, pieces(arguments.file), "open it in any browser")


def _export(arguments: argparse.Namespace) -> int:
    from rlm_secure.logger.read import read_trajectory, upstream_lines

    return _made(arguments, upstream_lines(read_trajectory(arguments.file)), "each turn has its whole prompt")


def _made(arguments: argparse.Namespace, pieces: Iterator[str], told: str) -> int:
    """Write what is made of a trajectory to stdout or to a new file. Returns the exit code."""
    try:
        first = next(pieces, "")
    except OSError as error:
        return _failed(f"{arguments.file} cannot be read: {error.strerror}; name a file that RLMLogger wrote")
    if arguments.output is None:
        return _write(sys.stdout, itertools.chain((first,), pieces), arguments.file)
    try:
        # A log may hold what only its owner should read; so may what is made of it.
        descriptor = files.create(arguments.output)
    except FileExistsError:
        return _failed(f"{arguments.output} exists; name another file, or delete it first")
    except OSError as error:
        return _failed(f"{arguments.output} cannot be written: {error.strerror}; name another file")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        code = _write(file, itertools.chain((first,), pieces), arguments.file)
    if code == OK:
        say(f"{arguments.output}: {told}")
    return code


def _write(file: TextIO, pieces: Iterable[str], name: str) -> int:
    """Write in pieces. Returns the exit code."""
    try:
        file.writelines(pieces)
    except BrokenPipeError:
        raise
    except ValueError as error:
        return _failed(f"what was written of {name} is not whole: {error}")
    except OSError as error:
        return _failed(f"what was written of {name} is not whole: {error.strerror}; look at the disk, and at the file")
    return OK


def _verify(arguments: argparse.Namespace) -> int:
    from rlm_secure.errors import AuditLogError
    from rlm_secure.logger.audit_key import audit_key
    from rlm_secure.logger.audit_log import verify

    key = audit_key(arguments.key_file)
    try:
        found = verify(arguments.file, head=arguments.head, key=key)
    except AuditLogError as error:
        if arguments.json:
            write_json({"unbroken": False, "reason": str(error)})
        say(str(error), style="red")
        return FAILED
    except OSError as error:
        return _failed(f"{arguments.file} cannot be read: {error.strerror}; name a file that AuditLog wrote")
    proved = {"anchored": found.anchored, "sealed": found.sealed}
    if arguments.json:
        write_json({"unbroken": True, **proved, "lines": found.lines, "head": found.head})
    else:
        said = ", ".join(name if holds else f"not {name}" for name, holds in proved.items())
        print(f"unbroken, {said}: {counted(found.lines, 'line')}, the last has the hash {found.head}")
    if not found.anchored:
        rewritten = "" if found.sealed else "that it was not rewritten, nor "
        say(f"not anchored: give --head, a hash that you kept, to see {rewritten}that no lines were cut off its end")
    return OK


def _failed(reason: str) -> int:
    say(f"rlm-secure log: error: {reason}", style="red")
    return COULD_NOT_RUN
