"""Seccomp user notification: clone(2) of a session waits until the host, which holds the listener, allows it.

A small filter, installed before the session's own. The stricter result of the two filters counts, so this one only
delays what the other allows: fork with the C library's flags, in a session with checkpoints. Without a listener, for
example after the host has closed it, the call fails. Source: seccomp_unotify(2).

Guards: the filter that makes every fork of a session wait for the host
"""

from __future__ import annotations

import _socket
import array
import os
import struct

from . import seal

_CLONE = {"x86_64": 56, "aarch64": 220}
_NEW_LISTENER = 8  # SECCOMP_FILTER_FLAG_NEW_LISTENER
_NOTIFY, _ALLOW = 0x7FC00000, 0x7FFF0000
_LOAD, _EQUAL, _RETURN = 0x20, 0x15, 0x06

#: The byte that carries the listener to the host, and the one that says that there is none.
GATED, UNGATED = b"\x01", b"\x00"


def program(machine: str) -> bytes:
    """The filter as BPF; empty for an unknown machine. The session's own filter stops calls of other architectures."""
    if machine not in _CLONE:
        return b""
    steps = ((_LOAD, 0, 0, 0), (_EQUAL, 0, 1, _CLONE[machine]), (_RETURN, 0, 0, _NOTIFY), (_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


_FILTER = program(os.uname().machine)  # once, in the zygote


def offer(connection: _socket.socket) -> bool:
    """Install the filter and send its listener to the host over `connection`; returns whether the kernel has listeners.

    The listener is closed here, because code in the session could otherwise allow its own forks. Needs no_new_privs.
    """
    try:
        fd = seal.seccomp(_FILTER, _NEW_LISTENER)
    except OSError:  # an old kernel, an outer sandbox that has a listener of its own, an unknown machine
        connection.send(UNGATED)
        return False
    try:
        connection.sendmsg([GATED], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [fd]))])
    finally:
        os.close(fd)
    return True
