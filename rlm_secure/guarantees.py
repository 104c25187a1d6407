"""What rlm_secure promises, and how far an environment keeps each promise.

A `Wall` is one mechanism; a `Guarantee` is what the user gets; an `EnforcementReport` is what was
achieved, found by trying, never by asking. threat-model.md states each guarantee, `doctor` prints the
report, and a test checks that the three agree.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from rlm_secure.inert import inert_line


class Guarantee(StrEnum):
    """The promises. The value is the id used in threat-model.md, attacks and findings."""

    NO_HOST_FILES = "no-host-files"
    NO_NETWORK = "no-network"
    NO_EXEC = "no-exec"
    NO_SECRETS = "no-secrets"
    BOUNDED_TIME = "bounded-time"
    BOUNDED_MEMORY = "bounded-memory"
    BOUNDED_PROCESSES = "bounded-processes"
    BOUNDED_OUTPUT = "bounded-output"
    BOUNDED_SPEND = "bounded-spend"
    NO_LEFTOVERS = "no-leftovers"
    HOST_INTEGRITY = "host-integrity"
    AUTHENTIC_CHANNEL = "authentic-channel"
    NO_REFLECTION = "no-reflection"
    SESSION_ISOLATION = "session-isolation"


class Wall(StrEnum):
    """The mechanisms, from inside out. The value is the name used in policies and reports."""

    LANGUAGE = "language"
    SEPARATE_PROCESS = "separate-process"
    EMPTY_ENVIRONMENT = "empty-environment"
    NO_INHERITED_FDS = "no-inherited-fds"
    USER_NAMESPACE = "user-namespace"
    MOUNT_NAMESPACE = "mount-namespace"
    EMPTY_ROOT = "empty-root"
    PID_NAMESPACE = "pid-namespace"
    NETWORK_NAMESPACE = "network-namespace"
    IPC_NAMESPACE = "ipc-namespace"
    UNPRIVILEGED_UID = "unprivileged-uid"
    NO_CAPABILITIES = "no-capabilities"
    NO_NEW_PRIVS = "no-new-privs"
    NOT_DUMPABLE = "not-dumpable"
    MDWE = "memory-deny-write-execute"
    LANDLOCK = "landlock"
    SECCOMP = "seccomp"
    RLIMITS = "rlimits"
    CGROUP = "cgroup"
    WALL_CLOCK = "wall-clock"
    OUTPUT_CAP = "output-cap"
    SEPARATE_UID = "separate-uid"
    SEALED_SUPERVISOR = "sealed-supervisor"
    CONTAINER = "container"
    PROVIDER_VM = "provider-vm"
    PROVIDER_NETWORK_BLOCK = "provider-network-block"


class Level(StrEnum):
    """How far a wall or a guarantee holds."""

    FULL = "full"
    PARTIAL = "partial"
    NONE = "none"
    VENDOR = "vendor's word"


@dataclass(frozen=True, slots=True)
class WallStatus:
    """One wall of one session.

    `evidence` says what was tried and what happened ("unshare(NEWUSER) succeeded", "ABI 7, deny-all ruleset"), as one
    inert line.
    """

    wall: Wall
    """The wall."""
    level: Level
    """How far it holds."""
    evidence: str

    def __post_init__(self) -> None:
        object.__setattr__(self, "evidence", inert_line(self.evidence))

    @property
    def enforced(self) -> bool:
        """True when the wall holds completely."""
        return self.level is Level.FULL


#: What to do where a policy requires a language wall that is full.
WITHOUT_PACKAGES = "take the third-party packages out of language.modules"


def language_wall(*, screen: bool, packages: tuple[str, ...] = ()) -> WallStatus:
    """The state of the language wall: `packages` are those of third parties that its cells can import."""
    if not screen:
        return WallStatus(Wall.LANGUAGE, Level.NONE, "switched off for a test")
    said = "cells are compiled by RestrictedPython"
    if not packages:
        return WallStatus(Wall.LANGUAGE, Level.FULL, said)
    more = f"the C code of {', '.join(packages)}, which nobody reviewed for it, works on what cells pass to it"
    return WallStatus(Wall.LANGUAGE, Level.PARTIAL, f"{said}; {more}")


#: Which walls a guarantee rests on: it is full when every wall of one alternative is full.
RESTS_ON: Mapping[Guarantee, tuple[frozenset[Wall], ...]] = {
    Guarantee.NO_HOST_FILES: (
        frozenset({Wall.EMPTY_ROOT, Wall.SECCOMP}),
        frozenset({Wall.LANDLOCK, Wall.SECCOMP}),
    ),
    Guarantee.NO_NETWORK: (
        frozenset({Wall.NETWORK_NAMESPACE, Wall.SECCOMP}),
        frozenset({Wall.PROVIDER_NETWORK_BLOCK, Wall.SECCOMP}),
        frozenset({Wall.SECCOMP}),
    ),
    Guarantee.NO_EXEC: (frozenset({Wall.SECCOMP, Wall.RLIMITS}),),
    Guarantee.NO_SECRETS: (frozenset({Wall.EMPTY_ENVIRONMENT, Wall.NO_INHERITED_FDS, Wall.SEPARATE_PROCESS}),),
    Guarantee.BOUNDED_TIME: (frozenset({Wall.WALL_CLOCK, Wall.RLIMITS}),),
    Guarantee.BOUNDED_MEMORY: (frozenset({Wall.RLIMITS, Wall.SECCOMP}), frozenset({Wall.CGROUP})),
    Guarantee.BOUNDED_PROCESSES: (frozenset({Wall.RLIMITS, Wall.SECCOMP}), frozenset({Wall.CGROUP})),
    Guarantee.BOUNDED_OUTPUT: (frozenset({Wall.OUTPUT_CAP}),),
    Guarantee.BOUNDED_SPEND: (frozenset({Wall.SEPARATE_PROCESS}),),
    Guarantee.NO_LEFTOVERS: (
        frozenset({Wall.PID_NAMESPACE, Wall.EMPTY_ROOT}),
        frozenset({Wall.RLIMITS, Wall.SECCOMP}),
    ),
    Guarantee.HOST_INTEGRITY: (frozenset({Wall.SEPARATE_PROCESS, Wall.OUTPUT_CAP}),),
    Guarantee.AUTHENTIC_CHANNEL: (frozenset({Wall.SEPARATE_PROCESS, Wall.NO_INHERITED_FDS}),),
    Guarantee.NO_REFLECTION: (frozenset({Wall.LANGUAGE}),),
    Guarantee.SESSION_ISOLATION: (
        frozenset({Wall.SEPARATE_PROCESS, Wall.SECCOMP, Wall.LANDLOCK}),
        frozenset({Wall.SEPARATE_PROCESS, Wall.SECCOMP, Wall.PID_NAMESPACE}),
    ),
}


@dataclass(frozen=True, slots=True)
class EnforcementReport:
    """The walls in force around one session.

    `environment` is the name of the environment, `walls` one status per wall that was tried, `details` a closed
    set of facts that the host chose (kernel, Landlock ABI, bundle sha256, start milliseconds). `spend` is how far the
    policy limits what a run costs, which no wall does. Nothing in a report comes from untrusted code.
    """

    environment: str
    walls: tuple[WallStatus, ...]
    details: Mapping[str, Any] = field(default_factory=dict)
    spend: Level = Level.FULL

    def __getitem__(self, wall: Wall) -> WallStatus:
        for status in self.walls:
            if status.wall == wall:
                return status
        return WallStatus(wall, Level.NONE, "not tried in this environment")

    def __iter__(self) -> Iterator[WallStatus]:
        """The status of each wall that was tried. Without it, Python would ask for 0, 1, 2, ... and never end."""
        return iter(self.walls)

    def missing(self, required: Iterable[Wall]) -> tuple[Wall, ...]:
        """The walls of `required` that are not fully enforced.

        A provider's network block is missing only where it was seen to fail: more than its word cannot be had.
        """
        by_word = {(Wall.PROVIDER_NETWORK_BLOCK, level) for level in (Level.VENDOR, Level.PARTIAL)}
        held = {each.wall for each in self.walls if each.level is Level.FULL or (each.wall, each.level) in by_word}
        return tuple(wall for wall in required if wall not in held)

    def guarantee(self, guarantee: Guarantee) -> Level:
        """How far `guarantee` holds: as far as its walls do, and bounded-spend no further than the policy limits it."""
        level = self.by_walls(guarantee)
        return self.spend if guarantee is Guarantee.BOUNDED_SPEND and level is Level.FULL else level

    def by_walls(self, guarantee: Guarantee) -> Level:
        """How far the walls keep `guarantee`: full when one alternative in RESTS_ON is complete."""
        best = Level.NONE
        for alternative in RESTS_ON[guarantee]:
            levels = {self[wall].level for wall in alternative}
            if levels == {Level.FULL}:
                return Level.FULL
            if levels <= {Level.FULL, Level.VENDOR}:
                best = Level.VENDOR
            elif levels != {Level.NONE} and best is Level.NONE:
                best = Level.PARTIAL
        return best

    def to_dict(self) -> dict[str, Any]:
        """JSON-safe form, used by `doctor --json`, the audit log and the trajectory."""
        return {
            "environment": self.environment,
            "walls": [{"wall": s.wall.value, "level": s.level.value, "evidence": s.evidence} for s in self.walls],
            "guarantees": {g.value: self.guarantee(g).value for g in Guarantee},
            "details": dict(self.details),
        }
