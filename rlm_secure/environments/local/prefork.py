"""The next session's process, prepared while idle: sealed with the setup of the last two sessions, in a cgroup.

The first one of a zygote is forked while that tests its walls, and is blank: it gets its setup when it is wanted.
"""

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
    """What a session's process is sent over its own socket, and the limits of its cgroup."""

    profile: str
    limits: Mapping[str, Any]
    begin: str
    """The first request, as JSON."""
    bounds: CgroupBounds | None
    huge_pages: bool = False
    """Only for a process in a cgroup: nothing else counts a huge page in full when a part of it is mapped."""

    def frame(self, *, warm: bool) -> bytes:
        """The first frame of a session."""
        message = {
            "op": "setup",
            "profile": self.profile,
            "limits": self.limits,
            "warm": warm,
            "huge_pages": self.huge_pages,
        }
        body = f'{json.dumps(message)[:-1]}, "begin": {self.begin}}}'.encode("ascii")
        return _HEADER.pack(len(body)) + body


class Spawner(Protocol):
    """Creates the processes of sessions; a `Zygote` is one."""

    @property
    def running(self) -> bool:
        """Whether it still accepts requests."""
        ...

    def spawn(self, setup: ProcessSetup, *, warm: bool = False) -> SessionProcess:
        """A new process for the caller alone, with `setup` sent to it. Raises EnvironmentUnavailable."""
        ...


class PreforkedProcess:
    """At most one prepared process of a zygote, for its next session. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._expected: ProcessSetup | None = None
        self._last: ProcessSetup | None = None
        self._waiting: tuple[ProcessSetup, SessionProcess] | None = None
        self._blank: SessionProcess | None = None

    def __del__(self) -> None:
        self.forget()  # what a zygote left whose start was interrupted

    def keep(self, process: SessionProcess, *, grouped: bool) -> None:
        """Keep a process that was sent no setup; `grouped`, it joins a cgroup now, which can take milliseconds."""
        self._blank = process
        if grouped and not isinstance(group := cgroup.join(process.pidfd), str):
            process.group = group

    def blank(self) -> SessionProcess | None:
        """The process that was sent no setup, if there is one and it is alive."""
        with self._lock:
            blank = self._blank
            alive = blank is not None and blank.alive()
            self._blank = None
        if blank is not None and not alive:
            blank.end()
            return None
        return blank

    def take(self, setup: ProcessSetup) -> SessionProcess | None:
        """The prepared process if it is alive and has this `setup`, else None. Also notes what to prepare next."""
        taken = discarded = None
        with self._lock:
            if self._expected is None or setup == self._last:
                # Only for a setup requested twice in a row: two kinds in turn would discard each other's process.
                self._expected = setup
            self._last = setup
            if self._waiting is not None:
                waiting_for, process = self._waiting
                if waiting_for == setup and process.alive():
                    taken, self._waiting = process, None
                elif waiting_for != self._expected or not process.alive():
                    discarded, self._waiting = process, None
        if discarded is not None:
            discarded.end()
        return taken

    def prepare(self, zygote: Spawner) -> SessionProcess | None:
        """The prepared process, created now if its setup is known. Raises EnvironmentUnavailable."""
        with self._lock:
            setup = self._expected
            if self._waiting is not None or setup is None:
                return None if self._waiting is None else self._waiting[1]
        process = zygote.spawn(setup, warm=True)
        if setup.bounds is not None:
            process.group = _group(process, setup.bounds)
        with self._lock:
            if self._waiting is None and self._expected is setup and zygote.running:
                self._waiting = setup, process
                return process
        process.end()
        return None

    def processes(self) -> list[SessionProcess]:
        """Those that wait for a session: one with a setup, and one without."""
        with self._lock:
            waiting = self._waiting and self._waiting[1]
            return [process for process in (waiting, self._blank) if process is not None]

    def forget(self) -> None:
        """In a forked child of the host: close our descriptors, and leave the process alone."""
        waiting, self._waiting = self._waiting, None
        blank, self._blank = self._blank, None
        for process in (waiting and waiting[1], blank):
            if process is not None:
                process.end(alive=False)

    def clear(self) -> None:
        """Kill it: it will not be needed."""
        with self._lock:
            waiting, self._waiting, self._expected = self._waiting, None, None
            blank, self._blank = self._blank, None
        for process in (waiting and waiting[1], blank):
            if process is not None:
                process.end()


def _group(process: SessionProcess, bounds: CgroupBounds) -> cgroup.Group | None:
    """Put the process into a cgroup in advance: joining one can take milliseconds."""
    group = process.group or cgroup.join(process.pidfd)
    if isinstance(group, str):
        return None
    try:
        group.limit(bounds)
    except OSError:  # its session tries again, and reports the error
        pass
    return group
