"""CPU seconds of a session: of every process that it ever had, ended ones included, by the kernel's clocks.

RLIMIT_CPU counts each copy of a worker from zero, and a worker's own numbers cannot be trusted, so the host adds up.
The time between the last reading and a process's end counts as used in full, unless its cgroup shows less.

Guards: the CPU seconds of a session, of every process that it ever had
"""

from __future__ import annotations

import contextlib
import math
import resource

from rlm_secure.environments.deadline import SESSION_CPU
from rlm_secure.environments.local import pidfd
from rlm_secure.environments.local.cgroup import Group
from rlm_secure.environments.local.worker import Worker
from rlm_secure.errors import CellTimeout

#: The host checks ten times a second; the kernel's limit, in whole seconds, covers processes that it does not check.
_SLACK_SECONDS = 1
#: An uncertainty above which the cgroup is read, which takes as long as a short cell.
_UNCERTAIN_SECONDS = 0.25


class CpuAccount:
    """What a session has used of `budget` CPU seconds. Not thread-safe: the session's lock protects it.

    A copy of a session begins with what that had `used`.
    """

    def __init__(self, budget: float, used: float = 0.0) -> None:
        self._budget = budget
        self._dead = used
        self._before = 0.0  # used before the current process tree
        self._live: set[Worker] = set()
        self._group: Group | None = None
        self._group_before = 0.0
        self._group_seen = 0.0  # by the group's own counter, at the last look

    def open(self, worker: Worker, group: Group | None) -> None:
        """Begin a process tree with `worker`, whose RLIMIT_CPU is what is left (pool.py), in `group` if any."""
        self._before = self.used()
        self._live.add(worker)
        if group is not None and (seconds := group.cpu_seconds()) is not None:
            self._group, self._group_before = group, seconds

    def close(self) -> None:
        """End the process tree: its group may be another session's from now on."""
        self.used()
        self._group = None

    def add(self, worker: Worker) -> None:
        """Add a copy, which may use what is left."""
        self._live.add(worker)
        self.allow(worker, self.left())

    def allow(self, worker: Worker, more: float) -> None:
        """Have the kernel kill `worker` after `more` further CPU seconds, in case the host does not check it.

        Rounded up to whole seconds, plus one: the host should stop it first, as its error names the limit. A host that
        is root without CAP_SYS_RESOURCE may not do this. There a copy has the limit that its session began with, and
        no worker runs unchecked, because idle workers and spares are stopped.
        """
        pid, used = worker.host_pid, worker.cpu_seconds()
        if pid is None or used is None or pidfd.ended(worker.pidfd):
            return
        soft = math.ceil(used + max(more, 0.0)) + _SLACK_SECONDS
        with contextlib.suppress(OSError, ValueError):  # ValueError: it would raise a hard limit
            resource.prlimit(pid, resource.RLIMIT_CPU, (soft, soft + 1))

    def lost(self, seconds: float) -> None:
        """Count `seconds` in which an unobserved process may have run."""
        self._dead += seconds

    def leave(self, worker: Worker) -> None:
        """Count what a stopped `worker` has used, and look at it no more: others keep it."""
        if worker in self._live:
            self._live.discard(worker)
            self._dead += worker.cpu_at_most()

    def counts(self, worker: Worker) -> bool:
        """Whether it looks at `worker`."""
        return worker in self._live

    def settle(self, worker: Worker) -> None:
        """Move what an ended `worker` used to the total."""
        if worker not in self._live:
            return
        self._live.discard(worker)
        least, most = self._dead + worker.cpu_seen, self._dead + worker.cpu_ceiling
        if most - least > _UNCERTAIN_SECONDS and self._group is not None:
            total = self._group.cpu_seconds()
            if total is not None:
                others = sum(each.cpu_seconds() or each.cpu_seen for each in self._live)
                most = max(min(most, self._before + total - self._group_before - others), least)
        self._dead = most

    def used(self) -> float:
        """CPU seconds so far: the sum over known workers, or the counter of their cgroup if that is higher."""
        total = self._dead
        for worker in self._live:
            seconds = worker.cpu_seconds()
            total += worker.cpu_seen if seconds is None else seconds
        if self._group is not None and (counted := self._group.cpu_seconds()) is not None:
            self._group_seen = self._before + counted - self._group_before
        return max(total, self._group_seen)

    def left_at_last_look(self) -> float:
        """As `left`, from the last readings: a cell begins with one, and an idle worker is stopped and uses nothing."""
        known = self._dead
        for worker in self._live:
            known += worker.cpu_seen
        return self._budget - max(known, self._group_seen)

    def left(self) -> float:
        """CPU seconds that are left; negative if more were used."""
        return self._budget - self.used()

    def exceeded(self) -> CellTimeout:
        """The error of a session that has used its budget."""
        said = f"the session used up limits.session_cpu_seconds = {self._budget:g} s"
        return CellTimeout(said, limit=SESSION_CPU, wall="rlimits")
