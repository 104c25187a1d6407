"""The host's handle on a session's first process: a pidfd, which never refers to another process."""

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

#: Longest wait for a killed process: it ends within milliseconds, unless the machine is overloaded.
_END_SECONDS = 5.0


class Parent(Protocol):
    """The process that a session was forked from; a `Zygote` is one."""

    walls: Mapping[str, tuple[str, str]]
    details: Mapping[str, Any]

    def status(self, pid: int) -> int | None:
        """The wait status of an ended session, or None when it is no longer known."""

    def released(self) -> None:
        """Called when one of its sessions is gone."""

    def pids(self) -> set[int]:
        """Its processes and those of sessions to come, as this process sees them."""
        ...


@dataclass(slots=True)
class SessionProcess:
    """The host's handle on a session: its socket, its pidfd, and its pid in the zygote's namespace."""

    connection: socket.socket
    pidfd: int
    pid: int
    zygote: Parent
    group: Group | None = None
    _lock: Any = field(default_factory=threading.RLock, init=False, repr=False, compare=False)
    _gone: bool = field(default=False, init=False)

    def kill(self) -> None:
        """Send SIGKILL to the session's init: the kernel then kills its whole PID namespace. Thread-safe.

        Does nothing once the process is released: its descriptor and its cgroup may be another session's by then.
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
        """Whether a cgroup limits the session as a whole."""
        return self.group is not None and self.group.bounded

    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the session because of memory."""
        return self.group is not None and self.group.out_of_memory()

    def end(self, *, alive: bool = True) -> None:
        """Kill it, wait until it is gone, and close its descriptors; with `alive=False`, in a fork: only close."""
        with contextlib.ExitStack() as last:  # runs from the last to the first, even if one of them is interrupted
            last.callback(os.close, self.pidfd)
            last.callback(self.connection.close)
            if alive:
                last.callback(self.zygote.released)
                if self.group is not None:
                    last.callback(self.group.give_back)
                    last.callback(self._leave, self.group)
                last.callback(self._let_go)
                last.callback(pidfd.ended, self.pidfd, _END_SECONDS)
                self.kill()

    def _let_go(self) -> None:
        with self._lock:
            self._gone = True

    def _leave(self, group: Group) -> None:
        with contextlib.suppress(OSError):
            if group.busy():  # the kernel may list the process until it is reaped
                self.zygote.status(self.pid)
