"""The process of the next session, in a cgroup before anybody wants it: joining one can take milliseconds."""

from __future__ import annotations

import os

from rlm_secure.environments.local import cgroup
from rlm_secure.environments.local.cgroup import Group


class Ahead:
    """At most one process of a zygote, by its pid there, and its group. Not thread-safe: the zygote has the lock."""

    def __init__(self) -> None:
        self._pid = 0
        self._group: Group | None = None

    @property
    def wanted(self) -> bool:
        """Whether there is none yet, on a machine that has groups."""
        return self._group is None and not isinstance(cgroup.parents(os.getpid()), str)

    def join(self, pid: int, pidfd: int) -> None:
        """Put the process into a group of its own; without one, its session tries again, and says what is wrong."""
        group = cgroup.join(pidfd)
        if not isinstance(group, str):
            self._pid, self._group = pid, group

    def take(self, pid: int) -> Group | None:
        """The group, where it is that of `pid`; that of a process that died while it waited is removed."""
        group, self._group = self._group, None
        if group is not None and self._pid != pid:
            group.remove()
            return None
        return group
