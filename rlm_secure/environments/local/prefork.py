"""The next session's process, made while nobody waits: sealed for what the last two wanted, and in its cgroup."""

from __future__ import annotations

import json
import struct
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from rlm_secure.environments.local import cgroup
from rlm_secure.environments.local.cgroup import CgroupBounds
from rlm_secure.environments.local.process import SessionProcess

_HEADER = struct.Struct(">I")


@dataclass(frozen=True)
class ProcessSetup:
    """What a session's process is told over its own socket, and the bounds of its cgroup."""

    profile: str
    limits: Mapping[str, Any]
    begin: Mapping[str, Any]
    bounds: CgroupBounds | None
    huge_pages: bool = False
    """Whether it is in a cgroup: nothing else counts all of a huge page of which a part is mapped."""

    def frame(self, *, warm: bool) -> bytes:
        """The first frame of a session."""
        message = {
            "op": "setup",
            "profile": self.profile,
            "limits": self.limits,
            "begin": self.begin,
            "warm": warm,
            "huge_pages": self.huge_pages,
        }
        body = json.dumps(message).encode("ascii")
        return _HEADER.pack(len(body)) + body


class Spawner(Protocol):
    """What makes the processes of sessions; a `Zygote` is one."""

    @property
    def running(self) -> bool:
        """Whether it still takes requests."""

    def spawn(self, setup: ProcessSetup, *, warm: bool = False) -> SessionProcess:
        """A process that nobody else has, told `setup`. Raises EnvironmentUnavailable."""


class PreforkedProcess:
    """At most one process of a zygote that waits to be the next session. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expected: ProcessSetup | None = None
        self._last: ProcessSetup | None = None
        self._waiting: tuple[ProcessSetup, SessionProcess] | None = None

    def take(self, setup: ProcessSetup) -> SessionProcess | None:
        """The one that waits, where it was told the same and lives. The next one is made for what is wanted now."""
        taken = discarded = None
        with self._lock:
            if self._expected is None or setup == self._last:
                # Wanted twice in a row: two kinds in turn would each discard what was made for the other.
                self._expected = setup
            self._last = setup
            if self._waiting is not None:
                waiting_for, forked = self._waiting
                if waiting_for == setup and forked.alive():
                    taken, self._waiting = forked, None
                elif waiting_for != self._expected or not forked.alive():
                    discarded, self._waiting = forked, None
        if discarded is not None:
            discarded.end()
        return taken

    def prepare(self, zygote: Spawner) -> SessionProcess | None:
        """The one that waits; made now where there is none, and it is known what for. Raises EnvironmentUnavailable."""
        with self._lock:
            setup = self._expected
            if self._waiting is not None or setup is None:
                return None if self._waiting is None else self._waiting[1]
        forked = zygote.spawn(setup, warm=True)
        if setup.bounds is not None:
            forked.group = _group(forked, setup.bounds)
        with self._lock:
            if self._waiting is None and self._expected is setup and zygote.running:
                self._waiting = setup, forked
                return forked
        forked.end()
        return None

    def forget(self) -> None:
        """In a forked child of the host: close our descriptors, and leave the process alone."""
        waiting, self._waiting = self._waiting, None
        if waiting is not None:
            waiting[1].end(alive=False)

    def clear(self) -> None:
        """End it: nobody will want it."""
        with self._lock:
            waiting, self._waiting, self._expected = self._waiting, None, None
        if waiting is not None:
            waiting[1].end()


def _group(forked: SessionProcess, bounds: CgroupBounds) -> cgroup.Group | None:
    """A group with the process in it: joining one can take milliseconds."""
    group = cgroup.join(forked.pidfd)
    if isinstance(group, str):
        return None
    try:
        group.limit(bounds)
    except OSError:  # its session tries again, and says what is wrong
        pass
    return group
