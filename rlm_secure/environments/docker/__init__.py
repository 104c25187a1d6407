"""The docker environment: a container without network, capabilities or a writable root, and a sealed worker in it.

Two transports. `unix`: the supervisor connects to a socket of the host, in a directory that is mounted read-only in
the container. `exec`: the exec stream of the engine, through `dial`, for runtimes that pass no host sockets (gVisor,
Kata), and for engines that do not see this host's files (routes.py). The container ends when the host process does:
its standard input closes.
"""

from __future__ import annotations

import atexit
import os
import platform
import time
import weakref
from collections.abc import Iterator, Mapping
from typing import Any

from rlm_secure.broker.client import BrokerClient, Declined, Lost
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.signed import Around
from rlm_secure.broker.transports import BadResponse, Transport, TransportLost
from rlm_secure.broker.transports.stdio import StdioTransport
from rlm_secure.broker.transports.uds import SOCKET_NAME, UnixTransport
from rlm_secure.broker.transports.uds import sweep as sweep_sockets
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.docker import container, engine, hardening
from rlm_secure.environments.docker.image import DEFAULT_IMAGE, build
from rlm_secure.environments.docker.routes import SHARED_KERNEL, KnownRoutes, NotThere, Route, Wanted
from rlm_secure.environments.docker.stream import ExecStream
from rlm_secure.environments.interface import Environment, Session
from rlm_secure.environments.remote import Lease, RemoteSession, log_refusals, start_configuration
from rlm_secure.environments.remote.data_image import image_name, needed
from rlm_secure.errors import EnvironmentUnavailable, ProtocolViolation
from rlm_secure.guarantees import Level, Wall, WallStatus
from rlm_secure.loggers import logger
from rlm_secure.policy.model import Policy

_log = logger("rlm_secure.docker")


#: How long a container may be unreachable; usually there is no network in between.
_PATIENCE_SECONDS = 10.0
_MACHINES = {"amd64": "x86_64", "arm64": "aarch64"}


class DockerEnvironment(Environment):
    """Sessions in containers of a Docker engine, on this machine or elsewhere.

    `image` is the sandbox image (default: what `rlm-secure sandbox build docker` builds, with `--policy data` where the
    policy gives packages to cells); `base_url` the engine (DOCKER_HOST
    by default); `transport` "unix" or "exec", by default the one that works with that engine and runtime.
    """

    name = "docker"

    def __init__(
        self,
        image: str | None = None,
        base_url: str | None = None,
        transport: Wanted = "auto",
    ) -> None:
        if transport not in ("auto", "unix", "exec"):
            raise ValueError(f"transport is 'auto', 'unix' or 'exec', not {transport!r}")
        self._image = image
        self._base_url = base_url
        self._transport: Wanted = transport

    def open(
        self,
        policy: Policy,
        *,
        tools: Mapping[str, str] | None = None,
    ) -> Session:
        """Start a sealed session in a container of its own. See Environment.open."""
        return self.session(policy, tools=tools)

    def session(
        self,
        policy: Policy,
        *,
        tools: Mapping[str, str] | None = None,
        screen: bool = True,
        required: tuple[Wall, ...] | None = None,
    ) -> RemoteSession:
        """As `open`; `screen=False` and `required` are for tests and audits."""
        image = self._image or image_name(DEFAULT_IMAGE, packages=needed(policy))

        def lease(_: object = None) -> DockerLease:
            return DockerLease(engine.connect(self._base_url), policy, image, self._transport)

        return RemoteSession(lease(), policy, tools=tools, screen=screen, required=required, another=lease)

    def sweep(self) -> int:
        """Remove containers and socket directories of host processes that have ended. Returns how many."""
        client = engine.connect(self._base_url)
        try:
            return container.sweep(client) + sweep_sockets()
        finally:
            client.close()


class DockerLease(Lease):
    """One running container with a supervisor in it. Raises EnvironmentUnavailable when it cannot be started."""

    environment = "docker"

    def __init__(self, client: Any, policy: Policy, image: str, transport: Wanted) -> None:
        self._engine = client
        self._policy = policy
        self._owner = os.getpid()
        self._id: str | None = None
        self._stream: ExecStream | None = None
        self._unix: UnixTransport | None = None
        self._memory = container.memory_bytes(policy)
        if policy.isolation.docker_runtime not in SHARED_KERNEL:
            self._memory += policy.limits.context_bytes
        try:
            self._find_route(image, transport)
        except BaseException:  # Ctrl-C as well: the container must not outlive it
            self.close()
            raise
        _leases.add(self)

    def _find_route(self, name: str, transport: Wanted) -> None:
        """Start a container by the first route that works."""
        runtime = self._policy.isolation.docker_runtime
        info = engine.describe(self._engine)
        engine.runtime(info, runtime)
        image = engine.image(self._engine, name, packages=needed(self._policy))
        self._has = hardening.offered(self._engine, info)
        self._engine_kernel = info.get("KernelVersion")
        identity = str(info.get("ID") or "")
        *others, last = _routes.ordered(identity, runtime, transport)
        for route in (*others, last):
            try:
                self._start(image, route, container.users(info))
            except NotThere as error:
                if route is last:
                    advice = "; use the transport 'exec'" if transport == "unix" else ""
                    raise EnvironmentUnavailable(f"{error}{advice}") from None
                _log.info("the engine cannot be used with %s: %s", route, error)
                self._let_go()
            else:
                _routes.keep(identity, runtime, transport, route)
                return

    def _start(self, image: Any, route: Route, users: container.Users) -> None:
        runtime = self._policy.isolation.docker_runtime
        dialled = route.transport == "exec"
        key = SessionKey()
        directory = None
        if route.bundle == "mount":
            self._unix = UnixTransport({container.BUNDLE: bundle().data})
            directory = self._unix.directory
        uid = users.supervisor
        self._id, discarded = container.create(
            self._engine, self._policy, image.id, directory, has=self._has, uid=uid, memory=self._memory
        )
        if directory is None:
            container.put(self._engine, self._id, container.BUNDLE, bundle().data)
        self._stream = container.attach(self._engine, self._id)
        with engine.explained(f"start the container with the runtime {runtime}"), container.unseen(directory):
            self._engine.api.start(self._id)
        configuration = start_configuration(
            key,
            self._policy,
            listen=container.LISTEN if dialled else None,
            connect=None if dialled else f"{container.MOUNT}/{SOCKET_NAME}",
            arch=_MACHINES.get(image.attrs.get("Architecture", "")),
            uid=users.worker,
            masked=hardening.MASKED,
            readonly=hardening.READONLY,
        )
        deadline = time.monotonic() + self._policy.limits.start_seconds
        try:
            self._stream.write(configuration, deadline)
            container.start_zygote(self._engine, self._id, users.worker)
            if dialled or self._unix is None:
                self._stream.read(deadline)  # the supervisor reports that it listens
                carrier: Transport = StdioTransport(lambda _: container.dial(self._engine, self._id, uid))
            else:
                carrier = self._unix
            self.client = BrokerClient(
                carrier,
                key,
                frame_bytes=self._policy.limits.result_bytes,
                alive=self._running,
                patience=_PATIENCE_SECONDS,
                refusals=lambda refused: log_refusals(f"container {(self._id or '')[:12]}", refused),
            )
            self.client.health(seconds=max(deadline - time.monotonic(), 1.0))
        except (TransportLost, BadResponse, Lost, Declined, TimeoutError, ProtocolViolation) as error:
            said = self._stream.last_words(0.2)
            # The engine may have mounted a directory of another machine, or one that passes no sockets.
            elsewhere = self._unix is not None and not self._unix.reached and not self._running()
            unheard = NotThere if elsewhere else EnvironmentUnavailable
            raise unheard(
                f"the sandbox did not answer: {error}; {self.exit_reason()}" + (f"; it said: {said}" if said else "")
            ) from None
        self._taken = hardening.recorded(self._engine, self._id, discarded)
        self._details = {
            **container.describe(self._policy, image, users, route),
            **self._taken.details,
            "engine": engine.carrier(self._engine),
        }

    def walls(self, around: Around) -> Iterator[WallStatus]:
        """The container's walls: full only where the supervisor's attempts were refused."""
        runtime = self._policy.isolation.docker_runtime
        held = {
            "root read-only": around.write_root in ("EROFS", "EACCES"),
            "sysctl read-only": around.write_sysctl not in ("won", None),
            "no capabilities": around.capabilities == "0" * 16 == around.bounding,
            "not root": around.uid not in (0, None),
        }
        if runtime in SHARED_KERNEL:
            held["no_new_privs"] = around.no_new_privs == 1
            held["seccomp"] = around.seccomp == 2
            held.update(hardening.found(self._has, around, self._taken))
        else:
            host = (platform.release(), self._engine_kernel, None)  # kernels of this machine and of the engine's
            held["a kernel of its own"] = around.kernel not in host
        level = Level.FULL if all(held.values()) else Level.PARTIAL
        tried = ", ".join(f"{what}: {'yes' if yes else 'NO'}" for what, yes in held.items())
        tried += hardening.told(self._has, around, self._taken)
        yield WallStatus(Wall.CONTAINER, level, f"{runtime}; {tried}")
        reached, interfaces = around.connect, around.interfaces
        quiet = bool(reached) and not {"won", "timeout"} & set((reached or {}).values())
        alone = interfaces is not None and set(interfaces) <= {"lo", "sit0", "tunl0", "ip6tnl0"}
        level = Level.FULL if quiet and alone else Level.NONE
        tried = ", ".join(f"{where}: {how}" for where, how in (reached or {}).items())
        evidence = f"network none; interfaces {', '.join(interfaces or ())}; connecting: {tried}"[:300]
        yield WallStatus(Wall.NETWORK_NAMESPACE, level, evidence)
        memory = around.memory_bytes
        bounded = memory is not None and memory <= self._memory and around.processes is not None
        evidence = f"memory {around.memory_max}, pids {around.pids_max}"
        yield WallStatus(Wall.CGROUP, Level.FULL if bounded else Level.NONE, evidence)
        yield WallStatus(Wall.IPC_NAMESPACE, Level.FULL, "the container's own, without /dev/shm")
        shared = "the container's own; the worker shares it with the supervisor"
        yield WallStatus(Wall.PID_NAMESPACE, Level.PARTIAL, shared)
        yield WallStatus(Wall.MOUNT_NAMESPACE, Level.PARTIAL, shared)

    @property
    def details(self) -> Mapping[str, Any]:
        """Image, runtime, transport, source of the bundle, user ids, connection to the engine, accepted hardening."""
        return self._details

    def make_room(self, size: int) -> None:
        """Raise the container's memory limit where contexts of `size` bytes need it. It is never lowered."""
        if self._policy.isolation.docker_runtime not in SHARED_KERNEL:
            return  # these runtimes cannot change a limit later: the first one has room for the largest context
        memory = container.memory_bytes(self._policy) + size + -size % container.ROOM_BYTES
        if memory <= self._memory:
            return
        with engine.explained("raise the container's memory limit"):
            self._engine.api.update_container(self._id, mem_limit=memory, memswap_limit=memory)
        self._memory = memory

    def kill(self) -> None:
        """Kill and remove the container."""
        if self._id is not None and os.getpid() == self._owner and not container.remove(self._engine, self._id):
            _log.warning("container %s could not be removed; `sweep` will", self._id[:12])

    def exit_reason(self) -> str:
        """Why the container does not answer, as far as the engine knows."""
        state = container.state(self._engine, self._id) if self._id is not None else None
        if state is None:
            return "its container is gone"
        if state.get("OOMKilled"):
            return "its container ran out of memory"
        if state.get("Paused"):
            return "its container is paused"
        if state.get("Running"):
            return "its container runs, but does not answer"
        return f"its container ended with status {state.get('ExitCode')}"

    def close(self) -> None:
        """Remove the container and its directory. In a forked child, leave both and the connections to the parent."""
        _leases.discard(self)
        if os.getpid() != self._owner:
            return
        self._let_go()
        self._engine.close()

    def _let_go(self) -> None:
        """Remove the container and release its connections and directory. Idempotent."""
        self.kill()
        self._id = None
        client = getattr(self, "client", None)
        if client is not None:
            client.close()
        if self._stream is not None:
            self._stream.close()
        if self._unix is not None:
            self._unix.close()

    def _running(self) -> bool:
        state = container.state(self._engine, self._id) if self._id is not None else None
        return state is not None and bool(state.get("Running"))


_routes = KnownRoutes()
_leases: weakref.WeakSet[DockerLease] = weakref.WeakSet()


@atexit.register
def _close_all() -> None:
    for lease in list(_leases):
        lease.close()


__all__ = ["DEFAULT_IMAGE", "DockerEnvironment", "DockerLease", "build"]
