"""A worker on the processor of the thread that waits for it: for a short cell, no other has to be woken.

To wake an idle processor takes 20 to 50 microseconds on a virtual machine, twice a cell, which is as long as the cell.
The host waits anyway, so its processor is free. A cell that takes longer than a moment has the whole machine again, and
where several threads of a host wait for their cells at a time, all have.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

from rlm_secure.environments.local import pidfd

#: How long a worker stays where its host is.
MOMENT_SECONDS = 0.01
_PROCESSORS = 1024  # as glibc's cpu_set_t has; a kernel of more refuses such a mask
_BITS = 8 * ctypes.sizeof(ctypes.c_ulong)
_Mask = ctypes.c_ulong * (_PROCESSORS // _BITS)
_SIZE = ctypes.sizeof(_Mask)
#: Who waits now, in any thread.
_waiting: set[Nearby] = set()


@cache
def _libc() -> ctypes.PyDLL | None:
    """The calls, which do not wait and so keep the interpreter's lock; None where there are none."""
    libc = ctypes.PyDLL(None)
    known = all(hasattr(libc, name) for name in ("sched_getcpu", "sched_getaffinity", "sched_setaffinity"))
    return libc if known and (os.cpu_count() or 1) > 1 else None


@cache
def _only(processor: int) -> ctypes.Array[ctypes.c_ulong]:
    mask = _Mask()
    mask[processor // _BITS] = 1 << processor % _BITS
    return mask


class Nearby:
    """Where one worker runs. What the kernel refuses is not tried again: nothing depends on it but time.

    Used by one thread at a time. Between `hold` and `release` nothing of a caller runs: a thread that it started
    would be held as well.
    """

    def __init__(self, pidfd: int, *, placed: bool) -> None:
        """`placed` says that the worker may have been put on a processor already: as a copy of another one."""
        self._pidfd = pidfd
        self._placed = placed
        self._libc = _libc()
        self._pid: int | None = None
        self._processor = -1  # where it was put by us
        self._before = _Mask()
        self._held = False

    def fetch(self) -> None:
        """Put the worker, which sleeps, on the processor of this thread; anywhere, where another thread waits."""
        libc = self._libc
        if libc is None:
            return
        if _waiting:
            self._part()
        elif (processor := libc.sched_getcpu()) != self._processor:
            if 0 <= processor < _PROCESSORS and self._move(_only(processor)):
                self._processor, self._placed = processor, True
            else:
                self._libc = None

    def hold(self) -> None:
        """Keep this thread where the worker is, so that the answer finds it there, until `release`."""
        libc = self._libc
        _waiting.add(self)
        if libc is not None and self._processor >= 0 and not libc.sched_getaffinity(0, _SIZE, self._before):
            self._held = not libc.sched_setaffinity(0, _SIZE, _only(self._processor))

    @property
    def held(self) -> bool:
        """Whether this thread stays where the worker is."""
        return self._held

    def release(self) -> None:
        """Let this thread go where it could before."""
        _waiting.discard(self)
        self._let_go()

    def part(self) -> None:
        """Let both go where this thread could before: it takes longer."""
        self._let_go()
        self._part()

    def _let_go(self) -> None:
        if self._held and self._libc is not None:
            self._held = False
            self._libc.sched_setaffinity(0, _SIZE, self._before)

    def _part(self) -> None:
        if self._placed and self._libc is not None and not self._libc.sched_getaffinity(0, _SIZE, self._before):
            self._placed, self._processor = False, -1
            self._move(self._before)

    def _move(self, mask: ctypes.Array[ctypes.c_ulong]) -> bool:
        if self._pid is None:
            self._pid = pidfd.pid_of(self._pidfd)
        # Looked at first: the pid of a process that is gone may mean another one.
        if self._libc is None or self._pid is None or pidfd.ended(self._pidfd):
            return False
        return not self._libc.sched_setaffinity(self._pid, _SIZE, mask)


# Who waited in the parent does not wait here.
os.register_at_fork(after_in_child=_waiting.clear)
