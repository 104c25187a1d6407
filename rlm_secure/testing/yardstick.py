"""How much time the machine gave, as opposed to how much passed: a host that is late on a busy machine broke nothing.

A separate process, which shares nothing with what is attacked, repeats a short piece of work and records how long it
takes. If it takes twice its CPU time, a second of the clock counts as half a second given.

Guards: what the machine gives, measured beside what is attacked
"""

from __future__ import annotations

import atexit
import contextlib
import mmap
import os
import struct
import subprocess
import sys
import threading
import time

_VALUES = struct.Struct("dd")
#: The program of the process. It writes (seconds given so far, clock) and ends with its parent.
_MEASURE = """
import mmap, os, struct, sys, time
memory = mmap.mmap(int(sys.argv[1]), 4096)
given, last = 0.0, time.monotonic()
parent = os.getppid()
while os.getppid() == parent:
    wall, work = time.monotonic(), time.thread_time()
    while time.thread_time() - work < 0.001:
        pass
    now = time.monotonic()
    given += (now - last) * min(1.0, 0.001 / max(now - wall, 0.001))
    last = now
    struct.pack_into("dd", memory, 0, given, now)
    time.sleep(0.04)
"""
#: If the last measurement is this old, the process has stopped.
_DEAD_SECONDS = 3.0
#: At most this many seconds of the clock count as one, however slow the machine is.
MOST = 6.0


class Yardstick:
    """Measures from its creation on. `given()` is a clock that runs at the speed of the machine."""

    def __init__(self) -> None:
        fd = os.memfd_create("yardstick")
        os.ftruncate(fd, 4096)
        self._memory = mmap.mmap(fd, 4096)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _MEASURE, str(fd)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},  # no target's variable: end_strays must not kill it
            pass_fds=(fd,),
            start_new_session=True,
        )
        os.close(fd)
        self._pace = self._paced()
        self._last: tuple[float, float] | None = None

    def given(self) -> float:
        """Seconds that the machine has given since the start; clock seconds where there is no measurement.

        An attacker of the same user can stop the process, or change its scheduling: from then on clock seconds count.
        """
        now = time.monotonic()
        if self._last is None:
            given, at = _VALUES.unpack_from(self._memory, 0)
            since = max(now - at, 0.0)
            if self._pace is not None and self._paced() == self._pace:
                return float(given + (min(since, 0.1) if since < _DEAD_SECONDS else since)) if at else 0.0
            self._last = (given + since if at else 0.0, now)
        return self._last[0] + now - self._last[1]

    def _paced(self) -> object:
        """How the kernel schedules the process, and whether it is stopped or dead; None if it does not exist."""
        pid = self._process.pid
        try:
            with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:  # noqa: PTH123
                stopped = file.read().rpartition(")")[2].split()[0] in "TtZ"
            return stopped, os.sched_getscheduler(pid), os.getpriority(os.PRIO_PROCESS, pid), os.sched_getaffinity(pid)
        except OSError:
            return None

    def close(self) -> None:
        """Stop measuring."""
        self._process.kill()
        self._process.wait()


_one: Yardstick | None = None
_lock = threading.Lock()


def shared() -> Yardstick:
    """The Yardstick of this process, created at the first call."""
    global _one
    with _lock:
        if _one is None:
            _one = Yardstick()
            atexit.register(_one.close)
        return _one


class Stopwatch:
    """Seconds given since its creation: at most those that passed, at least 1/MOST of them."""

    def __init__(self) -> None:
        self._yardstick = shared()
        self._given, self._started = self._yardstick.given(), time.monotonic()

    @property
    def passed(self) -> float:
        """Seconds of the clock."""
        return time.monotonic() - self._started

    @property
    def given(self) -> float:
        """Seconds that the machine gave."""
        passed = self.passed
        return min(max(self._yardstick.given() - self._given, passed / MOST), passed)


def _forget() -> None:
    global _one
    _one = None


with contextlib.suppress(AttributeError):
    os.register_at_fork(after_in_child=_forget)
