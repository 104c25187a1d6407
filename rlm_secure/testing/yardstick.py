"""How much time the machine gave, as against how much passed: a host that is late on a busy machine broke nothing.

A process of its own, which shares nothing with what is attacked, does a bit of work again and again and notes how long
that took. Where it took twice its processor time, a second of the clock counts as half a second given.

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
#: What the process runs. It writes (seconds given so far, clock) and ends with whoever started it.
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
#: A measurement this old has no successor.
_DEAD_SECONDS = 3.0
#: However slow the machine is, this many seconds of the clock count as one.
MOST = 6.0


class Yardstick:
    """Measures from the first look on. `given()` is a clock that runs at the speed of the machine."""

    def __init__(self) -> None:
        fd = os.memfd_create("yardstick")
        os.ftruncate(fd, 4096)
        self._memory = mmap.mmap(fd, 4096)
        self._process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-c", _MEASURE, str(fd)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={},  # of no target: nobody takes it for a stray
            pass_fds=(fd,),
            start_new_session=True,
        )
        os.close(fd)
        self._pace = self._paced()
        self._last: tuple[float, float] | None = None

    def given(self) -> float:
        """Seconds that the machine has given since it started; those of the clock where nothing was measured.

        An attacker of the same user may stop it, or have it run less: from then on the clock counts.
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
        """How the kernel runs it, and whether it is stopped or dead; None where it is gone."""
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
    """The one of this process, made at the first call."""
    global _one
    with _lock:
        if _one is None:
            _one = Yardstick()
            atexit.register(_one.close)
        return _one


class Stopwatch:
    """Seconds given since it was made: never more than those that passed, nor fewer than a MOSTth of them."""

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
