"""`python -m rlm_secure`, and what the command `rlm-secure` runs: the start and the end of the process."""

import os
import sys

# `-m` puts the current directory first: a file in it would shadow a module of the standard library, or of ours.
if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - pathlib could be such a file
    del sys.path[0]

import atexit
import gc
import signal

#: Objects between two collections: most of what all imports of a command make.
_ALLOCATIONS = 100_000
#: The beginnings of options of `exec` with which no local session may be wanted.
_LOOKED_AT = ("--environment", "--policy", "--help", "-h")


def _leave(number: int, _: object) -> None:
    """End the process at once: all is closed, or what was started ahead ends when its socket closes."""
    os._exit(128 + number)


def _start_ahead(given: list[str]) -> None:
    """Start the process of a session that the command line `given` will probably want, before it is even parsed."""
    # What names a policy or an environment is looked at first. A wrong guess costs a process that is told nothing.
    if given[:1] == ["exec"] and not any(each.startswith(_LOOKED_AT) for each in given):
        from rlm_secure.environments.local import launch

        launch.ahead()


def main() -> int:
    """Run the command line, and return its exit code. A signal during the imports before it is no traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    # What modules are made of lives as long as the process: a collection finds nothing, and looks at all of it.
    gc.set_threshold(_ALLOCATIONS, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)
    code = 0
    # Registered first, so that it runs last. Where an interrupt fell into exec() or eval(), as dataclasses use them,
    # Python remembers it, and would otherwise end by the signal instead of with the code.
    atexit.register(lambda: os._exit(code) if code > 128 else None)
    _start_ahead(sys.argv[1:])
    from rlm_secure.cli import main as run

    code = run()
    return code


if __name__ == "__main__":
    sys.exit(main())
