"""`rlm-secure exec`: untrusted Python in the sandbox, without a model."""

from __future__ import annotations

import argparse
import errno
import sys
from typing import TYPE_CHECKING, Any, Final

from rlm_secure import files
from rlm_secure.cli import options, transfer
from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, OK, say, write, write_json
from rlm_secure.plural import counted

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy

#: Most bytes of code that are read: 64 times the default limit of a policy.
_MOST: Final = 16 * 1024 * 1024

DETAILS = """\
What the code prints goes to stdout and stderr, with escape sequences spelled out, and on a terminal every
other control character too. If it ends with an expression, its value is the last line of stdout, as in a notebook.

examples:
  rlm-secure exec -c 'print(sum(range(10)))'
  rlm-secure exec analysis.py --context data.csv --policy standard --timeout 5
  echo 'print(len(context))' | rlm-secure exec - --context logs/
  rlm-secure exec plot.py --policy data --input sales.csv --output-dir charts

exit codes:
  0  the code ended by itself
  1  the code raised, was refused, or was stopped by a limit or a wall
  2  could not run: bad usage, policy or file, or a wall that cannot be built here
  130  interrupted"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands,
        "exec",
        usage="(FILE | -c CODE) [options]",
        summary="run untrusted Python in the sandbox",
        details=DETAILS,
    )
    source = command.add_mutually_exclusive_group(required=True)
    source.add_argument("file", nargs="?", metavar="FILE", help="a Python file, or - for stdin")
    source.add_argument("-c", dest="code", metavar="CODE", help="the code itself")
    command.add_argument(
        "--context", action="append", metavar="PATH", help="file, directory or - for stdin; may be repeated"
    )
    transfer.add(command)
    options.add_walls(command)
    command.add_argument("--timeout", type=options.seconds, metavar="SECONDS", help="stop earlier than the policy does")
    options.add_json(command)
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the code. Returns the exit code."""
    from rlm_secure.environments.local import launch
    from rlm_secure.errors import CellException, CellRefused
    from rlm_secure.policy import peek
    from rlm_secure.sandbox import Sandbox

    if arguments.environment == "local" and peek.may_be_local(arguments.policy):
        launch.ahead()  # it imports its program while the policy is checked
    try:
        policy, source, context, given = _read(arguments)
    except BaseException:  # no session comes of it
        launch.discard()
        raise
    with Sandbox(policy=policy, context=context, environment=arguments.environment) as sandbox:
        for name, data in given.items():
            sandbox.files[name] = data
        result = sandbox.run(source, timeout=arguments.timeout)
        report = sandbox.report

    error = result.error
    code = OK if error is None else FAILED
    if arguments.json:
        failure = None
        if error is not None:
            failure = {
                "type": type(error).__name__,
                "message": str(error),
                "limit": error.limit,
                "wall": error.wall,
                "rule": error.rule,
            }
        write_json(
            {
                **result.to_dict(),
                "error": failure,
                "dropped_bytes": result.dropped_bytes,
                "report": report.to_dict(),
            }
        )
        return code if transfer.write(arguments, result.files) else FAILED
    write(result.stdout, sys.stdout)
    if result.text:
        write(f"{result.text}\n", sys.stdout)
    write(result.stderr, sys.stderr)
    if result.dropped_bytes:
        say(f"rlm-secure exec: {counted(result.dropped_bytes, 'byte')} of output over limits.stdout_bytes were dropped")
    if error is not None and not isinstance(error, CellException | CellRefused):
        say(f"rlm-secure exec: stopped: {error}", style="red")  # the other two are already in stderr
    return code if transfer.write(arguments, result.files) else FAILED


def _read(arguments: argparse.Namespace) -> tuple[Policy, str, Any, dict[str, bytes]]:
    """The policy, the code, the context and the files."""
    from rlm_secure.policy import shipped

    policy = shipped.resolved(arguments.policy)
    source = arguments.code if arguments.code is not None else _source(arguments.file)
    context: Any = None
    if arguments.context:
        from rlm_secure import documents

        context = documents.read(arguments.context, limit=policy.limits.context_bytes, note=say)
    return policy, source, context, transfer.read(arguments, policy)


def _source(name: str) -> str:
    """Read a Python file or stdin. On failure prints the reason and raises SystemExit(2)."""
    try:
        # A non-blocking stdin fails here; Python's own reader would return the bytes so far as if they were all.
        data = b"".join(files.chunks(sys.stdin.fileno(), _MOST + 1)) if name == "-" else files.read(name, _MOST)
        if len(data) > _MOST:
            raise files.TooLarge(errno.EFBIG, f"it is larger than {_MOST:,} bytes")
        return data.decode("utf-8-sig")
    except OSError as error:
        say(f"rlm-secure exec: error: {name} cannot be read: {error.strerror}; name a Python file, or - for stdin")
    except UnicodeDecodeError:
        say(f"rlm-secure exec: error: {name} is not UTF-8; save it as UTF-8 first")
    raise SystemExit(COULD_NOT_RUN)
