"""Raises the walls of one session, in order, around its one socket, and records what each achieved.

Guards: the order in which a session's walls are raised, and what is reported of each
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .. import wire
from . import seal, stack

FULL, NONE = "full", "none"


class Walls:
    """The results of the walls that were tried: wall -> [level, evidence]."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def note(self, wall: str, evidence: str) -> None:
        """Record that `wall` holds."""
        self.found[wall] = [FULL, evidence]

    def miss(self, wall: str, evidence: str) -> None:
        """Record that `wall` does not hold."""
        self.found[wall] = [NONE, evidence]

    def held(self, wall: str) -> bool:
        """Whether `wall` holds."""
        return self.found.get(wall, [NONE])[0] == FULL

    def attempt(self, wall: str, step: Callable[..., Any], *arguments: Any, evidence: str | None = None) -> bool:
        """Run `step` and record its result, or `evidence`. Returns False if it raised OSError: the wall is missing."""
        try:
            result = step(*arguments)
        except OSError as error:
            self.miss(wall, str(error))
            return False
        self.note(wall, evidence or str(result))
        return True


def keep_only(fd: int, landlock: int | None) -> None:
    """Close every descriptor except the session's socket, which becomes 3, and the ruleset, which becomes 4."""
    # Copy both to higher numbers first, so that moving one does not close the other.
    above = max(fd, landlock or 0, wire.FD + 1) + 1
    os.dup2(fd, above)
    if landlock is not None:
        os.dup2(landlock, above + 1)
        os.dup2(above + 1, wire.FD + 1)
    os.dup2(above, wire.FD)
    os.closerange(0, wire.FD)
    os.closerange(wire.FD + (1 if landlock is None else 2), 1 << 16)


def enclose(landlock: int | None, *, own_namespaces: bool) -> Walls:
    """Raise the walls that are the same for every policy, in order. Returns what was achieved."""
    found = Walls()
    found.note("no-inherited-fds", "one socket; everything else closed")
    if own_namespaces:
        own = seal.CLONE_NEWUSER | seal.CLONE_NEWNET | seal.CLONE_NEWIPC
        held = found.attempt("user-namespace", seal.unshare, own, evidence="own to this session")
        for wall in ("network-namespace", "ipc-namespace"):
            (found.note if held else found.miss)(wall, found.found["user-namespace"][1])
    found.attempt("not-dumpable", seal.set_dumpable, False, evidence="PR_SET_DUMPABLE 0")
    found.attempt("no-capabilities", seal.drop_capabilities, evidence="capset to empty sets succeeded")
    if landlock is not None:
        found.attempt("landlock", seal.landlock_restrict, wire.FD + 1, evidence="landlock_restrict_self succeeded")
        os.close(wire.FD + 1)
    return found


def confine(found: Walls, program: bytes | None, limits: dict[str, Any]) -> None:
    """Raise the remaining walls: the policy's limits, then the seccomp filter, which is the last step."""
    found.attempt("rlimits", _limits, limits)
    if program is not None:
        found.attempt("seccomp", _filters, program, evidence="filter installed")


def _filters(program: bytes) -> None:
    if stack.FILTER:
        seal.seccomp(stack.FILTER)
    seal.seccomp(program)


#: Limits that are the same for every session: set once in the zygote and inherited.
_SHARED = {"CORE": 0, "FSIZE": 0, "MEMLOCK": 0, "NICE": 0, "RTPRIO": 0, "STACK": 8 << 20}


def shared_limits() -> str:
    """Set the limits that are the same for every session. Called in the zygote. Raises OSError.

    A huge page stays allocated as a whole while one small page of it is mapped, and only a memory cgroup counts all of
    it. So huge pages are disabled, unless a session's setup says that it is in such a cgroup (prefork.py).
    """
    said = _limits(_SHARED)
    try:
        seal.huge_pages(False)
    except OSError as error:  # gVisor has no huge pages
        return f"{said}, huge pages as the kernel has them ({error.strerror})"
    return f"{said}, huge pages only where a cgroup counts them"


def bound_message_queues() -> str | None:
    """Set the limit on message queues. Returns why the kernel refuses it, as gVisor does, or None."""
    try:
        seal.limit("MSGQUEUE", 0)
    except OSError as error:
        return str(error.strerror)
    return None


def note_message_queues(found: Walls, refused: str | None) -> None:
    """Record what limits message queues if that limit was `refused`. Called after the walls were tested.

    Then only the filter limits them: it kills a process that opens one. Without a tested filter, the wall is reported
    as missing.
    """
    if refused is None or not found.held("rlimits"):
        return
    if found.held("seccomp"):
        found.note("rlimits", f"{found.found['rlimits'][1]}; message queues by the filter alone ({refused})")
    else:
        found.miss("rlimits", refused)


def _limits(limits: dict[str, Any]) -> str:
    failed = []
    for name, value in limits.items():
        soft, hard = value if isinstance(value, list) else (value, value)
        try:
            seal.limit(name, soft, hard)
        except OSError as error:  # the other limits are still worth setting
            failed.append(str(error.strerror))
    if failed:
        raise OSError(1, "; ".join(failed))
    return ", ".join([f"{name} {value}" for name, value in limits.items()])
