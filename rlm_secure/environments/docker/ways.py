"""The ways into a container: how the bundle gets in there, and what carries the host's requests.

An engine on this machine sees this host's files and passes its sockets. One elsewhere does not: a remote DOCKER_HOST, a
CI job that is itself a container, Docker Desktop. Which it is, is tried with the first session, and remembered.
"""

from __future__ import annotations

import io
import tarfile
import threading
from dataclasses import dataclass
from typing import Final, Literal

from rlm_secure.errors import EnvironmentUnavailable

Wanted = Literal["auto", "unix", "exec"]

#: Runtimes that share the host's kernel, and with it its Unix sockets.
SHARED_KERNEL: Final = frozenset({"runc", "crun", "io.containerd.runc.v2", "youki"})


@dataclass(frozen=True, slots=True)
class Way:
    """`bundle`: in a directory of the host that is mounted ("mount"), or by the engine's API ("engine").
    `transport`: a socket in that directory ("unix"), or the exec stream of the engine ("exec")."""

    bundle: Literal["mount", "engine"]
    transport: Literal["unix", "exec"]


class NotThere(EnvironmentUnavailable):
    """The engine, or the container, does not see what this host put into its directory: another way may work."""


def possible(transport: Wanted, runtime: str) -> tuple[Way, ...]:
    """The ways that a caller's choice leaves, in the order to try them. A socket needs a mounted directory."""
    near = Way("mount", "unix" if runtime in SHARED_KERNEL else "exec")
    far = Way("engine", "exec")
    return {"auto": (near, far), "unix": (Way("mount", "unix"),), "exec": (Way("mount", "exec"), far)}[transport]


class Memory:
    """Which way led into an engine's containers, by the engine's id, the runtime and what was wanted. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, Wanted], Way] = {}

    def ordered(self, engine: str, runtime: str, wanted: Wanted) -> tuple[Way, ...]:
        """`possible`, with the way that led in the last time first."""
        ways = possible(wanted, runtime)
        with self._lock:
            first = self._known.get((engine, runtime, wanted))
        return ways if first is None else (first, *(way for way in ways if way != first))

    def keep(self, engine: str, runtime: str, wanted: Wanted, way: Way) -> None:
        """`way` led in. An engine that does not say who it is may be another one the next time."""
        if engine:
            with self._lock:
                self._known[engine, runtime, wanted] = way


def archive(name: str, data: bytes) -> bytes:
    """A tar with one file that is readable by all and owned by root, which none of our containers runs as."""
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = 0o444
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
