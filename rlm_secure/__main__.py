"""`python -m rlm_secure`, and what the command `rlm-secure` runs: the start and the end of the process."""

import os
import sys

# `-m` puts the current directory first: a file in it would shadow a module of the standard library, or of ours.
if not sys.flags.safe_path and sys.path[0] in ("", os.getcwd()):  # noqa: PTH109 - pathlib could be such a file
    del sys.path[0]

import atexit
import signal


def _leave(number: int, _: object) -> None:
    """End the process at once: nothing has been started yet, or all of it is closed."""
    os._exit(128 + number)


def main() -> int:
    """Run the command line, and return its exit code. A signal during the imports before it is no traceback."""
    for number in (signal.SIGINT, signal.SIGTERM):
        if signal.getsignal(number) is not signal.SIG_IGN:
            signal.signal(number, _leave)
    code = 0
    # Registered first, so that it runs last. Where an interrupt fell into exec() or eval(), as dataclasses use them,
    # Python remembers it, and would otherwise end by the signal instead of with the code.
    atexit.register(lambda: os._exit(code) if code > 128 else None)
    from rlm_secure.cli import main as run

    code = run()
    return code


if __name__ == "__main__":
    sys.exit(main())
