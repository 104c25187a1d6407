"""`rlm-secure log`: read a trajectory as a page, and prove that an audit log is whole."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial

from rlm_secure.cli import options
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, say, write_json

DETAILS = """\
examples:
  rlm-secure log view logs/run.jsonl -o run.html
  rlm-secure log verify audit.jsonl --head 3b9f...

exit codes:
  0  done; for verify: the chain is whole
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
    verify = verb("verify", "FILE [options]", "whether anybody changed an audit log, and where")
    verify.add_argument("file", metavar="FILE", help="what AuditLog wrote")
    verify.add_argument("--head", metavar="HASH", help="the last hash, as you kept it: finds lines cut off the end")
    options.add_json(verify)
    verify.set_defaults(command=_verify)


def _help(command: argparse.ArgumentParser) -> int:
    command.print_help(sys.stderr)
    return COULD_NOT_RUN


def _view(arguments: argparse.Namespace) -> int:
    from rlm_secure.logger.view import render

    try:
        page = render(arguments.file)
    except OSError as error:
        return _failed(f"{arguments.file} cannot be read: {error.strerror}; name a file that RLMLogger wrote")
    if arguments.output is None:
        sys.stdout.write(page)
        return OK
    try:
        # A log may hold what only its owner should read; so may its page.
        descriptor = os.open(arguments.output, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        return _failed(f"{arguments.output} exists; name another file, or delete it first")
    except OSError as error:
        return _failed(f"{arguments.output} cannot be written: {error.strerror}; name another file")
    with os.fdopen(descriptor, "w", encoding="utf-8") as file:
        file.write(page)
    say(f"{arguments.output}: open it in any browser")
    return OK


def _verify(arguments: argparse.Namespace) -> int:
    from rlm_secure.errors import AuditLogError
    from rlm_secure.logger.audit_log import verify

    try:
        found = verify(arguments.file, head=arguments.head)
    except AuditLogError as error:
        if arguments.json:
            write_json({"whole": False, "reason": str(error)})
        say(str(error), style="red")
        return FAILED
    except OSError as error:
        return _failed(f"{arguments.file} cannot be read: {error.strerror}; name a file that AuditLog wrote")
    if arguments.json:
        write_json({"whole": True, "lines": found.lines, "head": found.head})
    else:
        print(f"whole: {found.lines} lines, the last has the hash {found.head}")
    return OK


def _failed(reason: str) -> int:
    say(f"rlm-secure: error: {reason}", style="red")
    return COULD_NOT_RUN
