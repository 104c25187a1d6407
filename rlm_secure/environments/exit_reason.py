"""Why a worker ended that the host did not kill, in the same words for every environment.

Guards: how a worker's wait status is interpreted
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from rlm_secure.errors import CellCrashed, CellError, WallViolation


def exit_reason(status: int | None, limit: Callable[[int], CellError | None]) -> CellError:
    """The error for `status`, a wait status as of waitpid(2), or None if it is unknown.

    `limit` maps a signal other than SIGSYS to the error of the limit that sent it, or to None.
    """
    if status is None:
        # Without a status from the kernel this may have been a forbidden call: it is treated as one.
        return WallViolation("the worker died and the kernel does not say why; taken for a violation", wall="seccomp")
    if not os.WIFSIGNALED(status):
        said = f"the worker ended by itself (exit status {os.waitstatus_to_exitcode(status)})"
        return CellCrashed(said, wall="separate-process")
    number = os.WTERMSIG(status)
    if number == signal.SIGSYS:
        return WallViolation("the kernel killed the worker for a forbidden system call (seccomp)", wall="seccomp")
    said = f"the worker was killed by {_name_of(number)} in the middle of the cell"
    return limit(number) or CellCrashed(said, wall="separate-process")


def _name_of(number: int) -> str:
    """A signal for a message: its name, where it has one; most real-time signals have none."""
    try:
        return signal.Signals(number).name
    except ValueError:
        return f"signal {number}"
