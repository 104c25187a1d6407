"""Sealed sessions kept ready, so that a session starts in a fraction of a millisecond. None is used twice."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from rlm_secure.broker.protocol import ready
from rlm_secure.environments.clock import Clock
from rlm_secure.environments.local.worker import Died, Overdue, Worker
from rlm_secure.environments.local.zygote import Forked, Plan, zygote
from rlm_secure.errors import EnvironmentUnavailable, RLMSecureError
from rlm_secure.policy.model import Limits, Policy


@dataclass(slots=True)
class Blank:
    """A sealed worker that has not seen a byte of anybody's: forked, reported, waiting for `begin`."""

    forked: Forked
    worker: Worker
    walls: Mapping[str, tuple[str, str]]

    def discard(self) -> None:
        """End it."""
        self.worker.drop()
        self.forked.end()


@dataclass(frozen=True)
class _Key:
    plan: Plan
    limits: Limits
    checkpoints: bool


def fork_blank(plan: Plan, limits: Limits, *, checkpoints: bool) -> Blank:
    """A new sealed worker. Raises EnvironmentUnavailable when it cannot be started."""
    profile = "worker-checkpoint" if checkpoints else "worker"
    forked = zygote(plan).fork(_rlimits(limits, checkpoints) if plan.rlimits else {}, profile)
    worker = Worker(forked.connection, forked.pidfd, forked.pid, limits, forked)
    try:
        walls, _ = ready(worker.receive(Clock(limits.start_seconds), limit=1 << 20))
    except (Died, Overdue) as error:
        forked.end()
        worker.drop()
        raise EnvironmentUnavailable(f"a session died while it was sealed: {error!r}") from None
    except BaseException:
        forked.end()
        worker.drop()
        raise
    return Blank(forked, worker, walls)


def take(plan: Plan, policy: Policy) -> Blank:
    """A sealed worker: a ready one when there is one, else a new one. Refills in the background."""
    key = _Key(plan, policy.limits, policy.isolation.checkpoints)
    blank = _pool.pop(key, policy.isolation.pool)
    return blank or fork_blank(plan, policy.limits, checkpoints=policy.isolation.checkpoints)


class _Pool:
    """Ready blanks by key, refilled by one daemon thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: dict[_Key, deque[Blank]] = {}
        self._wanted: dict[_Key, int] = {}
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def pop(self, key: _Key, size: int) -> Blank | None:
        if size == 0:
            return None
        with self._lock:
            self._wanted[key] = size
            blanks = self._ready.setdefault(key, deque())
            blank = None
            while blanks and blank is None:
                blank = blanks.popleft()
                if not blank.forked.zygote.running:
                    blank.discard()
                    blank = None
            if self._thread is None:
                self._thread = threading.Thread(target=self._refill, name="rlm_secure-pool", daemon=True)
                self._thread.start()
        self._wake.set()
        return blank

    def _refill(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            while (key := self._short()) is not None:
                try:
                    blank = fork_blank(key.plan, key.limits, checkpoints=key.checkpoints)
                except (RLMSecureError, OSError):
                    break  # whoever asks next starts one itself, and is told what is wrong
                with self._lock:
                    self._ready[key].append(blank)

    def _short(self) -> _Key | None:
        with self._lock:
            for key, size in self._wanted.items():
                if len(self._ready[key]) < size:
                    return key
            return None

    def drain(self) -> None:
        """End every ready blank."""
        with self._lock:
            self._wanted.clear()
            blanks = [blank for queue in self._ready.values() for blank in queue]
            self._ready.clear()
        for blank in blanks:
            blank.discard()


def _rlimits(limits: Limits, checkpoints: bool) -> dict[str, Any]:
    cpu = max(1, int(limits.session_cpu_seconds))
    # With checkpoints the hard limit leaves room for three copies of the worker; the soft one, which is what
    # a cell meets, does not, and the filter has no call to raise it. The host does, while it takes one.
    processes = [limits.processes, limits.processes + CHECKPOINT_PROCESSES] if checkpoints else limits.processes
    return {
        "DATA": limits.memory_bytes,
        "STACK": 8 << 20,
        "CPU": [cpu, cpu + 1],
        "NPROC": processes,
        "NOFILE": limits.open_files,
        "FSIZE": 0,
        "CORE": 0,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "NICE": 0,
        "RTPRIO": 0,
        "SIGPENDING": 64,
    }


#: init, a spare, the worker, and the spare that a new one replaces
CHECKPOINT_PROCESSES = 4

_pool = _Pool()


def drain() -> None:
    """End all ready sessions of this process: for tests that count processes."""
    _pool.drain()


def _forget() -> None:
    # A forked child must not hand out its parent's sessions; it must not end them either.
    global _pool
    _pool = _Pool()


os.register_at_fork(after_in_child=_forget)
