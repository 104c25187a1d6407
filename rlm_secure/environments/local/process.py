"""A session's first process as the host holds it: by its pidfd, which cannot come to mean another process."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from rlm_secure.environments.local import pidfd
from rlm_secure.environments.local.cgroup import Group

#: The kernel ends a process that is killed at once, unless the machine is out of its depth.
_END_SECONDS = 5.0


class Parent(Protocol):
    """The process that a session was forked from; a `Zygote` is one."""

    walls: Mapping[str, tuple[str, str]]
    details: Mapping[str, Any]

    def status(self, pid: int) -> int | None:
        """The wait status of an ended session, or None when it is not known any more."""

    def released(self) -> None:
        """A session of it is gone."""


@dataclass(slots=True)
class SessionProcess:
    """A session as the host holds it: its socket, its pidfd, and its pid in the zygote's namespace."""

    connection: socket.socket
    pidfd: int
    pid: int
    zygote: Parent
    group: Group | None = None
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    _gone: bool = field(default=False, init=False)

    def kill(self) -> None:
        """SIGKILL to the session's init: the kernel ends everything in its PID namespace with it. From any thread.

        Nothing happens where it was let go of: its descriptor and its cgroup may be another session's by then.
        """
        with self._lock:
            if self._gone:
                return
            if self.group is not None:
                self.group.kill()
            pidfd.send_signal(self.pidfd, signal.SIGKILL)

    def alive(self) -> bool:
        """Whether its first process has not ended."""
        return not pidfd.ended(self.pidfd)

    @property
    def bounded(self) -> bool:
        """Whether a cgroup bounds all of the session together."""
        return self.group is not None and self.group.bounded

    def out_of_memory(self) -> bool:
        """Whether the kernel killed something of the session for memory."""
        return self.group is not None and self.group.out_of_memory()

    def end(self, *, alive: bool = True) -> None:
        """Kill it, wait until it is gone, and close its descriptors; with `alive=False`, in a fork: close only."""
        with contextlib.ExitStack() as last:  # run from the last to the first, even if one of them is interrupted
            last.callback(os.close, self.pidfd)
            last.callback(self.connection.close)
            if alive:
                last.callback(self.zygote.released)
                if self.group is not None:
                    last.callback(self.group.give_back)
                last.callback(self._let_go)
                if self.group is not None:
                    last.callback(self.zygote.status, self.pid)  # a zombie would keep the group busy
                last.callback(pidfd.ended, self.pidfd, _END_SECONDS)
                self.kill()

    def _let_go(self) -> None:
        with self._lock:
            self._gone = True
