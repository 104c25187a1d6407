"""A cgroup for each session: memory, processes and CPU of the whole tree, checkpoints included.

Version 2 under the directory that RLM_SECURE_CGROUP names: a delegated one without processes of its own (the
"no internal process" rule; we never move the host). Version 1 under the host's own groups, for root. Elsewhere
rlimits limit each process separately, and the report says so. An empty group in which no process was killed for memory
is reused by another session, with that session's limits. Sources: cgroups(7), Documentation/admin-guide/cgroup-v2.

Guards: memory and processes of a session as a whole
"""

from __future__ import annotations

import atexit
import contextlib
import itertools
import os
import re
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from rlm_secure.environments.local import pidfd
from rlm_secure.forks import at_fork

OVERHEAD = 48 << 20  # the interpreter and its preloaded modules, twice
_PERIOD_MICROSECONDS = 100_000
_NAME = re.compile(r"rlm_secure-(\d+)-\d+")
_serial = itertools.count()
_live: set[Group] = set()
#: Empty groups for reuse: creating, limiting and removing one takes a fifth of a session's start.
_empty: list[Group] = []
_EMPTY = 8
_FILE_BYTES = 1 << 16
#: Sessions per group: what the kernel still charges to an empty group must not accumulate.
_USES = 100


@dataclass(frozen=True, slots=True)
class Parents:
    """Where groups can be created: version 2 has one directory, version 1 one for each controller."""

    version: int
    directories: tuple[Path, ...]
    evidence: str


@cache
def parents(_pid: int) -> Parents | str:
    """Where this host process can create groups, found by creating one; or the reason why it cannot."""
    candidates = [_version_2(), _version_1()]
    reasons = []
    for found in candidates:
        if isinstance(found, str):
            reasons.append(found)
            continue
        try:
            _sweep(found)
            group = Group(found)
            group.limit(CgroupBounds(memory=1 << 30, processes=8, cpus=1.0))
            group.give_back()  # the first session has it: making another takes milliseconds
        except OSError as error:
            reasons.append(f"version {found.version}: {error}")
            continue
        return found
    return "; ".join(reasons)


def _version_2() -> Parents | str:
    named = os.environ.get("RLM_SECURE_CGROUP")
    if not named:
        return "version 2: RLM_SECURE_CGROUP names no delegated directory"
    directory = Path(named)
    with contextlib.suppress(OSError):
        (directory / "cgroup.subtree_control").write_text("+memory +pids +cpu")
    try:
        enabled = (directory / "cgroup.subtree_control").read_text().split()
    except OSError as error:
        return f"version 2: {error}"
    if not {"memory", "pids"} <= set(enabled):
        return f"version 2: {directory} does not delegate memory and pids"
    return Parents(2, (directory,), f"cgroup v2 below {directory}")


def _version_1() -> Parents | str:
    if os.geteuid() != 0:
        return "version 1: needs root"
    own = {}
    try:
        lines = Path("/proc/self/cgroup").read_text().splitlines()
    except OSError as error:  # without /proc, or on a kernel without cgroups
        return f"version 1: {error}"
    for line in lines:
        _, controllers, path = line.split(":", 2)
        own.update(dict.fromkeys(controllers.split(","), path))
    directories = []
    for controller in ("memory", "pids", "cpu"):
        root = Path("/sys/fs/cgroup") / controller
        if controller not in own or not (root / "tasks").exists():
            return f"version 1: no {controller} hierarchy at {root}"
        directories.append(root / own[controller].lstrip("/"))
    return Parents(1, tuple(directories), "cgroup v1 memory, pids and cpu")


def _sweep(found: Parents) -> None:
    """Remove the empty groups of host processes that were killed."""
    for directory in found.directories:
        for child in directory.iterdir():
            match = _NAME.fullmatch(child.name)
            if match and not Path(f"/proc/{match[1]}").exists():
                with contextlib.suppress(OSError):
                    child.rmdir()


@dataclass(frozen=True, slots=True)
class CgroupBounds:
    """The limits of a group: bytes of memory, number of processes, number of CPUs."""

    memory: int
    processes: int
    cpus: float

    def __str__(self) -> str:
        return f"{self.memory:,} bytes, {self.processes} processes, {self.cpus:g} CPUs"


class Group:
    """One session's group, without limits at first. Every method raises OSError when the kernel refuses a step."""

    def __init__(self, found: Parents) -> None:
        name = f"rlm_secure-{os.getpid()}-{next(_serial)}"
        self._kind = found.evidence
        self._bounds: CgroupBounds | None = None
        self._uses = 0
        self._version = found.version
        self._paths = tuple(directory / name for directory in found.directories)
        _live.add(self)
        try:
            for path in self._paths:
                path.mkdir()
        except OSError:
            self.remove()
            raise

    @property
    def evidence(self) -> str:
        """The kind of group, and its limits."""
        return f"{self._kind}: {self._bounds}"

    @property
    def bounded(self) -> bool:
        """Whether its limits are set."""
        return self._bounds is not None

    def limit(self, bounds: CgroupBounds) -> None:
        """Set the limits. Does nothing if they are already set."""
        if bounds == self._bounds:
            return
        self._bounds = None
        quota = int(bounds.cpus * _PERIOD_MICROSECONDS)
        if self._version == 2:
            settings = [
                {
                    "memory.max": bounds.memory,
                    "memory.swap.max": 0,
                    "memory.oom.group": 1,
                    "pids.max": bounds.processes,
                    "cpu.max": f"{quota} {_PERIOD_MICROSECONDS}",
                }
            ]
        else:
            settings = [
                {"memory.limit_in_bytes": bounds.memory},
                {"pids.max": bounds.processes},
                {"cpu.cfs_quota_us": quota, "cpu.cfs_period_us": _PERIOD_MICROSECONDS},
            ]
        for path, values in zip(self._paths, settings, strict=True):
            for key, value in values.items():
                # The CPU and swap controllers may be absent where memory and pids are not.
                if (path / key).exists() or key in ("memory.max", "pids.max", "memory.limit_in_bytes"):
                    _write(f"{path}/{key}", str(value))
        self._bounds = bounds

    def adjust(self, bounds: CgroupBounds) -> None:
        """Set other limits. Where the kernel refuses (version 1, if more is in use than would be allowed), those that
        it has remain."""
        before = self._bounds
        try:
            self.limit(bounds)
        except OSError:
            self._bounds = before

    def add(self, pid: int) -> None:
        """Put a process, and so everything that it forks later, into the group."""
        for path in self._paths:
            _write(f"{path}/cgroup.procs", str(pid))

    def out_of_memory(self) -> bool:
        """Whether the kernel killed a process of the group because of memory."""
        name = "memory.events" if self._version == 2 else "memory.oom_control"
        with contextlib.suppress(OSError, StopIteration):
            lines = _read(f"{self._paths[0]}/{name}").splitlines()
            return int(next(line for line in lines if line.startswith("oom_kill ")).split()[1]) > 0
        return False

    def cpu_seconds(self) -> float | None:
        """CPU seconds of every process that was ever in the group; None where the kernel does not count them."""
        with contextlib.suppress(OSError, StopIteration, ValueError):
            if self._version == 2:
                lines = _read(f"{self._paths[0]}/cpu.stat").splitlines()
                return int(next(line for line in lines if line.startswith("usage_usec ")).split()[1]) / 1e6
            return int(_read(f"{self._paths[2]}/cpuacct.usage")) / 1e9  # where cpu and cpuacct share a mount
        return None

    def kill(self) -> None:
        """Kill every process in the group: version 2 only, where the kernel has cgroup.kill."""
        if self._version == 2:
            with contextlib.suppress(OSError):
                _write(f"{self._paths[0]}/cgroup.kill", "1")

    def busy(self) -> bool:
        """Whether a process is in the group; one that has ended is not, even before it is reaped."""
        return any(_read(f"{path}/cgroup.procs") for path in self._paths[:1])

    def reaped(self) -> bool:
        """Whether no ended process counts against its limit on processes any more, or the group is gone."""
        try:
            return _read(f"{self._paths[0 if self._version == 2 else 1]}/pids.current") == "0\n"
        except OSError:
            return True

    def give_back(self) -> None:
        """Keep the group for another session if it is empty and no process was killed for memory; else remove it."""
        self._uses += 1
        try:
            clean = not self.busy() and not self.out_of_memory()
        except OSError:
            clean = False
        if clean and self._uses < _USES and len(_empty) < _EMPTY:
            _empty.append(self)
        else:
            self.remove()

    def remove(self) -> bool:
        """Remove the group; returns whether it is gone. A busy one is tried again when the host process exits."""
        busy = False
        for path in self._paths:
            try:
                path.rmdir()
            except FileNotFoundError:
                pass
            except OSError:
                busy = True
        if not busy:
            _live.discard(self)
        return not busy


@atexit.register
def _remove_all() -> None:
    # Registered before the zygote's exit handler, so it runs after that one: the processes are gone by now.
    for group in list(_live):
        group.remove()


def join(process: int) -> Group | str:
    """Put the process of this pidfd into a group, and return that, limits not yet set; or the reason why not."""
    found = parents(os.getpid())
    if isinstance(found, str):
        return found
    group, used = _unused(), True
    if group is None:
        try:
            group, used = Group(found), False
        except OSError as error:
            return str(error)
    try:
        if (pid := pidfd.pid_of(process)) is None:
            raise ProcessLookupError("the process is gone, or hidden from /proc")
        group.add(pid)
    except OSError as error:
        group.remove()
        return join(process) if used else str(error)  # a reused group may have been removed from outside
    return group


def expect_join(process: int) -> None:
    """Have the kernel ready for a `join`: the first move of a process in a while waits 6 to 16 ms for all processors.

    `process` is the pid of a child of ours, which is moved to where it is. Only in version 1, where the groups of
    sessions are below the host's own: the delegated directory of version 2 is another one.
    """
    found = parents(os.getpid())
    if not isinstance(found, str) and found.version == 1:
        with contextlib.suppress(OSError):
            _write(f"{found.directories[0]}/cgroup.procs", str(process))


def _unused() -> Group | None:
    """A group that a session gave back, the oldest first: its zygote has had the most time to reap the last process."""
    with contextlib.suppress(IndexError):  # another thread may take the last one
        for _ in range(len(_empty)):
            group = _empty.pop(0)
            if group.reaped():
                return group
            _empty.append(group)
    return None


# Not through pathlib and io, whose layers take several times as long as the kernel.
def _read(path: str) -> str:
    """The text of a small file. Raises OSError."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(fd, _FILE_BYTES).decode("ascii")
    finally:
        os.close(fd)


def _write(path: str, text: str) -> None:
    """Write a file in one call, as the kernel wants it. Raises OSError."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
    try:
        os.write(fd, text.encode("ascii"))
    finally:
        os.close(fd)


def _forget() -> None:
    _live.clear()
    _empty.clear()


# A forked child must not use its parent's groups, nor remove them.
at_fork(after_in_child=_forget)
