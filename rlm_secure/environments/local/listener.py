"""The host's consent to a fork: clone(2) of a session waits here, and passes once for each checkpoint.

That a worker copies itself is a call of its own, which a hostile one makes whenever it likes. Each one is held up by
the kernel until it is answered, whoever in the session makes it; it is answered for a checkpoint alone, for the process
that was asked for one, and once. So the processes of a session are counted where they come from. The register with
the call's flags was checked by the session's filter, and nobody can change it meanwhile. Source: seccomp_unotify(2).

Guards: that a session copies itself only when it was asked to, and once
"""

from __future__ import annotations

import errno
import fcntl
import os
import select
import struct

_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND
_CONTINUE = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE, Linux 5.5
_ASKED = struct.Struct("=QII")  # id, pid, flags; then the call
_ANSWER = struct.Struct("=QqiI")  # id, value, error, flags
_NOTIFICATION_BYTES = 512  # 80 today; it may grow, and must be zero


class Listener:
    """The listener of one session."""

    def __init__(self, fd: int) -> None:
        self._fd = fd

    def fileno(self) -> int:
        """For poll(2): readable while a call waits."""
        return self._fd

    def asked(self) -> bool:
        """Whether a call waits."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        return any(events & select.POLLIN for _, events in poll.poll(0))

    def consent(self, pid: int) -> bool:
        """Let the call that waits pass, where process `pid` makes it; False where it was withdrawn.

        Raises PermissionError where somebody else makes it: that one goes on waiting.
        """
        question = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self._fd, _RECEIVE, question)
            number, caller, _ = _ASKED.unpack_from(question)
            if caller != pid:
                raise PermissionError(errno.EPERM, "a process that was not asked for a copy made one")
            fcntl.ioctl(self._fd, _SEND, bytearray(_ANSWER.pack(number, 0, 0, _CONTINUE)))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):  # a signal came first: the call has not happened
                return False
            raise
        return True

    def close(self) -> None:
        """Let go of it: calls of the session fail from now on. Idempotent."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)
