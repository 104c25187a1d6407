"""The routes into a container: how the bundle gets there, and which transport carries the host's requests.

An engine on this machine sees this host's files and passes its sockets. Others do not: a remote DOCKER_HOST, a CI job
that is itself a container, Docker Desktop. The first session finds out by trying, and the result is remembered.
"""

from __future__ import annotations

import io
import sys
import tarfile
import threading
from dataclasses import dataclass
from typing import Final, Literal

from rlm_secure.errors import EnvironmentUnavailable

Wanted = Literal["auto", "unix", "exec"]

#: Runtimes that share the host's kernel, and therefore its Unix sockets.
SHARED_KERNEL: Final = frozenset({"runc", "crun", "io.containerd.runc.v2", "youki"})


@dataclass(frozen=True, slots=True)
class Route:
    """`bundle`: in a mounted directory of the host ("mount"), or uploaded by the engine's API ("engine").
    `transport`: a socket in that directory ("unix"), or the exec stream of the engine ("exec")."""

    bundle: Literal["mount", "engine"]
    transport: Literal["unix", "exec"]


class NotThere(EnvironmentUnavailable):
    """The engine or the container does not see the host's directory: another route may work."""


def possible(transport: Wanted, runtime: str) -> tuple[Route, ...]:
    """The routes that `transport` permits, in the order to try them. A socket needs a mounted directory."""
    near = Route("mount", "unix" if runtime in SHARED_KERNEL else "exec")
    far = Route("engine", "exec")
    if transport == "auto" and sys.platform != "linux":  # the engine is in a virtual machine, or on another one
        return (far,)
    return {"auto": (near, far), "unix": (Route("mount", "unix"),), "exec": (Route("mount", "exec"), far)}[transport]


class KnownRoutes:
    """The route that worked last, by engine id, runtime and requested transport. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: dict[tuple[str, str, Wanted], Route] = {}

    def ordered(self, engine: str, runtime: str, wanted: Wanted) -> tuple[Route, ...]:
        """`possible`, with the route that worked last first."""
        routes = possible(wanted, runtime)
        with self._lock:
            first = self._known.get((engine, runtime, wanted))
        return routes if first is None else (first, *(route for route in routes if route != first))

    def keep(self, engine: str, runtime: str, wanted: Wanted, route: Route) -> None:
        """Remember that `route` worked; not for an engine without an id, which may be another one the next time."""
        if engine:
            with self._lock:
                self._known[engine, runtime, wanted] = route


def archive(name: str, data: bytes) -> bytes:
    """A tar with one file, owned by root and readable by all; our containers never run as root."""
    entry = tarfile.TarInfo(name)
    entry.size = len(data)
    entry.mode = 0o444
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        tar.addfile(entry, io.BytesIO(data))
    return buffer.getvalue()
