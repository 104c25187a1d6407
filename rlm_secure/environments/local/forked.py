"""A session's first process as the host holds it: by its pidfd, which cannot come to mean another process."""

from __future__ import annotations

import os
import select
import signal
import socket
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rlm_secure.environments.local.cgroup import Group

if TYPE_CHECKING:
    from rlm_secure.environments.local.zygote import Zygote


@dataclass(slots=True)
class Forked:
    """A session as the host holds it: its socket, its pidfd, and its pid in the zygote's namespace."""

    connection: socket.socket
    pidfd: int
    pid: int
    zygote: Zygote
    group: Group | None = None

    def kill(self) -> None:
        """SIGKILL to the session's init: the kernel ends everything in its PID namespace with it."""
        if self.group is not None:
            self.group.kill()
        send_signal(self.pidfd, signal.SIGKILL)

    def alive(self) -> bool:
        """Whether its first process has not ended."""
        poll = select.poll()
        poll.register(self.pidfd, select.POLLIN)
        return not poll.poll(0)

    def out_of_memory(self) -> bool:
        """Whether the kernel killed something of the session for memory."""
        return self.group is not None and self.group.out_of_memory()

    def end(self, *, alive: bool = True) -> None:
        """Kill it, wait until it is gone, and let go of it. `alive=False` in a fork of the host: let go only."""
        if alive:
            self.kill()
            poll = select.poll()
            poll.register(self.pidfd, select.POLLIN)
            poll.poll(5000)
            if self.group is not None:
                self.zygote.status(self.pid)  # a zombie would keep the group busy
                self.group.remove()
            self.zygote.released()
        self.connection.close()
        os.close(self.pidfd)


def send_signal(pidfd: int, number: signal.Signals) -> bool:
    """Signal the process behind `pidfd`; False when it is gone."""
    try:
        signal.pidfd_send_signal(pidfd, number)
    except ProcessLookupError:
        return False
    return True
