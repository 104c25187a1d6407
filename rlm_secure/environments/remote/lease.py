"""A running sandbox as an environment hands it to a session, the supervisor's start, and what holds around it."""

from __future__ import annotations

import json
import logging
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from rlm_secure.broker.client import BrokerClient
from rlm_secure.broker.protocol import Findings
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.signed import Around
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.local.seccomp import compile_profile
from rlm_secure.guarantees import EnforcementReport, Level, Wall, WallStatus
from rlm_secure.policy.model import Policy

_log = logging.getLogger("rlm_secure.broker")

#: From the weakest to the strongest.
_STRENGTH: Final = (Level.NONE, Level.PARTIAL, Level.VENDOR, Level.FULL)
#: Walls that the host itself is, in each session anew: nobody in a sandbox has a word about them.
_OF_THE_HOST: Final = frozenset({Wall.LANGUAGE, Wall.WALL_CLOCK, Wall.OUTPUT_CAP})


class Lease(ABC):
    """A running sandbox with a supervisor in it, as an environment hands it to a session."""

    environment: str
    client: BrokerClient
    found: EnforcementReport | None = None
    """What held when the supervisor was asked for the first time, before any untrusted code was there, less what it
    took back since."""

    @abstractmethod
    def walls(self, around: Around) -> Iterable[WallStatus]:
        """The walls around the supervisor, judged by what it found when it tried (`around`)."""

    @property
    @abstractmethod
    def details(self) -> Mapping[str, Any]:
        """Facts for the report: image, runtime, transport."""

    def make_room(self, size: int) -> None:  # noqa: B027 - most places have nothing to do
        """Let the sandbox hold `size` bytes of contexts in all."""

    @abstractmethod
    def kill(self) -> None:
        """End the sandbox at once. Idempotent, thread-safe, never raises."""

    @abstractmethod
    def exit_reason(self) -> str:
        """Why the sandbox is gone, in a few words, as far as the place knows."""

    @abstractmethod
    def close(self) -> None:
        """End the sandbox and everything that was made for it. Idempotent."""

    def release(self) -> None:
        """As `close`, after a session in which nothing was out of order: a place may keep the sandbox for another."""
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
    """The one line that a supervisor reads before anything else. Holds the key: it goes where nothing is kept.

    `arch` is the sandbox's machine ("x86_64", "aarch64"; the host's own by default). `uid` is what the zygote
    becomes where it starts as root, or has where it comes by itself; `supervisor_uid` what the supervisor becomes
    where it starts as root. `masked` and `readonly` are paths that show nothing, or
    cannot be written to, which is tried. Walls are switched off in tests of single walls only.
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
    """A broker refused something to somebody: nobody but the host should have spoken to it."""
    _log.warning("the broker of %s has refused %d requests; something in there tries to speak to it", name, refused)


def report(
    lease: Lease,
    booted: Findings,
    sealed: Findings,
    outer: tuple[WallStatus, ...],
    details: Mapping[str, Any],
    *,
    screen: bool,
) -> EnforcementReport:
    """The walls inside, found by zygote and worker before any untrusted byte, and those around the sandbox.

    Where the lease has such a report already, that is kept, see `kept`.
    """
    walls: dict[Wall, WallStatus] = {}
    for wall in Wall:
        entries = [source[wall] for source in (booted, sealed) if wall in source]
        if entries:
            level = Level.FULL if all(entry[0] == "full" for entry in entries) else Level.NONE
            walls[wall] = WallStatus(wall, level, "; ".join(dict.fromkeys(entry[1] for entry in entries)))
    said = "cells are compiled by RestrictedPython" if screen else "switched off for a test"
    own = (
        WallStatus(Wall.LANGUAGE, Level.FULL if screen else Level.NONE, said),
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
    """`first`, with the `details` of the place as they are.

    What a supervisor says of walls `later`, after a recovery or for another session, comes from where untrusted code
    has run: it can take from them, and add nothing. What the host does by itself is as it is in `later`.
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
