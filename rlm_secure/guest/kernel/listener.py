"""Seccomp's user notification: clone(2) of a session waits until the host, which holds the listener, lets it pass.

A small filter in front of the session's own. Where both have a word the stricter one counts, so that all that this one
does is to hold up what the other one would let through: fork with the C library's flags, of a session with checkpoints.
Without a listener, as after its host has closed it, the call fails. Source: seccomp_unotify(2).

Guards: the filter that holds up every fork of a session
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

#: What carries the listener to the host, or says that there is none.
GATED, UNGATED = b"\x01", b"\x00"


def program(machine: str) -> bytes:
    """The filter as BPF; nothing for a machine that we do not know. Others' calls never get past the session's own."""
    if machine not in _CLONE:
        return b""
    steps = ((_LOAD, 0, 0, 0), (_EQUAL, 0, 1, _CLONE[machine]), (_RETURN, 0, 0, _NOTIFY), (_RETURN, 0, 0, _ALLOW))
    return b"".join(struct.pack("HBBI", *step) for step in steps)


_FILTER = program(os.uname().machine)  # once, in the zygote


def offer(connection: _socket.socket) -> bool:
    """Install the filter and hand its listener to the host over `connection`; returns whether the kernel has such.

    The listener is closed here: what runs in the session later could otherwise give itself consent. Needs no_new_privs.
    """
    try:
        fd = seal.seccomp(_FILTER, _NEW_LISTENER)
    except OSError:  # an old kernel, a sandbox around us that listens itself, an unknown machine
        connection.send(UNGATED)
        return False
    try:
        connection.sendmsg([GATED], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, array.array("i", [fd]))])
    finally:
        os.close(fd)
    return True
