"""Hardening that not every engine has or applies by default: cgroup namespace, AppArmor, masked paths, disk share.

Requested where the engine has it. Afterwards the engine reports what it applied, and the supervisor tries it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.broker.signed import Around
from rlm_secure.environments.docker.engine import explained
from rlm_secure.inert import excerpt

#: Paths that every engine masks by default; one that is readable makes the wall partial.
_ALWAYS = (
    "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
    "/proc/timer_list", "/proc/timer_stats", "/sys/firmware",
)  # fmt: skip
#: These, and other paths that describe the machine and that a session does not need; an engine may leave them unmasked.
MASKED: Final = (
    *_ALWAYS, "/proc/asound", "/proc/diskstats", "/proc/interrupts", "/proc/iomem", "/proc/ioports", "/proc/kallsyms",
    "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/modules", "/proc/slabinfo",
    "/proc/vmallocinfo", "/sys/devices/virtual/powercap", "/sys/kernel",
)  # fmt: skip
READONLY: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")

#: The smallest share of disk time, from a range of 10 to 1000: a session needs no disk.
BLKIO_WEIGHT: Final = 10
#: Limits of each process in the container, which an engine may drop as well.
LIMITED: Final = ("core", "fsize", "memlock", "nofile", "nproc")
_APPARMOR = "docker-default"
_WARNINGS, _WARNING_CHARACTERS = 8, 200
_CGROUP_NAMESPACES = (1, 41)  # the first API version that has them


@dataclass(frozen=True, slots=True)
class Offered:
    """What an engine has.

    `apparmor`: containers run under a profile; `profile` is the one to request, None for the engine's default.
    `cgroupns`: a container may have a cgroup namespace of its own.
    """

    apparmor: bool
    profile: str | None
    cgroupns: bool


def offered(client: Any, info: Mapping[str, Any]) -> Offered:
    """What the engine described by `info` has. Raises EnvironmentUnavailable."""
    with explained("say its version"):
        version = client.api.version()
    components = version.get("Components") or ()
    docker = not any("podman" in str(each.get("Name")).lower() for each in components)  # its profile has another name
    apparmor = any("name=apparmor" in str(each) for each in info.get("SecurityOptions") or ())
    numbers = tuple(int(part) for part in str(client.api.api_version).split(".")[:2])
    return Offered(apparmor, _APPARMOR if apparmor and docker else None, numbers >= _CGROUP_NAMESPACES)


def add(host: dict[str, Any], has: Offered) -> None:
    """Request all of it in a container's HostConfig."""
    host["MaskedPaths"], host["ReadonlyPaths"] = list(MASKED), list(READONLY)
    host["BlkioWeight"] = BLKIO_WEIGHT
    if has.cgroupns:
        host["CgroupnsMode"] = "private"
    if has.profile is not None:
        host["SecurityOpt"] = [*host["SecurityOpt"], f"apparmor={has.profile}"]


@dataclass(frozen=True, slots=True)
class Taken:
    """What an engine reports to have applied.

    `details` are facts for the report; `limits` are those of each process, by name; `discarded` are the warnings from
    the creation of the container: what the engine dropped, in its own words.
    """

    details: Mapping[str, Any]
    limits: Mapping[str, int]
    discarded: tuple[str, ...]


def found(has: Offered, around: Around, taken: Taken) -> Iterator[tuple[str, bool]]:
    """What the supervisor tried, and whether each is in force. The container wall is full only with all of them."""
    if has.cgroupns:
        yield "own cgroup namespace", around.cgroup_namespace == "own"
    if has.apparmor:
        yield "AppArmor", (around.apparmor or "").endswith("(enforce)")
    shown = around.unmasked
    yield "masked paths", shown is not None and not any(each in shown for each in _ALWAYS)
    yield "read-only paths", around.writable == ()
    loose = unlimited(around, taken)
    yield f"limits of each process{': all but ' if loose else ''}{', '.join(loose)}", not loose


def unlimited(around: Around, taken: Taken) -> list[str]:
    """The process limits that the engine did not apply, or that are wider in the container than it reports."""
    return [name for name in LIMITED if not _within(around.limits.get(name), taken.limits.get(name))]


def _within(limit: int | None, asked: int | None) -> bool:
    return limit is not None and asked is not None and limit <= asked  # an engine reports -1 for no limit


def told(has: Offered, around: Around, taken: Taken) -> str:
    """What was requested and is not in force, but is not required: for the evidence."""
    parts = [] if has.apparmor else ["the engine has no AppArmor"]
    if shown := unmasked(around):
        parts.append(f"not masked: {shown}")
    if taken.details["blkio_weight"] != BLKIO_WEIGHT:
        parts.append("as much of the disks as others")
    parts += [f"the engine says: {each}" for each in taken.discarded]
    return "".join(f"; {part}" for part in parts)


def unmasked(around: Around) -> str:
    """The paths that an engine was asked to mask and left unmasked; "" for none."""
    return ", ".join(each for each in MASKED if each in (around.unmasked or ()))


def warnings(made: Mapping[str, Any]) -> tuple[str, ...]:
    """The engine's warnings from creating a container: at most 8 lines of 200 printable characters."""
    said = made.get("Warnings")
    first = said[:_WARNINGS] if isinstance(said, list) else ()
    return tuple(excerpt(str(each), _WARNING_CHARACTERS) for each in first)


def recorded(client: Any, container: str, discarded: tuple[str, ...]) -> Taken:
    """What the engine reports to have applied: it drops some options with a warning, and some without."""
    with explained("describe the container"):
        inspected = client.api.inspect_container(container)
    host = inspected.get("HostConfig") or {}
    details = {
        "apparmor": inspected.get("AppArmorProfile") or "none",
        "cgroupns": host.get("CgroupnsMode") or "the engine's default",
        "masked_paths": len(host.get("MaskedPaths") or ()),
        "readonly_paths": len(host.get("ReadonlyPaths") or ()),
        "blkio_weight": host.get("BlkioWeight") or "none: the engine's kernel has none that it knows",
        "discarded": list(discarded),
    }
    limits = {_limit(each): each.get("Hard", -1) for each in host.get("Ulimits") or ()}
    return Taken(details, limits, discarded)


def _limit(entry: Mapping[str, Any]) -> str:
    """The name of a limit; Podman uses the names of C, such as RLIMIT_CORE."""
    return str(entry.get("Name")).lower().removeprefix("rlimit_")
