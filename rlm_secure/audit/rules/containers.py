"""Rules on the configuration of containers: Compose files, and the output of `docker inspect`."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import Any

from rlm_secure.audit.finding import Finding, Severity
from rlm_secure.audit.read.container import Container, ContainerSubject
from rlm_secure.audit.rule import Kind, Rule
from rlm_secure.guarantees import Guarantee

_SAFE_CAPABILITIES = frozenset({"NET_BIND_SERVICE"})
_GREAT_CAPABILITIES = frozenset(
    {"ALL", "SYS_ADMIN", "SYS_PTRACE", "SYS_MODULE", "SYS_RAWIO", "DAC_READ_SEARCH", "BPF", "NET_ADMIN", "SYS_BOOT"}
)
_SOCKETS = ("docker.sock", "containerd.sock", "podman.sock", "crio.sock")
_PRECIOUS = ("/", "/etc", "/proc", "/sys", "/dev", "/root", "/home", "/var", "/var/run", "/run", "/boot", "/usr", "~")
#: Paths that every engine masks, or mounts read-only, by default.
_COVERED = {
    "masked_paths": ("/proc/kcore", "/proc/keys", "/proc/timer_list", "/sys/firmware"),
    "readonly_paths": ("/proc/bus", "/proc/irq", "/proc/sys", "/proc/sysrq-trigger"),
}
_PRIVATE = (".ssh", ".aws", ".docker", ".kube", ".gnupg", ".config", ".netrc", ".env")


class ContainerRule(Rule[ContainerSubject]):
    """Base of the rules that check one container at a time."""

    kind = Kind.CONTAINER

    def check(self, subject: ContainerSubject) -> Iterator[Finding]:
        for each in subject.containers:
            yield from self.one(each)

    @abstractmethod
    def one(self, each: Container) -> Iterator[Finding]:
        """Yield a finding for each problem of one container."""


class ContainerPrivileged(ContainerRule):
    """A container is privileged.

    It has every capability and every device, without seccomp: root in it needs one mount to become root on the host.

    Bad:
        services:
          cells:
            image: worker
            privileged: true

    Good:
        services:
          cells:
            image: worker
            privileged: false

    See:
        https://docs.docker.com/engine/containers/run/#runtime-privilege-and-linux-capabilities
    """

    id = "container-privileged"
    severity = Severity.CRITICAL
    weakens = (Guarantee.HOST_INTEGRITY, Guarantee.NO_HOST_FILES, Guarantee.SESSION_ISOLATION)
    hint = "take privileged out"

    def one(self, each: Container) -> Iterator[Finding]:
        if each.settings.get("privileged") is True:
            yield self.finding(each.at("privileged"), f"{each.name} is privileged", about=f"{each.name} privileged")


class ContainerHostNamespace(ContainerRule):
    """A container shares a namespace with the host.

    With the host's network it reaches the services on localhost, with the host's PID namespace it can signal and read
    processes, with the host's IPC it reaches their shared memory.

    Bad:
        services:
          cells:
            image: worker
            network_mode: host

    Good:
        services:
          cells:
            image: worker
            network_mode: none

    See:
        threat-model.md, claims no-network and session-isolation
    """

    id = "container-host-namespace"
    severity = Severity.HIGH
    weakens = (Guarantee.NO_NETWORK, Guarantee.SESSION_ISOLATION)
    hint = "take it out; network_mode: none is what a worker needs"

    def one(self, each: Container) -> Iterator[Finding]:
        for key in ("network_mode", "pid", "ipc", "userns_mode"):
            if each.settings.get(key) == "host":
                yield self.finding(each.at(key), f"{each.name} has the host's {key}", about=f"{each.name} {key}")


class ContainerNetwork(ContainerRule):
    """A container that runs cells has a network.

    No cell needs one: model calls go through the host. With one, a cell can send out whatever it has read.

    Bad:
        services:
          cells:
            image: worker

    Good:
        services:
          cells:
            image: worker
            network_mode: none

    See:
        threat-model.md, claim no-network
    """

    id = "container-network"
    severity = Severity.MEDIUM
    weakens = (Guarantee.NO_NETWORK,)
    hint = "network_mode: none"

    def one(self, each: Container) -> Iterator[Finding]:
        if each.settings.get("network_mode") not in ("none", "host"):
            yield self.finding(each.at("network_mode"), f"{each.name} has a network", about=f"{each.name} network")


class ContainerEngineSocket(ContainerRule):
    """A container is given the socket of the container engine.

    A process that can use the socket can start a privileged container with the host's root directory: it is root.

    Bad:
        services:
          cells:
            image: worker
            volumes:
              - /var/run/docker.sock:/var/run/docker.sock

    Good:
        services:
          cells:
            image: worker
            volumes: []

    See:
        https://docs.docker.com/engine/security/#docker-daemon-attack-surface
    """

    id = "container-engine-socket"
    severity = Severity.CRITICAL
    weakens = (Guarantee.HOST_INTEGRITY, Guarantee.NO_HOST_FILES, Guarantee.NO_EXEC)
    hint = "take the mount out; start sibling containers from the host"

    def one(self, each: Container) -> Iterator[Finding]:
        for index, entry in each.entries("volumes"):
            source = entry.partition(":")[0]
            if source.endswith(_SOCKETS):
                message = f"{each.name} is given {source[:80]}"
                yield self.finding(each.at("volumes", index), message, about=f"{each.name} {source}")


class ContainerMount(ContainerRule):
    """A container is given a folder of the host that holds more than it needs.

    /, /etc, a home folder or a folder of keys: a cell can read it, and write to it if the mount is writable.

    Bad:
        services:
          cells:
            image: worker
            volumes:
              - /etc:/host/etc

    Good:
        services:
          cells:
            image: worker
            volumes:
              - ./inbox:/inbox:ro

    See:
        threat-model.md, claim no-host-files
    """

    id = "container-mount"
    severity = Severity.HIGH
    weakens = (Guarantee.NO_HOST_FILES, Guarantee.NO_SECRETS)
    hint = "mount the one folder that is needed, read-only"

    def one(self, each: Container) -> Iterator[Finding]:
        for index, entry in each.entries("volumes"):
            source = entry.partition(":")[0]
            plain = source.rstrip("/") or "/"
            precious = plain in _PRECIOUS or plain.rpartition("/")[2] in _PRIVATE or plain == "${HOME}"
            if precious and ":" in entry:
                message = f"{each.name} is given the host's {source[:80]}"
                yield self.finding(each.at("volumes", index), message, about=f"{each.name} {source}")


class ContainerCapabilities(ContainerRule):
    """A container is given capabilities.

    Each is a part of root's privileges. SYS_ADMIN, SYS_PTRACE and similar ones lead to all of them.

    Bad:
        services:
          cells:
            image: worker
            cap_add: [SYS_ADMIN]

    Good:
        services:
          cells:
            image: worker
            cap_drop: [ALL]

    See:
        man 7 capabilities
    """

    id = "container-capabilities"
    severity = Severity.MEDIUM
    weakens = (Guarantee.SESSION_ISOLATION, Guarantee.HOST_INTEGRITY)
    hint = "take cap_add out, and write cap_drop: [ALL]"

    def one(self, each: Container) -> Iterator[Finding]:
        for index, entry in each.entries("cap_add"):
            name = entry.upper().removeprefix("CAP_")
            if name not in _SAFE_CAPABILITIES:
                severity = Severity.HIGH if name in _GREAT_CAPABILITIES else Severity.MEDIUM
                message = f"{each.name} has the capability {name[:40]}"
                place = each.at("cap_add", index)
                yield self.finding(place, message, about=f"{each.name} {name}", severity=severity)


class ContainerCapabilitiesKept(ContainerRule):
    """A container keeps the engine's default capabilities.

    There are fourteen of them, among them CHOWN, SETUID, MKNOD and NET_RAW. A worker needs none.

    Bad:
        services:
          cells:
            image: worker

    Good:
        services:
          cells:
            image: worker
            cap_drop: [ALL]

    See:
        man 7 capabilities
    """

    id = "container-capabilities-kept"
    severity = Severity.MEDIUM
    weakens = (Guarantee.SESSION_ISOLATION,)
    hint = "cap_drop: [ALL]"

    def one(self, each: Container) -> Iterator[Finding]:
        dropped = {entry.upper().removeprefix("CAP_") for _, entry in each.entries("cap_drop")}
        if "ALL" not in dropped:
            message = f"{each.name} keeps the default capabilities"
            yield self.finding(each.at("cap_drop"), message, about=f"{each.name} cap_drop")


class ContainerUnconfined(ContainerRule):
    """A container runs without seccomp, or without its AppArmor or SELinux profile.

    The engine's default profile refuses about fifty system calls that containers do not need and that have had kernel
    bugs.

    Bad:
        services:
          cells:
            image: worker
            security_opt:
              - seccomp=unconfined

    Good:
        services:
          cells:
            image: worker
            security_opt:
              - seccomp=./docker.json

    See:
        policies/seccomp/docker.json
    """

    id = "container-unconfined"
    severity = Severity.HIGH
    weakens = (Guarantee.NO_EXEC, Guarantee.HOST_INTEGRITY)
    hint = "take it out, or name a profile such as policies/seccomp/docker.json"

    def one(self, each: Container) -> Iterator[Finding]:
        written = False
        for index, entry in each.entries("security_opt"):
            option = entry.replace(":", "=").lower()
            if option in ("seccomp=unconfined", "apparmor=unconfined", "label=disable"):
                written = written or option.startswith("apparmor")
                message = f"{each.name} has {entry[:40]}"
                yield self.finding(each.at("security_opt", index), message, about=f"{each.name} {entry}")
        # docker inspect prints "unconfined" only on an engine with AppArmor; on others the profile is "".
        if each.settings.get("apparmor") == "unconfined" and not written:
            message = f"{each.name} runs without AppArmor, which its engine has"
            yield self.finding(each.at("apparmor"), message, about=f"{each.name} apparmor=unconfined")


class ContainerUnmasked(ContainerRule):
    """A container sees what engines hide: kernel memory, keys, firmware, and writable kernel settings.

    systempaths=unconfined removes the masks of /proc and /sys, and makes /proc/sys and /proc/sysrq-trigger writable.

    Bad:
        services:
          cells:
            image: worker
            security_opt:
              - systempaths=unconfined

    Good:
        services:
          cells:
            image: worker
            security_opt:
              - no-new-privileges:true

    See:
        https://docs.docker.com/reference/cli/docker/container/run/#security-opt
    """

    id = "container-unmasked"
    severity = Severity.HIGH
    weakens = (Guarantee.HOST_INTEGRITY, Guarantee.NO_HOST_FILES)
    hint = "take systempaths=unconfined out"

    def one(self, each: Container) -> Iterator[Finding]:
        for index, entry in each.entries("security_opt"):
            if entry.replace(":", "=").lower() == "systempaths=unconfined":
                message, about = f"{each.name} has {entry[:40]}", f"{each.name} systempaths"
                yield self.finding(each.at("security_opt", index), message, about=about)
                return
        if each.settings.get("privileged") is True:
            return  # container-privileged reports this already, and is more severe
        for key, least in _COVERED.items():
            paths = each.settings.get(key, least)  # only the output of docker inspect has these keys
            missing = sorted(set(least) - set(_strings(paths)))
            if missing:
                what = "masked" if key == "masked_paths" else "read-only"
                message = f"{each.name} has {', '.join(missing)} not {what}"
                yield self.finding(each.at(key), message, about=f"{each.name} {key}")


class ContainerCgroupNamespace(ContainerRule):
    """A container has the host's cgroup namespace.

    It can read the names of the machine's other containers and services in /proc/self/cgroup, and, if cgroups are
    mounted, their limits and usage.

    Bad:
        services:
          cells:
            image: worker
            cgroup: host

    Good:
        services:
          cells:
            image: worker
            cgroup: private

    See:
        man 7 cgroup_namespaces
    """

    id = "container-cgroup-namespace"
    severity = Severity.LOW
    weakens = (Guarantee.SESSION_ISOLATION,)
    hint = "cgroup: private"

    def one(self, each: Container) -> Iterator[Finding]:
        if each.settings.get("cgroup") == "host":
            message = f"{each.name} has the host's cgroup namespace"
            yield self.finding(each.at("cgroup"), message, about=f"{each.name} cgroup")


class ContainerFileSize(ContainerRule):
    """A container may write files of any size.

    A file in a volume, in a tmpfs or in the container's own layer can fill the disk or the memory of the machine. The
    kernel's limit ends a write at this size, wherever the file is.

    Bad:
        services:
          cells:
            image: worker

    Good:
        services:
          cells:
            image: worker
            ulimits:
              fsize: 67108864

    See:
        man 2 setrlimit, RLIMIT_FSIZE
    """

    id = "container-file-size"
    severity = Severity.LOW
    weakens = (Guarantee.HOST_INTEGRITY,)
    hint = "ulimits: {fsize: 67108864}, in bytes"

    def one(self, each: Container) -> Iterator[Finding]:
        limit = _ulimit(each.settings.get("ulimits"), "fsize")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit < 0:
            message = f"{each.name} has no limit on the size of files"
            yield self.finding(each.at("ulimits"), message, about=f"{each.name} fsize")


class ContainerNewPrivileges(ContainerRule):
    """A container may gain privileges by running a set-uid program.

    With no-new-privileges, sudo, su and every other set-uid file in the image run as ordinary programs.

    Bad:
        services:
          cells:
            image: worker

    Good:
        services:
          cells:
            image: worker
            security_opt:
              - no-new-privileges:true

    See:
        man 2 PR_SET_NO_NEW_PRIVS
    """

    id = "container-new-privileges"
    severity = Severity.MEDIUM
    weakens = (Guarantee.SESSION_ISOLATION,)
    hint = "security_opt: [no-new-privileges:true]"

    def one(self, each: Container) -> Iterator[Finding]:
        options = {entry.replace("=", ":").lower() for _, entry in each.entries("security_opt")}
        if not options & {"no-new-privileges", "no-new-privileges:true"}:
            message = f"{each.name} has no no-new-privileges"
            yield self.finding(each.at("security_opt"), message, about=f"{each.name} no-new-privileges")


class ContainerProcesses(ContainerRule):
    """A container may start any number of processes.

    A fork bomb in it fills the process table of the whole machine.

    Bad:
        services:
          cells:
            image: worker

    Good:
        services:
          cells:
            image: worker
            pids_limit: 64

    See:
        threat-model.md, claim bounded-processes
    """

    id = "container-processes"
    severity = Severity.MEDIUM
    weakens = (Guarantee.BOUNDED_PROCESSES, Guarantee.HOST_INTEGRITY)
    hint = "pids_limit: 64"

    def one(self, each: Container) -> Iterator[Finding]:
        limit = each.settings.get("pids_limit")
        if not isinstance(limit, int) or isinstance(limit, bool) or limit <= 0:
            message = f"{each.name} has no limit of processes"
            yield self.finding(each.at("pids_limit"), message, about=f"{each.name} pids_limit")


class ContainerMemory(ContainerRule):
    """A container may take all memory of the machine.

    When memory runs out, the kernel kills a process of its choice, which may be the host's.

    Bad:
        services:
          cells:
            image: worker

    Good:
        services:
          cells:
            image: worker
            mem_limit: 512m

    See:
        threat-model.md, claim bounded-memory
    """

    id = "container-memory"
    severity = Severity.MEDIUM
    weakens = (Guarantee.BOUNDED_MEMORY, Guarantee.HOST_INTEGRITY)
    hint = "mem_limit: 512m"

    def one(self, each: Container) -> Iterator[Finding]:
        if each.settings.get("mem_limit") in (None, 0, "0", "", -1):
            message = f"{each.name} has no limit of memory"
            yield self.finding(each.at("mem_limit"), message, about=f"{each.name} mem_limit")


class ContainerWritableRoot(ContainerRule):
    """A container may write to its own root.

    A later cell may run what an earlier one wrote, in site-packages or in /usr/bin.

    Bad:
        services:
          cells:
            image: worker

    Good:
        services:
          cells:
            image: worker
            read_only: true

    See:
        threat-model.md, claim no-leftovers
    """

    id = "container-writable-root"
    severity = Severity.MEDIUM
    weakens = (Guarantee.NO_LEFTOVERS, Guarantee.SESSION_ISOLATION)
    hint = "read_only: true, with a tmpfs where something must be written"

    def one(self, each: Container) -> Iterator[Finding]:
        if each.settings.get("read_only") is not True:
            yield self.finding(each.at("read_only"), f"{each.name} has a writable root", about=f"{each.name} read_only")


class ContainerRoot(ContainerRule):
    """A container is configured to run as root.

    To the kernel, root in a container is root, minus the capabilities that were dropped.

    Bad:
        services:
          cells:
            image: worker
            user: root

    Good:
        services:
          cells:
            image: worker
            user: "65534:65534"

    See:
        rlm-secure explain image-root
    """

    id = "container-root"
    severity = Severity.HIGH
    weakens = (Guarantee.SESSION_ISOLATION, Guarantee.HOST_INTEGRITY)
    hint = "name a user that is not 0"

    def one(self, each: Container) -> Iterator[Finding]:
        user = each.settings.get("user")
        if user is not None and str(user).partition(":")[0] in ("root", "0", ""):
            yield self.finding(each.at("user"), f"{each.name} runs as root", about=f"{each.name} user")


class ContainerDevices(ContainerRule):
    """A container is given devices of the host.

    /dev/mem, disks, /dev/kvm and GPUs all have drivers in the kernel that process whatever a cell sends.

    Bad:
        services:
          cells:
            image: worker
            devices:
              - /dev/sda:/dev/sda

    Good:
        services:
          cells:
            image: worker
            devices: []

    See:
        https://docs.docker.com/reference/compose-file/services/#devices
    """

    id = "container-devices"
    severity = Severity.HIGH
    weakens = (Guarantee.HOST_INTEGRITY, Guarantee.NO_HOST_FILES)
    hint = "take the devices out"

    def one(self, each: Container) -> Iterator[Finding]:
        for index, entry in each.entries("devices"):
            message = f"{each.name} is given the device {entry.partition(':')[0][:80]}"
            yield self.finding(each.at("devices", index), message, about=f"{each.name} {entry}")


def _strings(value: Any) -> list[str]:
    return [each for each in value if isinstance(each, str)] if isinstance(value, list | tuple) else []


def _ulimit(value: Any, name: str) -> Any:
    """The hard limit `name` in a Compose file, or in the output of docker inspect; None without one."""
    if isinstance(value, list):
        named = [each for each in value if isinstance(each, dict) and each.get("Name") == name]
        return named[0].get("Hard") if named else None
    found = value.get(name) if isinstance(value, dict) else None
    return found.get("hard") if isinstance(found, dict) else found


RULES = (
    ContainerPrivileged, ContainerHostNamespace, ContainerNetwork, ContainerEngineSocket, ContainerMount,
    ContainerCapabilities, ContainerCapabilitiesKept, ContainerUnconfined, ContainerUnmasked,
    ContainerCgroupNamespace, ContainerNewPrivileges, ContainerProcesses, ContainerMemory, ContainerFileSize,
    ContainerWritableRoot, ContainerRoot, ContainerDevices,
)  # fmt: skip
