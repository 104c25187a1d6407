"""The ways into a container: how the bundle gets there, and which transport carries the host's requests.

An engine on this machine sees this host's files and passes its sockets. Others do not: a remote DOCKER_HOST, a CI job
that is itself a container, Docker Desktop. The first session finds out by trying, and the result is remembered.
"""

from __future__ import annotations

import io
import tarfile
import threading
from dataclasses import dataclass
from typing import Final, Literal

from rlm_secure.errors import EnvironmentUnavailable

Wanted = Literal["auto", "unix", "exec"]

#: Runtimes that share the host's kernel, and therefore its Unix sockets.
SHARED_KERNEL: Final = frozenset({"runc", "crun", "io.containerd.runc.v2", "youki"})


@dataclass(frozen=True, slots=True)
class Way:
    """`bundle`: in a mounted directory of the host ("mount"), or uploaded by the engine's API ("engine").
    `transport`: a socket in that directory ("unix"), or the exec stream of the engine ("exec")."""

    bundle: Literal["mount", "engine"]
    transport: Literal["unix", "exec"]


class NotThere(EnvironmentUnavailable):
    """The engine or the container does not see the host's directory: another way may work."""


def possible(transport: Wanted, runtime: str) -> tuple[Way, ...]:
    """The ways that `transport` permits, in the order to try them. A socket needs a mounted directory."""
    near = Way("mount", "unix" if runtime in SHARED_KERNEL else "exec")
    far = Way("engine", "exec")
    return {"auto": (near, far), "unix": (Way("mount", "unix"),), "exec": (Way("mount", "exec"), far)}[transport]


class Memory:
    """The way that worked last, by engine id, runtime and requested transport. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, Wanted], Way] = {}

    def ordered(self, engine: str, runtime: str, wanted: Wanted) -> tuple[Way, ...]:
        """`possible`, with the way that worked last first."""
        ways = possible(wanted, runtime)
        with self._lock:
            first = self._known.get((engine, runtime, wanted))
        return ways if first is None else (first, *(way for way in ways if way != first))

    def keep(self, engine: str, runtime: str, wanted: Wanted, way: Way) -> None:
        """Remember that `way` worked; not for an engine without an id, which may be another one the next time."""
        if engine:
            with self._lock:
                self._known[engine, runtime, wanted] = way


def archive(name: str, data: bytes) -> bytes:
    """A tar with one file, owned by root and readable by all; our containers never run as root."""
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = 0o444
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
