"""The walls in force around a local session: findings of the zygote and of the session, checked against the policy.

Guards: that no session starts without a wall that its policy requires
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from rlm_secure.environments.local import image, machine
from rlm_secure.guarantees import WITHOUT_PACKAGES, EnforcementReport, Level, Wall, WallStatus, language_wall
from rlm_secure.policy.gate import Gate

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy

Findings = Mapping[str, tuple[str, str]]
_Items = tuple[tuple[str, tuple[str, str]], ...]

_ORDER = ("full", "partial", "none")
#: AppArmor on Ubuntu lets a process have a user namespace, and then refuses all others.
_NAMESPACES = frozenset(
    {Wall.USER_NAMESPACE, Wall.MOUNT_NAMESPACE, Wall.NETWORK_NAMESPACE, Wall.IPC_NAMESPACE, Wall.PID_NAMESPACE}
)
_LEVELS = {"full": Level.FULL, "partial": Level.PARTIAL, "none": Level.NONE}


def build(
    booted: Findings, sealed: Findings, details: Mapping[str, Any], *, screen: bool, packages: tuple[str, ...] = ()
) -> EnforcementReport:
    """The report of one session. A wall has the weaker of the levels that the zygote and the session found.

    `packages` are those of third parties in its zygote.
    """
    walls = _walls(tuple(booted.items()), tuple(sealed.items()), screen, packages)
    return EnforcementReport("local", walls, {**details, "bundle_sha256": image.sha256()})


@lru_cache(maxsize=64)
def _walls(booted: _Items, sealed: _Items, screen: bool, packages: tuple[str, ...]) -> tuple[WallStatus, ...]:
    """Merge the findings. Cached, as nearly all sessions find the same: this takes 40 microseconds."""
    findings = (dict(booted), dict(sealed))
    walls: list[WallStatus] = []
    for wall in Wall:
        entries = [source[wall] for source in findings if wall in source]
        if entries:
            level = _LEVELS[max(entries, key=lambda entry: _ORDER.index(entry[0]))[0]]
            walls.append(WallStatus(wall, level, "; ".join(dict.fromkeys(entry[1] for entry in entries))))
    return (
        *walls,
        language_wall(screen=screen, packages=packages),
        WallStatus(Wall.WALL_CLOCK, Level.FULL, "the host holds a pidfd and kills at the deadline"),
        WallStatus(Wall.OUTPUT_CAP, Level.FULL, "capped in the worker, and again by the host"),
    )


def noted(report: EnforcementReport, wall: Wall, said: str) -> EnforcementReport:
    """`report` with more evidence about `wall`."""
    return replace(
        report,
        walls=tuple(
            replace(each, evidence=f"{each.evidence}; {said}") if each.wall is wall else each for each in report.walls
        ),
    )


def require(policy: Policy, report: EnforcementReport, required: tuple[Wall, ...]) -> None:
    """Raise EnforcementError, in one sentence that says what to do, unless every required wall is in force."""
    missing = report.missing(required)
    advice = (
        WITHOUT_PACKAGES
        if Wall.LANGUAGE in missing
        else machine.allow_namespaces()
        if not _NAMESPACES.isdisjoint(missing)
        else "run on a kernel and in a container that allow them"
    )
    Gate(policy).require_walls(report, required, "local", advice)
