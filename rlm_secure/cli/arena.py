"""`rlm-secure arena`: run a command where it cannot harm this machine."""

from __future__ import annotations

import argparse
import signal
import threading
from typing import Final

from rlm_secure.cli import options
from rlm_secure.cli.terminal import say, talk

#: The exit status if no arena can be built; every other one is the command's.
REFUSED: Final = 125

DETAILS = """\
The arena is a disposable process tree with its own user, mount, PID, network, IPC, UTS, cgroup and time namespaces,
over a read-only view of this machine's files without homes, keys, sockets and logs, with a /tmp, /dev/shm and loopback
of its own. It is killed as one. Root in there is nobody outside. `rlm-secure audit` runs its attacks in one.

examples:
  rlm-secure arena -- bash
  rlm-secure arena --share . -- python -m pytest tests/attacks

exit codes:
  125  no arena can be built here, and nothing was run
  all others are the command's"""


def add(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Register the command."""
    command = options.parser(
        commands,
        "arena",
        usage="[options] -- COMMAND [ARGUMENT...]",
        summary="run a command where it cannot harm this machine",
        details=DETAILS,
    )
    options.add_shares(command)
    command.add_argument("program", nargs="+", metavar="COMMAND", help="what to run, after --")
    command.set_defaults(command=run)


def run(arguments: argparse.Namespace) -> int:
    """Run the command in an arena, and return its exit status."""
    from rlm_secure.testing.arena import ArenaRefused

    talk()  # imported now: the line about the arena is to come before what the program says
    try:
        with options.arena_of(arguments).start(arguments.program, stdin=None) as running:
            say(f"arena: {running.about}")
            _interrupts()
            while True:
                try:
                    return running.wait()
                except KeyboardInterrupt:
                    running.process.send_signal(signal.SIGINT)
    except ArenaRefused as error:
        say(f"rlm-secure arena: error: {error}", style="red")
        return REFUSED


def _interrupts() -> None:
    """Make each signal one KeyboardInterrupt: the command in the arena answers it, and may go on."""
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, signal.default_int_handler)
