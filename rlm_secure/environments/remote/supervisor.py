"""The walls of a supervisor itself: its uid is not its worker's, and it has dropped its privileges.

It tested that before any untrusted code ran (guest/supervisor/privileges.py); the worker's uids come from the kernel.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from rlm_secure.broker.signed import Around
from rlm_secure.guarantees import Level, Wall, WallStatus

#: What a sealed supervisor attempts, and the errors that the attempt may end with.
REFUSED: Final = {
    "open a file": ("EACCES",),
    "make a file": ("EPERM", "EACCES"),
    "execve": ("EPERM",),
    "fork": ("EPERM",),
    "socket": ("EPERM",),
}

#: Only root can change to another uid.
_WHY: Final = "; a sandbox whose programs start as root has two: see `user` of its environment, and USER of its image"


def walls(around: Around) -> Iterator[WallStatus]:
    """The two walls, from a supervisor's tests of itself."""
    own, workers = frozenset(around.uids), frozenset(around.worker_uids)
    if not own or not workers:
        yield WallStatus(Wall.SEPARATE_UID, Level.NONE, "not separated, as far as anybody knows: no uid was said")
    elif own & workers:
        same = ", ".join(str(each) for each in sorted(own & workers))
        both = f"not separated: supervisor and worker are both uid {same}{_WHY}"
        yield WallStatus(Wall.SEPARATE_UID, Level.NONE, both)
    else:
        parts = [" and ".join(str(each) for each in sorted(uids)) for uids in (own, workers)]
        yield WallStatus(Wall.SEPARATE_UID, Level.FULL, f"the supervisor is uid {parts[0]}, the worker {parts[1]}")
    said = around.tried
    held = [said.get(what) in ends for what, ends in REFUSED.items()]
    root = not own or 0 in own
    level = Level.NONE if not any(held) else Level.PARTIAL if root or not all(held) else Level.FULL
    tried = ", ".join(f"{what}: {said.get(what, '?')}" for what in REFUSED)
    user = ", ".join(str(each) for each in sorted(own)) or "?"
    evidence = f"uid {user}, Landlock {said.get('landlock', '?')}, filter {said.get('filter', '?')}; {tried}"
    yield WallStatus(Wall.SEALED_SUPERVISOR, level, evidence)
