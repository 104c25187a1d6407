"""The signals of a process of tests, as a terminal's shell starts it.

A script that starts the tests in the background (`nohup make test &`) has SIGINT and SIGQUIT ignored, and a caller with a
signal mask of its own hands that down. Both outlive exec, and would be those of every host that a test ends by Ctrl-C.
"""

from __future__ import annotations

import signal
from typing import Final

#: Python itself ignores the first two. The third was ignored by nohup, so that the tests outlive the terminal.
KEPT: Final = (signal.SIGPIPE, signal.SIGXFSZ, signal.SIGHUP)


def reset() -> None:
    """Block no signal, and ignore none but those `KEPT`. Call it from the main thread, before there are others."""
    for number in signal.valid_signals() - set(KEPT):
        if signal.getsignal(number) is signal.SIG_IGN:
            # Python takes SIGINT only where it was not ignored at its start.
            signal.signal(number, signal.default_int_handler if number == signal.SIGINT else signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
