"""The process of the next session, in a cgroup before anybody wants it: joining one can take milliseconds."""

from __future__ import annotations

import contextlib
import os

from rlm_secure.environments.local import cgroup
from rlm_secure.environments.local.cgroup import Bounds, Group


class Ahead:
    """At most one process of a zygote, by its pid there, and its group. Not thread-safe: the zygote has the lock."""

    def __init__(self) -> None:
        self._pid = 0
        self._group: Group | None = None
        self._bounds: Bounds | None = None

    @property
    def possible(self) -> bool:
        """Whether this machine has groups."""
        return not isinstance(cgroup.parents(os.getpid()), str)

    def join(self, pid: int, pidfd: int) -> None:
        """Put the process that waits now into a group with the bounds of the last one."""
        if pid == self._pid:
            return
        self.clear()  # that of one that died while it waited, or was discarded
        group = cgroup.join(pidfd)
        if isinstance(group, str):
            return
        self._pid, self._group = pid, group
        if self._bounds is not None:
            with contextlib.suppress(OSError):  # its session tries again, and says what is wrong
                group.limit(self._bounds)

    def take(self, pid: int, bounds: Bounds | None) -> Group | None:
        """The group, where it is that of `pid`. The next one is made for `bounds`."""
        self._bounds = bounds
        if self._pid != pid:
            return None
        group, self._group, self._pid = self._group, None, 0
        return group

    def clear(self) -> None:
        """Remove the group of a process that is gone, or was told to go."""
        group, self._group, self._pid = self._group, None, 0
        if group is not None:
            group.remove()
