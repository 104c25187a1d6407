"""The lease of a running sandbox, the configuration of its supervisor, and the report of its walls."""

from __future__ import annotations

import json
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rlm_secure.broker.client import BrokerClient
from rlm_secure.broker.protocol import Findings
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.signed import Around
from rlm_secure.broker.transports import Stored
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.seccomp import compile_profile
from rlm_secure.guarantees import EnforcementReport, Level, Wall, WallStatus, language_wall
from rlm_secure.loggers import logger
from rlm_secure.policy.model import Policy

_log = logger("rlm_secure.broker")

#: From the weakest to the strongest.
_STRENGTH: Final = (Level.NONE, Level.PARTIAL, Level.VENDOR, Level.FULL)
#: Walls that the host itself builds, for each session: nothing in a sandbox can affect their report.
_OF_THE_HOST: Final = frozenset({Wall.LANGUAGE, Wall.WALL_CLOCK, Wall.OUTPUT_CAP})


class Lease(ABC):
    """A running sandbox with a supervisor in it, as an environment hands it to a session."""

    environment: str
    client: BrokerClient
    found: EnforcementReport | None = None
    """The walls of the supervisor's first report, made before any untrusted code ran, without those that a later
    report withdrew."""

    @abstractmethod
    def walls(self, around: Around) -> Iterable[WallStatus]:
        """The walls around the supervisor, judged by the results of its own tests (`around`)."""

    @property
    @abstractmethod
    def details(self) -> Mapping[str, Any]:
        """Facts for the report: image, runtime, transport."""

    def make_room(self, size: int) -> None:  # noqa: B027 - most places have nothing to do
        """Give the sandbox memory for `size` bytes of contexts in total."""

    def stored(self, data: memoryview) -> Iterator[Stored | None] | None:  # noqa: ARG002 - most places have no other way
        """The chunks of a context, put into files of the sandbox one by one; None where the stream carries them."""
        return None

    @abstractmethod
    def kill(self) -> None:
        """End the sandbox at once. Idempotent, thread-safe, never raises."""

    @abstractmethod
    def exit_reason(self) -> str:
        """Why the sandbox is gone, in a few words, as far as known."""

    @abstractmethod
    def close(self) -> None:
        """End the sandbox and everything that was made for it. Idempotent."""

    def release(self) -> None:
        """As `close`, after a session without problems: the environment may keep the sandbox for another session."""
        self.close()


def start_configuration(
    key: SessionKey,
    policy: Policy,
    *,
    listen: str | tuple[str, int] | None = None,
    connect: str | None = None,
    arch: str | None = None,
    watch_stdin: bool = True,
    namespaces: bool = True,
    seccomp: bool = True,
    landlock: bool = True,
    uid: int = 65534,
    supervisor_uid: int | None = None,
    masked: Sequence[str] = (),
    readonly: Sequence[str] = (),
    idle_seconds: float = 3600.0,
) -> bytes:
    """The first line that a supervisor reads. Contains the key: send it only where nothing is stored.

    `arch` is the sandbox's machine ("x86_64", "aarch64"; the host's own by default). `uid` is what the zygote changes
    to if it starts as root, or already has if it is a separate program; `supervisor_uid` is what the supervisor changes
    to if it starts as root. `masked` and `readonly` are paths that must show nothing, or refuse writes, which is
    tested. Walls are switched off in tests of single walls only.
    """
    return (
        json.dumps(
            {
                "version": 1,
                "key": key.hex(),
                "listen": listen,
                "connect": connect,
                "watch_stdin": watch_stdin,
                "idle_seconds": idle_seconds,
                "grace_seconds": policy.limits.grace_seconds,
                "context_bytes": policy.limits.context_bytes,
                "uid": uid,
                "masked": list(masked),
                "readonly": list(readonly),
                "namespaces": namespaces,
                "landlock": landlock,
                "mdwe": True,
                "packages": {"names": policy.language.packages, "paths": None},
                "profiles": {"worker": compile_profile("worker", arch=arch).hex() if seccomp else None},
                "supervisor": {
                    "uid": supervisor_uid,
                    "landlock": landlock,
                    "filter": compile_profile("supervisor", arch=arch).hex() if seccomp else None,
                },
            }
        ).encode("ascii")
        + b"\n"
    )


def log_refusals(name: str, refused: int) -> None:
    """Log that a broker refused requests: only the host should talk to it."""
    _log.warning("the broker of %s has refused %d requests; something in there tries to speak to it", name, refused)


def report(
    lease: Lease,
    booted: Findings,
    sealed: Findings,
    outer: tuple[WallStatus, ...],
    details: Mapping[str, Any],
    *,
    screen: bool,
    packages: tuple[str, ...] = (),
) -> EnforcementReport:
    """The walls inside, as zygote and worker tested them before any untrusted byte, and those around the sandbox.

    `packages` are those of third parties in the zygote.

    If the lease already has a report, that one is kept, see `kept`.
    """
    walls: dict[Wall, WallStatus] = {}
    for wall in Wall:
        entries = [source[wall] for source in (booted, sealed) if wall in source]
        if entries:
            level = Level.FULL if all(entry[0] == "full" for entry in entries) else Level.NONE
            walls[wall] = WallStatus(wall, level, "; ".join(dict.fromkeys(entry[1] for entry in entries)))
    own = (
        language_wall(screen=screen, packages=packages),
        WallStatus(
            Wall.WALL_CLOCK, Level.FULL, "the host's clock; the supervisor kills by pidfd, the host the sandbox"
        ),
        WallStatus(
            Wall.OUTPUT_CAP, Level.FULL, "capped in the worker, its frames by the supervisor, and again by the host"
        ),
    )
    walls.update((status.wall, status) for status in own)
    for status in outer:
        if status.wall not in walls or not walls[status.wall].enforced:
            walls[status.wall] = status
    facts = {**details, **lease.details, "bundle_sha256": bundle().sha256}
    found = EnforcementReport(lease.environment, tuple(walls[wall] for wall in Wall if wall in walls), facts)
    lease.found = found if lease.found is None else kept(lease.found, found, lease.details)
    return lease.found


def kept(first: EnforcementReport, later: EnforcementReport, details: Mapping[str, Any]) -> EnforcementReport:
    """`first`, with the current `details` of the lease.

    A supervisor's `later` report, after a recovery or for another session, comes from a sandbox in which untrusted code
    has run: it can lower a wall's level, and never raise it. The host's own walls are those of `later`.
    """
    walls = list(first.walls)
    for index, before in enumerate(walls):
        again = later[before.wall]
        if before.wall in _OF_THE_HOST:
            walls[index] = again
        elif _STRENGTH.index(again.level) < _STRENGTH.index(before.level):
            evidence = f"{before.evidence}; after untrusted code had run: {again.evidence}"
            walls[index] = WallStatus(before.wall, again.level, evidence)
    return replace(first, walls=tuple(walls), details={**first.details, **details})
