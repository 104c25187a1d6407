"""The walls of one session, built in order around one socket, and what was achieved.

Guards: the order in which a session's walls are raised, and what is said of each
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

from .. import wire
from . import seal, stack

FULL, NONE = "full", "none"


class Walls:
    """What was tried, and what happened: wall -> [level, evidence]."""

    def __init__(self) -> None:
        self.found: dict[str, list[str]] = {}

    def note(self, wall: str, evidence: str) -> None:
        """It holds."""
        self.found[wall] = [FULL, evidence]

    def miss(self, wall: str, evidence: str) -> None:
        """It does not."""
        self.found[wall] = [NONE, evidence]

    def held(self, wall: str) -> bool:
        """Whether `wall` was achieved."""
        return self.found.get(wall, [NONE])[0] == FULL

    def attempt(self, wall: str, step: Callable[..., Any], *arguments: Any, evidence: str | None = None) -> bool:
        """Run `step`; its result, or `evidence`, says what held. Returns whether it did not raise."""
        try:
            result = step(*arguments)
        except OSError as error:
            self.miss(wall, str(error))
            return False
        self.note(wall, evidence or str(result))
        return True


def keep_only(fd: int, landlock: int | None) -> None:
    """Close every descriptor but the session's socket, as number 3, and the ruleset, as number 4."""
    # By way of numbers above both: neither is closed by the move of the other.
    above = max(fd, landlock or 0, wire.FD + 1) + 1
    os.dup2(fd, above)
    if landlock is not None:
        os.dup2(landlock, above + 1)
        os.dup2(above + 1, wire.FD + 1)
    os.dup2(above, wire.FD)
    os.closerange(0, wire.FD)
    os.closerange(wire.FD + (1 if landlock is None else 2), 1 << 16)


def enclose(landlock: int | None, *, own_namespaces: bool) -> Walls:
    """The walls of a session that no policy changes, in order. Returns what was achieved."""
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
    """The rest: the policy's limits, then the filter, which is the last step."""
    found.attempt("rlimits", _limits, limits)
    if program is not None:
        found.attempt("seccomp", _filters, program, evidence="filter installed")


def _filters(program: bytes) -> None:
    if stack.FILTER:
        seal.seccomp(stack.FILTER)
    seal.seccomp(program)


#: Limits that no session needs to have otherwise: set once in the zygote and inherited.
_SHARED = {"CORE": 0, "FSIZE": 0, "MEMLOCK": 0, "NICE": 0, "RTPRIO": 0, "STACK": 8 << 20}


def shared_limits() -> str:
    """In the zygote: the limits that are the same for every session. Raises OSError.

    A huge page of which one small page stays mapped is taken as a whole, and nothing but a memory cgroup counts it as
    that: so there are none, unless a session is told that it is in one (prefork.py).
    """
    said = _limits(_SHARED)
    try:
        seal.huge_pages(False)
    except OSError as error:  # gVisor has none to give
        return f"{said}, huge pages as the kernel has them ({error.strerror})"
    return f"{said}, huge pages only where a cgroup counts them"


def bound_message_queues(found: Walls) -> None:
    """In the zygote, after its proofs: the limit that gVisor does not take.

    There the filter bounds message queues alone, as it kills whoever opens one; without a filter that was proved, the
    wall is missing.
    """
    if not found.held("rlimits"):
        return
    evidence = found.found["rlimits"][1]
    try:
        seal.limit("MSGQUEUE", 0)
    except OSError as error:
        if found.held("seccomp"):
            found.note("rlimits", f"{evidence}; message queues by the filter alone ({error.strerror})")
        else:
            found.miss("rlimits", str(error.strerror))


def _limits(limits: dict[str, Any]) -> str:
    failed = []
    for name, value in limits.items():
        soft, hard = value if isinstance(value, list) else (value, value)
        try:
            seal.limit(name, soft, hard)
        except OSError as error:  # the others are worth having all the same
            failed.append(str(error.strerror))
    if failed:
        raise OSError(1, "; ".join(failed))
    return ", ".join([f"{name} {value}" for name, value in limits.items()])
