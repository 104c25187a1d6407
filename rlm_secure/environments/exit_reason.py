"""Why a worker ended that the host did not kill, in the same words for every environment.

Guards: how a worker's wait status is interpreted
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from rlm_secure.errors import CellCrashed, CellError, WallViolation

#: A worker runs on Linux whatever this host is, so its status has Linux's numbers: those of x86_64 and aarch64,
#: signal(7). macOS has others, and Windows no statuses at all.
SIGKILL, SIGXCPU, SIGSYS = 9, 24, 31
_NAMES: Final = {
    1: "HUP", 2: "INT", 3: "QUIT", 4: "ILL", 5: "TRAP", 6: "ABRT", 7: "BUS", 8: "FPE", SIGKILL: "KILL", 10: "USR1",
    11: "SEGV", 12: "USR2", 13: "PIPE", 14: "ALRM", 15: "TERM", 16: "STKFLT", 17: "CHLD", 18: "CONT", 19: "STOP",
    20: "TSTP", 21: "TTIN", 22: "TTOU", 23: "URG", SIGXCPU: "XCPU", 25: "XFSZ", 26: "VTALRM", 27: "PROF", 28: "WINCH",
    29: "IO", 30: "PWR", SIGSYS: "SYS", 34: "RTMIN", 64: "RTMAX",
}  # fmt: skip


def exit_reason(status: int | None, limit: Callable[[int], CellError | None]) -> CellError:
    """The error for `status`, a wait status as of waitpid(2), or None if it is unknown.

    `limit` maps a signal other than SIGSYS to the error of the limit that sent it, or to None.
    """
    if status is None:
        # Without a status from the kernel this may have been a forbidden call: it is treated as one.
        return WallViolation("the worker died and the kernel does not say why; taken for a violation", wall="seccomp")
    number = status & 0x7F
    if not number:
        return CellCrashed(f"the worker ended by itself (exit status {status >> 8 & 0xFF})", wall="separate-process")
    if number == SIGSYS:
        return WallViolation("the kernel killed the worker for a forbidden system call (seccomp)", wall="seccomp")
    said = f"the worker was killed by {_name_of(number)} in the middle of the cell"
    return limit(number) or CellCrashed(said, wall="separate-process")


def _name_of(number: int) -> str:
    """A signal for a message: its name, where it has one; most real-time signals have none."""
    return f"SIG{_NAMES[number]}" if number in _NAMES else f"signal {number}"
