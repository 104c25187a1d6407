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
import threading
from collections.abc import Container, Iterable

_RECEIVE, _SEND = 0xC0502100, 0xC0182101  # SECCOMP_IOCTL_NOTIF_RECV, SECCOMP_IOCTL_NOTIF_SEND
_VALID = 0x40082102  # SECCOMP_IOCTL_NOTIF_ID_VALID
_CONTINUE = 1  # SECCOMP_USER_NOTIF_FLAG_CONTINUE, Linux 5.5
_ASKED = struct.Struct("=QII")  # id, pid, flags; then the call
_ANSWER = struct.Struct("=QqiI")  # id, value, error, flags
_NOTIFICATION_BYTES = 512  # 80 today; it may grow, and must be zero


class Listener:
    """The listener of one session and its copies. Thread-safe."""

    def __init__(self, fd: int) -> None:
        self._fd = fd
        self._lock = threading.Lock()
        self._calls: dict[int, int] = {}  # pid -> the id of its call

    def fileno(self) -> int:
        """For poll(2): readable while a call waits."""
        return self._fd

    def asked_by(self, pids: Iterable[int | None]) -> bool:
        """Whether one of these processes waits in a call. Raises OSError."""
        with self._lock:
            self._receive()
            return any(pid in self._calls for pid in pids)

    def consent(self, pid: int, others: Container[int] = ()) -> bool:
        """Allow the waiting call of process `pid`; returns False if it waits in none, as it may have been withdrawn.

        Raises PermissionError if a process makes one that is neither `pid` nor of `others`, the workers of other
        sessions: that call keeps waiting. Raises OSError.
        """
        with self._lock:
            self._receive()
            if any(caller != pid and caller not in others for caller in self._calls):
                raise PermissionError(errno.EPERM, "a process that was not asked for a copy made one")
            number = self._calls.pop(pid, None)
            return number is not None and self._told(_SEND, bytearray(_ANSWER.pack(number, 0, 0, _CONTINUE)))

    def _receive(self) -> None:
        """Note who waits, and forget whose call was withdrawn: a signal came first, or the process has ended."""
        poll = select.poll()
        poll.register(self._fd, select.POLLIN)
        while any(events & select.POLLIN for _, events in poll.poll(0)):
            question = bytearray(_NOTIFICATION_BYTES)
            if self._told(_RECEIVE, question):
                number, caller, _ = _ASKED.unpack_from(question)
                self._calls[caller] = number
        for caller, number in list(self._calls.items()):
            if not self._told(_VALID, bytearray(struct.pack("=Q", number))):
                del self._calls[caller]

    def _told(self, request: int, message: bytearray) -> bool:
        """Make a request of the kernel; returns False if the call that it is about was withdrawn. Raises OSError."""
        try:
            fcntl.ioctl(self._fd, request, message)
        except OSError as error:
            if error.errno in (errno.ENOENT, errno.EINTR):
                return False
            raise
        return True

    def close(self) -> None:
        """Close it: every clone(2) of the session fails from now on. Idempotent."""
        if self._fd >= 0:
            fd, self._fd = self._fd, -1
            os.close(fd)
