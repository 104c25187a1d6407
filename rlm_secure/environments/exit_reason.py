"""Why a worker ended that nobody killed, in the same words wherever it ran.

Guards: what a worker's wait status is taken for
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable

from rlm_secure.errors import CellCrashed, CellError, WallViolation


def exit_reason(status: int | None, limit: Callable[[int], CellError | None]) -> CellError:
    """What `status` says, as of waitpid(2), or None where nobody knows it.

    `limit` is asked which limit sent a signal other than SIGSYS; None where none did.
    """
    if status is None:
        # Without the kernel's word this may have been a forbidden call: it is treated as one.
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
