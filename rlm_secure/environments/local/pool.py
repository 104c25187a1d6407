"""Sealed workers kept ready, so that a session starts in a fraction of a millisecond. None is used twice."""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
from collections import deque
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from rlm_secure.environments.deadline import Deadline, Overdue
from rlm_secure.environments.local import cgroup, pidfd, report
from rlm_secure.environments.local.cgroup import CgroupBounds
from rlm_secure.environments.local.prefork import ProcessSetup
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.local.worker import Died, Worker
from rlm_secure.environments.local.zygote import Plan, running, zygote
from rlm_secure.errors import EnvironmentUnavailable, RLMSecureError
from rlm_secure.guarantees import EnforcementReport, Level, Wall

if TYPE_CHECKING:
    from rlm_secure.policy.model import Limits

_REFILL_DELAY_SECONDS = 0.02
#: Touches the memory that a first cell needs, its seed included, and leaves no variables.
_WARM_CELL = "x = 1 + 1\ndel x"
_RETRY_SECONDS = (0.0, 0.25)


@dataclass(slots=True)
class WarmWorker:
    """A sealed worker that no session has used yet: forked, reported, and with its first request done."""

    process: SessionProcess
    worker: Worker
    report: EnforcementReport

    def discard(self) -> None:
        """Kill it and release what came with it."""
        _end(self.process, self.worker)


@dataclass(frozen=True)
class WorkerSpec:
    """How a worker is made: a session may take any worker of an equal spec."""

    plan: Plan
    limits: Limits
    checkpoints: bool
    screen: bool
    begin: str
    """The first request, as JSON: language, caps, tools."""
    cpu_seconds: float
    """CPU seconds that its session has left."""

    @property
    def copies(self) -> bool:
        """Whether its sessions may fork copies: only where seccomp holds each fork until the host consents."""
        return self.checkpoints and self.plan.seccomp


def fork_worker(spec: WorkerSpec, *, warm: bool = False) -> WarmWorker:
    """Fork a new sealed worker. `warm` runs a cell that touches the memory of a first cell; for idle time.

    Raises EnvironmentUnavailable when it cannot be started.
    """
    bounds = bounds_of(spec) if spec.plan.rlimits else None
    # The worker may use huge pages only in a cgroup, and is told so before it has joined one. If joining fails, it is
    # replaced by one without huge pages.
    counted = bounds is not None and not isinstance(cgroup.parents(os.getpid()), str)
    worker = _fork(spec, bounds, warm=warm, huge_pages=counted)
    if counted and worker.report[Wall.CGROUP].level is not Level.FULL:
        worker.discard()
        worker = _fork(spec, bounds, warm=warm, huge_pages=False)
    return worker


def _fork(spec: WorkerSpec, bounds: CgroupBounds | None, *, warm: bool, huge_pages: bool) -> WarmWorker:
    plan, limits = spec.plan, spec.limits
    profile = "worker-checkpoint" if spec.copies else "worker"
    rlimits = _rlimits(spec) if plan.rlimits else {}
    process = zygote(plan).fork(ProcessSetup(profile, rlimits, spec.begin, bounds, huge_pages))
    worker = None
    try:
        worker = Worker(process.connection, process.pidfd, limits, process)
        deadline = Deadline(limits.start_seconds)
        grouped = _group(bounds, process) if bounds else ("none", "switched off for a test")
        if spec.copies:
            worker.take_listener(deadline)
        walls = worker.ready(deadline)
        walls["cgroup"] = grouped
        worker.descriptors_at_rest = worker.descriptors()
        if warm:
            worker.send({"op": "exec", "code": _WARM_CELL, "seed": 0})
            worker.result(deadline)
        source = process.zygote
        built = report.build(source.walls, walls, source.details, screen=spec.screen, packages=plan.packages)
    except BaseException as error:  # Ctrl-C as well: the process must not outlive it
        _end(process, worker)
        if isinstance(error, Died | Overdue):
            raise EnvironmentUnavailable(f"a session died while it was sealed: {error!r}") from None
        raise
    return WarmWorker(process, worker, built)


def _end(process: SessionProcess, worker: Worker | None) -> None:
    """Kill a process that no session uses, and release everything that came with it."""
    with contextlib.ExitStack() as last:  # releases even if the wait is interrupted
        if worker is not None:
            last.callback(worker.drop)
            if worker.listener is not None:
                last.callback(worker.listener.close)
        process.end()


def bounds_of(spec: WorkerSpec, kept: int = 0) -> CgroupBounds:
    """The limits of a session's cgroup. `kept` workers in it are only held by snapshots and copies of the session."""
    limits = spec.limits
    # A worker and its spare share only pages that neither has written: together they may hold twice the memory.
    memory = limits.memory_bytes * (2 + kept if spec.copies else 1)
    copies = CHECKPOINT_PROCESSES + kept if spec.copies else 1
    return CgroupBounds(memory + cgroup.OVERHEAD, limits.processes + copies, 1.0 + limits.processes)


def _group(bounds: CgroupBounds, process: SessionProcess) -> tuple[str, str]:
    """Limit the session's cgroup, joining one if needed, while the session seals itself. Returns level and evidence."""
    joined = process.group or cgroup.join(process.pidfd)
    if isinstance(joined, str):
        return "partial", f"rlimits bound each process alone ({joined})"
    process.group = joined
    try:
        joined.limit(bounds)
    except OSError as error:
        return "partial", f"rlimits bound each process alone ({error})"
    return "full", joined.evidence


def take(spec: WorkerSpec, size: int) -> WarmWorker:
    """A sealed worker: a ready one when there is one, else a new one. Keeps `size` ready in the background."""
    worker = _pool.pop(spec, size)
    if worker is None:
        worker = _forked(spec)
    try:
        if size:
            _pool.refill()  # only now: the zygote would fork both at the same time, and the caller waits for one
    except BaseException:  # Ctrl-C as well: the process must not outlive it
        worker.discard()
        raise
    return worker


def _forked(spec: WorkerSpec) -> WarmWorker:
    for seconds in _RETRY_SECONDS:
        try:
            return fork_worker(spec)
        except EnvironmentUnavailable:
            # Worth a retry: the zygote may just have been killed, or the machine may be short of processes.
            time.sleep(seconds)
    return fork_worker(spec)


class _Pool:
    """Ready workers by key, refilled by one daemon thread."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._ready: dict[WorkerSpec, deque[WarmWorker]] = {}
        self._wanted: dict[WorkerSpec, int] = {}
        self._wake = threading.Event()
        self._thread: threading.Thread | None = None

    def pop(self, key: WorkerSpec, size: int) -> WarmWorker | None:
        if size == 0:
            return None
        with self._lock:
            self._wanted[key] = size
            waiting = self._ready.setdefault(key, deque())
            worker = None
            while waiting and worker is None:
                worker = waiting.popleft()
                if not worker.process.alive():
                    worker.discard()
                    worker = None
        return worker

    def refill(self) -> None:
        """Have the thread bring what is missing, a moment from now."""
        with self._lock:
            if self._thread is None or not self._thread.is_alive():
                self._thread = threading.Thread(target=self._refill, name="rlm_secure-pool", daemon=True)
                with contextlib.suppress(RuntimeError):  # no more threads: none is prepared in advance
                    self._thread.start()
        self._wake.set()

    def _refill(self) -> None:
        while True:
            self._wake.wait()
            self._wake.clear()
            time.sleep(_REFILL_DELAY_SECONDS)  # the session that took a worker runs a cell now: do not compete with it
            while (key := self._short()) is not None:
                try:
                    worker = fork_worker(key, warm=True)
                except (RLMSecureError, OSError):
                    break  # the next caller starts one itself, and gets the error
                with self._lock:
                    wanted = key in self._wanted
                    if wanted:
                        self._ready[key].append(worker)
                if not wanted:  # drained in the meantime
                    worker.discard()

    def _short(self) -> WorkerSpec | None:
        with self._lock:
            for key, size in self._wanted.items():
                if len(self._ready[key]) < size:
                    return key
            return None

    def waiting(self) -> list[WarmWorker]:
        with self._lock:
            return [worker for queue in self._ready.values() for worker in queue]

    def drain(self) -> None:
        """Kill every ready worker."""
        with self._lock:
            self._wanted.clear()
            waiting = [worker for queue in self._ready.values() for worker in queue]
            self._ready.clear()
        for worker in waiting:
            worker.discard()


def _rlimits(spec: WorkerSpec) -> dict[str, Any]:
    limits = spec.limits
    # A second above the budget: the host adds up what a session uses (cputime.py) and stops it first, as its error
    # names the limit.
    cpu = math.ceil(max(spec.cpu_seconds, 0.0)) + 1
    # With checkpoints there is room for the copies that the host consents to (listener.py).
    processes = limits.processes + (CHECKPOINT_PROCESSES + _COPY_PROCESSES * limits.forks if spec.copies else 0)
    return {
        "DATA": limits.memory_bytes,
        # RLIMIT_DATA does not count page tables: without a limit on addresses, a cell that touches one byte in
        # every 2 MiB of a read-only mapping makes a gigabyte of them. Contexts are mapped, so they need room, which
        # is granted in advance: a host that is root without CAP_SYS_RESOURCE cannot raise the limit later. So this
        # does not limit memory; where there is no cgroup, the host checks how much a worker holds.
        "AS": (1 << 30) + 2 * limits.memory_bytes + 4 * limits.context_bytes,
        "CPU": [cpu, cpu + 1],
        "NPROC": processes,
        "NOFILE": limits.open_files,
    }


#: The most that live at the same time: init, the worker, the copy that takes over from it, and the spare before that.
CHECKPOINT_PROCESSES = 4
#: The most of each fork of a session: as above, without init, which is the session's.
_COPY_PROCESSES = 3

_pool = _Pool()


def ready() -> int:
    """How many workers are ready, of all specs."""
    return len(_pool.waiting())


def pids() -> set[int]:
    """What this process keeps ready for sessions to come, by the pids that it sees: workers, and their zygotes."""
    workers = [worker.process for worker in _pool.waiting()]
    # A zygote that was replaced lives as long as the workers that it forked.
    sources = [*running(), *(process.zygote for process in workers)]
    return {pidfd.pid_of(process.pidfd) or 0 for process in workers}.union(*(each.pids() for each in sources)) - {0}


def drain() -> None:
    """Kill all ready workers of this process: for tests that count processes."""
    _pool.drain()


def _forget() -> None:
    # A forked child must neither hand out its parent's workers nor kill them.
    global _pool
    _pool = _Pool()


os.register_at_fork(after_in_child=_forget)
