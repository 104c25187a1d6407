"""One container: how it is created, what it may do, and how it is removed.

Guards: what a container may do, and that it ends
"""

from __future__ import annotations

import contextlib
import hashlib
import secrets
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.broker.transports import TransportLost
from rlm_secure.environments import user_ids
from rlm_secure.environments.docker import hardening
from rlm_secure.environments.docker.engine import explained
from rlm_secure.environments.docker.hardening import Offered
from rlm_secure.environments.docker.routes import NotThere, Route, archive
from rlm_secure.environments.docker.stream import ExecStream
from rlm_secure.environments.owner import is_orphan, owner
from rlm_secure.environments.remote.data_image import overhead_bytes
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.policy.model import MIB, Policy
from rlm_secure.resources import seccomp_profile

LABEL: Final = "org.rlm-secure.sandbox"
OWNER: Final = "org.rlm-secure.owner"
#: Where the bundle is: the host's directory, mounted read-only, or a volume that the engine filled.
MOUNT: Final = "/rlm"
BUNDLE: Final = "guest.zip"
#: The only writable directory.
SCRATCH: Final = "/tmp"  # noqa: S108 - a tmpfs of the container's own

#: Sockets of the supervisor: for `dial`, and for its zygote.
LISTEN: Final = f"{SCRATCH}/broker"
ZYGOTE: Final = f"{SCRATCH}/zygote"

#: Memory of supervisor, zygote and interpreter, in addition to the worker's.
OVERHEAD_BYTES: Final = 128 * MIB
#: The memory limit grows in steps of this size: a history that grows slowly does not need an update for each cell.
ROOM_BYTES: Final = 16 * MIB
#: init, supervisor, zygote, its probes, one or two dials, and runc while it starts them.
PROCESSES: Final = 24
#: File descriptors of one process: more than twice the number of contexts that are kept (guest/supervisor/uploads.py),
#: so that half of them stays free for everything else.
OPEN_FILES: Final = 256
#: First user id, and how many, where ids are mapped: such a range often ends at 16 bits.
_MAPPED_FIRST, _MAPPED = 20_000, 40_000
_REMOVE_SECONDS = 20.0
#: How long an engine that does not listen may take to be there again.
_AWAY_SECONDS = 3.0


def command(*arguments: str) -> list[str]:
    """The command line that runs the bundle."""
    return ["python3", "-I", "-S", "-B", "-X", "utf8", f"{MOUNT}/{BUNDLE}", *arguments]


def memory_bytes(policy: Policy) -> int:
    """The container's memory limit in bytes, without contexts."""
    return policy.limits.memory_bytes + overhead_bytes(OVERHEAD_BYTES, policy)


@dataclass(frozen=True, slots=True)
class Users:
    """The two user ids of one container: one for the supervisor, one for the zygote and its workers."""

    supervisor: int
    worker: int


def users(info: Mapping[str, Any]) -> Users:
    """User ids that only this container uses, outside the ranges in common use; within 16 bits where ids are mapped."""
    options = " ".join(info.get("SecurityOptions") or ())
    mapped = "name=userns" in options or "name=rootless" in options
    first = user_ids.unused(_MAPPED_FIRST, _MAPPED) if mapped else user_ids.unused()
    return Users(first, first + 1)


def file_bytes(policy: Policy) -> int:
    """Largest file, in bytes, that a process of the container may write: a context in a memfd, with its terminator."""
    return policy.limits.context_bytes + 4096


def create(
    client: Any, policy: Policy, image: str, directory: str | None, *, has: Offered, uid: int, memory: int
) -> tuple[str, tuple[str, ...]]:
    """Create (not start) a container that runs the supervisor; returns its id, and the engine's warnings.

    Only `directory` of the host is mounted in it, read-only. With None it gets an empty volume instead, for `put`.
    Raises EnvironmentUnavailable, and NotThere for an engine that does not see `directory`.
    """
    from docker.types import LogConfig, Mount, Ulimit

    processes = PROCESSES + policy.limits.processes
    host = client.api.create_host_config(
        network_mode="none",
        cap_drop=["ALL"],
        security_opt=["no-new-privileges:true", f"seccomp={seccomp_profile('docker').read_text(encoding='utf-8')}"],
        read_only=True,
        tmpfs={SCRATCH: "rw,noexec,nosuid,nodev,size=1m,nr_inodes=64,mode=1777"},
        mounts=[
            # With read_only, the engine could not fill the volume. It belongs to root, which no process in the
            # container can become.
            Mount(MOUNT, None, type="volume", no_copy=True)
            if directory is None
            else Mount(MOUNT, directory, type="bind", read_only=True, propagation="rprivate")
        ],
        ipc_mode="none",
        pids_limit=processes,
        mem_limit=memory,
        memswap_limit=memory,  # equal to mem_limit: no swap
        nano_cpus=1_000_000_000 * max(1, policy.limits.processes),
        ulimits=[
            Ulimit(name="core", soft=0, hard=0),
            Ulimit(name="nofile", soft=OPEN_FILES, hard=OPEN_FILES),
            Ulimit(name="nproc", soft=processes, hard=processes),
            Ulimit(name="memlock", soft=0, hard=0),
            Ulimit(name="fsize", soft=file_bytes(policy), hard=file_bytes(policy)),
        ],
        init=True,
        auto_remove=True,
        log_config=LogConfig(type=LogConfig.types.NONE),
        runtime=policy.isolation.docker_runtime,
    )
    hardening.add(host, has)
    with explained("create a container"), unseen(directory):
        made = client.api.create_container(
            image,
            command("supervise", "--zygote", ZYGOTE),
            entrypoint=[],
            name=f"rlm-secure-{secrets.token_hex(8)}",
            user=f"{uid}:{uid}",
            working_dir="/",
            stdin_open=True,
            labels={LABEL: "1", OWNER: owner()},
            host_config=host,
        )
    return str(made["Id"]), hardening.warnings(made)


@contextlib.contextmanager
def unseen(directory: str | None) -> Iterator[None]:
    """Raise NotThere for an engine's error inside the block that says that it does not see `directory`."""
    import docker.errors

    try:
        yield
    except docker.errors.APIError as error:
        said = str(error.explanation or error).strip()
        # Moby says "bind source path does not exist", Docker Desktop "mounts denied" and "is not shared"; these and
        # Podman all name the path.
        if directory is None or directory not in said:
            raise
        raise NotThere(f"the Docker engine does not see this host's files: {said[:300]}") from None


def put(client: Any, container: str, name: str, data: bytes) -> None:
    """Write a file into the volume of a container that is not started yet. Raises EnvironmentUnavailable."""
    with explained("take the bundle"):
        if not client.api.put_archive(container, MOUNT, archive(name, data)):
            raise EnvironmentUnavailable("the Docker engine did not take the bundle; look at its log")


def attach(client: Any, container: str) -> ExecStream:
    """Attach to the container's standard streams before it starts. Its input closes when this connection does."""
    with explained("attach to the container"):
        parameters = {"stdin": 1, "stdout": 1, "stderr": 1, "stream": 1}
        return ExecStream(client.api.attach_socket(container, params=parameters))


def start_zygote(client: Any, container: str, uid: int) -> None:
    """Start the zygote by an exec: no process in the container may change its user. Raises TransportLost."""
    program, user = command("zygote", ZYGOTE), f"{uid}:{uid}"
    try:
        made = client.api.exec_create(container, program, stdout=False, stderr=False, user=user, workdir="/")
        client.api.exec_start(made["Id"], detach=True)
    except Exception as error:  # noqa: BLE001 - the SDK, requests and urllib3 have no common base class
        raise TransportLost(f"the engine could not start a second process: {error}") from None


def dial(client: Any, container: str | None, uid: int) -> ExecStream:
    """The exec stream of a `dial` to the supervisor. Raises TransportLost: a retry may work."""
    try:
        made = client.api.exec_create(container, command("dial", LISTEN), stdin=True, user=f"{uid}:{uid}")
        return ExecStream(client.api.exec_start(made["Id"], socket=True))
    except Exception as error:  # noqa: BLE001 - as above
        raise TransportLost(f"the engine could not start an exec: {error}") from None


def state(client: Any, container: str) -> Mapping[str, Any] | None:
    """The container's state as the engine reports it; None when it is gone, or no engine answers."""
    try:
        found: Mapping[str, Any] = client.api.inspect_container(container)["State"]
    except Exception:  # noqa: BLE001 - as above; each means that the container cannot be inspected
        return None
    return found


def remove(client: Any, container: str) -> bool:
    """Kill and remove it; returns whether it is gone. Retries for 20 seconds, for 3 while no engine listens."""
    import docker.errors
    import requests

    deadline = time.monotonic() + _REMOVE_SECONDS
    listened = time.monotonic()
    while True:
        try:
            client.api.remove_container(container, force=True, v=True)
            return True
        except docker.errors.NotFound:
            return True
        except Exception as error:  # noqa: BLE001 - as above
            now = time.monotonic()
            if not isinstance(error, requests.exceptions.ConnectionError):
                listened = now
            if "already in progress" in str(error):
                with contextlib.suppress(Exception):
                    client.api.wait(container, timeout=5, condition="removed")
        if time.monotonic() > deadline or now - listened > _AWAY_SECONDS:
            return False
        time.sleep(0.1)


def sweep(client: Any) -> int:
    """Remove this machine's containers that have ended, or whose owner process has; returns how many."""
    removed = 0
    with explained("list its containers"):
        found = client.api.containers(all=True, filters={"label": LABEL})
    for each in found:
        orphan = is_orphan(each.get("Labels", {}).get(OWNER, ""))
        if orphan or each.get("State") not in ("created", "running", "paused"):
            removed += remove(client, each["Id"])
    return removed


def describe(policy: Policy, image: Any, users: Users, route: Route) -> dict[str, Any]:
    """Facts for the report, all from the host: none comes from inside the container."""
    return {
        "image": str(image.id),
        "runtime": policy.isolation.docker_runtime,
        "transport": route.transport,
        "bundle": route.bundle,
        "uid": users.supervisor,
        "worker_uid": users.worker,
        "seccomp_profile": hashlib.sha256(seccomp_profile("docker").read_bytes()).hexdigest(),
    }
