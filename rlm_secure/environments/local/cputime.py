"""CPU seconds of a session: of every process that it ever had, the dead included, by the kernel's clocks.

RLIMIT_CPU counts each copy of a worker from zero, and what a worker says of itself is no measure: the host adds up.
What a process used between the last look and its end counts as all the time that passed, unless its cgroup says less.

Guards: the CPU seconds of a session, of all that ever ran in it
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

#: The host looks ten times a second; the kernel's own limit, in whole seconds, is for what runs while nobody looks.
_SLACK_SECONDS = 1
#: An uncertainty worth asking the cgroup about, which takes as long as a short cell.
_UNCERTAIN_SECONDS = 0.25


class CpuAccount:
    """What a session has used of `budget` seconds. Not thread-safe: the session has the lock."""

    def __init__(self, budget: float) -> None:
        self._budget = budget
        self._dead = 0.0
        self._before = 0.0  # used when the group was given
        self._live: set[Worker] = set()
        self._group: Group | None = None
        self._group_before = 0.0
        self._group_seen = 0.0  # by the group's own counter, at the last look

    def open(self, worker: Worker, group: Group | None) -> None:
        """A process tree begins with `worker`, born with what is left (pool.py), in `group` where there is one."""
        self._before = self.used()
        self._live.add(worker)
        if group is not None and (seconds := group.cpu_seconds()) is not None:
            self._group, self._group_before = group, seconds

    def close(self) -> None:
        """The process tree has ended: its group may be another session's from now on."""
        self.used()
        self._group = None

    def add(self, worker: Worker) -> None:
        """A copy joins, which may use what is left."""
        self._live.add(worker)
        self.allow(worker, self.left())

    def allow(self, worker: Worker, more: float) -> None:
        """Have the kernel end `worker` when it has used `more` seconds than now, should the host not look.

        Rounded up to whole seconds, and a second more: the host is first, which names the limit. The kernel refuses
        it to a host that is root without CAP_SYS_RESOURCE. There, a copy has the limit that its session began with;
        what holds is that nobody runs while the host does not look: who is at rest, or in reserve, is stopped.
        """
        pid, used = worker.host_pid, worker.cpu_seconds()
        if pid is None or used is None or pidfd.ended(worker.pidfd):
            return
        soft = math.ceil(used + max(more, 0.0)) + _SLACK_SECONDS
        with contextlib.suppress(OSError, ValueError):  # ValueError: it would raise a hard limit
            resource.prlimit(pid, resource.RLIMIT_CPU, (soft, soft + 1))

    def lost(self, seconds: float) -> None:
        """An unobserved process may have run for so long: all of it counts."""
        self._dead += seconds

    def settle(self, worker: Worker) -> None:
        """`worker` has ended: what it used stays counted."""
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
        """CPU seconds so far: of those who are known, or of all that was ever in their group, where that is more."""
        total = self._dead
        for worker in self._live:
            seconds = worker.cpu_seconds()
            total += worker.cpu_seen if seconds is None else seconds
        if self._group is not None and (counted := self._group.cpu_seconds()) is not None:
            self._group_seen = self._before + counted - self._group_before
        return max(total, self._group_seen)

    def left_at_last_look(self) -> float:
        """As `left`, of what was seen last: a cell begins with a look at its worker, and who waits is stopped."""
        known = self._dead + sum(worker.cpu_seen for worker in self._live)
        return self._budget - max(known, self._group_seen)

    def left(self) -> float:
        """CPU seconds that are left; negative where more were used."""
        return self._budget - self.used()

    def exceeded(self) -> CellTimeout:
        """The error of a session that has used its budget."""
        said = f"the session used up limits.session_cpu_seconds = {self._budget:g} s"
        return CellTimeout(said, limit=SESSION_CPU, wall="rlimits")
