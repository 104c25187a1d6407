"""What not every engine has, or not by itself: a cgroup namespace, AppArmor, masks by name, a share of the disks.

Asked for where the engine has it. What came of it the engine says when it is asked, and the supervisor when it tries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.broker.signed import Around
from rlm_secure.environments.docker.engine import explained

#: What every engine masks by itself: nothing may show in there.
_ALWAYS = (
    "/proc/acpi", "/proc/kcore", "/proc/keys", "/proc/latency_stats", "/proc/sched_debug", "/proc/scsi",
    "/proc/timer_list", "/proc/timer_stats", "/sys/firmware",
)  # fmt: skip
#: Those, and what else tells of the machine and serves nobody in here; an engine may leave these as they are.
MASKED: Final = (
    *_ALWAYS, "/proc/asound", "/proc/diskstats", "/proc/interrupts", "/proc/iomem", "/proc/ioports", "/proc/kallsyms",
    "/proc/kpagecgroup", "/proc/kpagecount", "/proc/kpageflags", "/proc/modules", "/proc/slabinfo",
    "/proc/vmallocinfo", "/sys/devices/virtual/powercap", "/sys/kernel",
)  # fmt: skip
READONLY: Final = ("/proc/bus", "/proc/fs", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger")

#: The least share of a disk's time, of 10 to 1000: nothing in there waits for one.
BLKIO_WEIGHT: Final = 10
_APPARMOR = "docker-default"
_CGROUP_NAMESPACES = (1, 41)  # the API that has them


@dataclass(frozen=True, slots=True)
class Offered:
    """What an engine has.

    `apparmor`: containers run under a profile, and `profile` is one that it is sure to have, None for its default.
    `cgroupns`: a container may have a cgroup namespace of its own.
    """

    apparmor: bool
    profile: str | None
    cgroupns: bool


def offered(client: Any, info: Mapping[str, Any]) -> Offered:
    """What the engine that `info` describes has. Raises EnvironmentUnavailable."""
    with explained("say its version"):
        version = client.api.version()
    components = version.get("Components") or ()
    docker = not any("podman" in str(each.get("Name")).lower() for each in components)  # its profile has another name
    apparmor = any("name=apparmor" in str(each) for each in info.get("SecurityOptions") or ())
    numbers = tuple(int(part) for part in str(client.api.api_version).split(".")[:2])
    return Offered(apparmor, _APPARMOR if apparmor and docker else None, numbers >= _CGROUP_NAMESPACES)


def add(host: dict[str, Any], has: Offered) -> None:
    """Ask for it all in a container's HostConfig."""
    host["MaskedPaths"], host["ReadonlyPaths"] = list(MASKED), list(READONLY)
    host["BlkioWeight"] = BLKIO_WEIGHT
    if has.cgroupns:
        host["CgroupnsMode"] = "private"
    if has.profile is not None:
        host["SecurityOpt"] = [*host["SecurityOpt"], f"apparmor={has.profile}"]


def found(has: Offered, around: Around, file_bytes: int) -> Iterator[tuple[str, bool]]:
    """What the supervisor found of what was asked for, and whether it holds."""
    if has.cgroupns:
        yield "own cgroup namespace", around.cgroup_namespace == "own"
    if has.apparmor:
        yield "AppArmor", (around.apparmor or "").endswith("(enforce)")
    shown = around.unmasked
    yield "masked paths", shown is not None and not any(each in shown for each in _ALWAYS)
    yield "read-only paths", around.writable == ()
    yield "size of files", around.file_bytes is not None and around.file_bytes <= file_bytes


def unmasked(around: Around) -> str:
    """What an engine left unmasked, of what it was asked to mask and need not; "" for none."""
    return ", ".join(each for each in MASKED if each in (around.unmasked or ()))


def recorded(client: Any, container: str) -> dict[str, Any]:
    """What the engine says that it took, for the report: some of it is dropped with a warning that nobody reads."""
    with explained("describe the container"):
        inspected = client.api.inspect_container(container)
    host = inspected.get("HostConfig") or {}
    return {
        "apparmor": inspected.get("AppArmorProfile") or "none",
        "cgroupns": host.get("CgroupnsMode") or "the engine's default",
        "masked_paths": len(host.get("MaskedPaths") or ()),
        "readonly_paths": len(host.get("ReadonlyPaths") or ()),
        "blkio_weight": host.get("BlkioWeight") or "none: the engine's kernel has none that it knows",
    }
