"""The host's consent to a fork: each clone(2) of a session waits here, and one is allowed for each checkpoint.

A worker copies itself by clone(2), which a hostile worker may call at any time. The kernel holds every clone(2) of the
session until the host answers. The host allows it only for a checkpoint, only to the process that was asked for one,
and only once, so no process starts uncounted. The session's filter has checked the register with the call's flags,
which cannot change while the call waits. Source: seccomp_unotify(2).

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
        """Allow the waiting call if process `pid` makes it; returns False if the call was withdrawn.

        Raises PermissionError if another process makes it: that call keeps waiting. Raises OSError.
        """
        question = bytearray(_NOTIFICATION_BYTES)
        try:
            fcntl.ioctl(self._fd, _RECEIVE, question)
            number, caller, _ = _ASKED.unpack_from(question)
            if caller != pid:
                raise PermissionError(errno.EPERM, "a process that was not asked for a copy made one")
            fcntl.ioctl(self._fd, _SEND, bytearray(_ANSWER.pack(number, 0, 0, _CONTINUE)))
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):  # a signal came first: the call was not made
                return False
            raise
        return True

    def close(self) -> None:
        """Close it: every clone(2) of the session fails from now on. Idempotent."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)
