"""What attacks aim at: files, listeners, a process and secrets of this host, planted and watched.

Every secret is random and belongs to one target, so a secret in a session's output proves that a wall was broken.
Nothing here trusts an attack's claim where the host can check for itself.

Guards: the canaries that an attack aims at, and what became of them
"""

from __future__ import annotations

import contextlib
import json
import os
import platform
import re
import secrets
import signal
import socket
import stat
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from rlm_secure.removal import remove
from rlm_secure.testing import arena, nested, yardstick
from rlm_secure.testing.processes import bystander

#: Machine code that returns 42, by machine.
_FORTY_TWO = {"x86_64": "b82a000000c3", "aarch64": "40058052c0035fd6"}
#: Where programs leave files that outlive them.
_SHARED_PLACES = (Path("/dev/shm"), Path("/tmp"), Path("/var/tmp"))  # noqa: S108 - searched for leftovers
_SETTLE_SECONDS = 1.5
_STEADY_LOOKS = 5
#: The listeners, by name. Those without a path exist as long as the target.
_ADDRESSES: Mapping[str, tuple[int, int, Any]] = {
    "port": (socket.AF_INET, socket.SOCK_STREAM, ("127.0.0.1", 0)),
    "udp": (socket.AF_INET, socket.SOCK_DGRAM, ("127.0.0.1", 0)),
    "abstract": (socket.AF_UNIX, socket.SOCK_STREAM, "\0{tag}"),
    "socket": (socket.AF_UNIX, socket.SOCK_STREAM, "{directory}/socket"),
    "datagram": (socket.AF_UNIX, socket.SOCK_DGRAM, "{directory}/datagram"),
}
#: Limits of what is examined: an attack may leave any number of files, bytes and messages.
_MOST_ENTRIES, _MOST_BYTES, _MOST_HEARD = 10_000, 1 << 10, 1_000
_OCTAL = re.compile(r"\\([0-7]{3})")
_TAG = re.compile("rlmsecure[0-9a-f]{12}")
#: What a sandbox may insert into a long line: line breaks and colour codes.
_BREAKS = re.compile(r"\x1b\[[0-9;]*m|\s+")
_CALL_NAME = re.compile(r'\bcall\("([a-z0-9_]+)"')


@dataclass(frozen=True, slots=True)
class Bounds:
    """The limits that an attack is told and tries to exceed: seconds of a cell and of grace, bytes, model calls."""

    seconds: float = 0.4
    grace: float = 0.2
    memory_bytes: int = 96 << 20
    stdout_bytes: int = 64 << 10
    result_bytes: int = 1 << 20
    calls: int = 3


@dataclass(frozen=True, slots=True)
class HostFacts:
    """The host process of a session, and the address of the secret in its memory."""

    pid: int
    address: int


class Target:
    """One set of canaries. A context manager: leaving it removes everything.

    While it exists, the environment of this process holds a secret in a variable named after this target. It can be
    created in an arena only (arena.require). Mounts of an attack on it are removed, never entered. Raises NotInArena.
    """

    def __init__(self) -> None:
        arena.require()
        yardstick.shared()  # started before any attack, so that it never counts as a leftover of one
        self.tag = f"rlmsecure{secrets.token_hex(6)}"
        #: The place of a secret -> the secret.
        self.secrets: Mapping[str, str] = {
            place: f"{place}-{secrets.token_hex(16)}"
            for place in ("file", "variable", "descriptor", "memory", "command-line")
        }
        self._open = contextlib.ExitStack()
        try:
            self._plant()
        except BaseException:  # including Ctrl-C: remove what is planted
            self._open.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Remove every canary. Idempotent."""
        self._open.close()

    # -- planting ---------------------------------------------------------------------------------

    def _plant(self) -> None:
        self.directory = Path(tempfile.mkdtemp(prefix=self.tag))
        self._open.callback(lambda: remove(self.directory))
        self._open.callback(self._tidy)
        self._listeners: dict[str, socket.socket] = {}
        self._open.callback(self._hang_up, *_ADDRESSES)
        self._listen("port", "udp", "abstract")
        self._furnish()
        os.environ[self.tag] = self.secrets["variable"]
        self._open.callback(os.environ.pop, self.tag, None)
        self._memory = self.secrets["memory"].encode()
        self.descriptor = os.memfd_create(self.tag)
        self._open.callback(os.close, self.descriptor)
        os.write(self.descriptor, self.secrets["descriptor"].encode())
        os.set_inheritable(self.descriptor, True)
        self._stand_by()
        self._open.callback(self._end_bystander)
        self._snapshot = self._state()
        self._processes: set[int] = set()
        self._tagged: frozenset[int] = frozenset()

    def _stand_by(self) -> None:
        self._bystander = bystander(self.environment, self.secrets["command-line"])
        self._stood = _stance(self._bystander.pid)

    def _furnish(self) -> None:
        # Every user may access everything: a wall must stop the attack, not a file mode.
        self.directory.chmod(0o755)
        for name, text, mode in (("canary", self.secrets["file"], 0o644), ("victim", "as it was\n", 0o666)):
            with (self.directory / name).open("x", encoding="utf-8") as file:
                file.write(text)
                os.fchmod(file.fileno(), mode)
        (self.directory / "link").symlink_to(self.directory / "canary")
        (self.directory / "inbox").mkdir()
        (self.directory / "inbox").chmod(0o777)
        self._listen("socket", "datagram")
        for name in ("socket", "datagram"):
            (self.directory / name).chmod(0o666)
        for path in (*self.directory.iterdir(), self.directory):
            nested.planted(str(path))

    def _listen(self, *names: str) -> None:
        for name in names:
            family, kind, address = _ADDRESSES[name]
            listener = self._listeners[name] = socket.socket(family, kind)
            listener.setblocking(False)
            if isinstance(address, str):
                address = address.format(tag=self.tag, directory=self.directory)
            listener.bind(address)
            if kind is socket.SOCK_STREAM:
                listener.listen(64)

    def _hang_up(self, *names: str) -> None:
        for name in names:
            if name in self._listeners:
                self._listeners.pop(name).close()

    @property
    def environment(self) -> dict[str, str]:
        """The secret variable, for the environment of a process without walls."""
        return {self.tag: self.secrets["variable"]}

    @property
    def host_environment(self) -> dict[str, str]:
        """The environment for a host of foreign sessions: this process's own, without other targets' variables."""
        others = {name: value for name, value in os.environ.items() if not _TAG.fullmatch(name)}
        return others | self.environment

    def facts(self, source: str, bounds: Bounds, host: HostFacts | None = None) -> dict[str, Any]:
        """TARGET: everything that an attack may know, without any secret.

        `source` is the attack's code, for the system calls that it names; `bounds` are the limits of its session;
        `host` is its host process if that is not this one.
        """
        # CPython stores the data of a bytes object after its header; __basicsize__ includes one byte for the NUL.
        host = host or HostFacts(os.getpid(), id(self._memory) + bytes.__basicsize__ - 1)
        return {
            "tag": self.tag,
            "file": str(self.directory / "canary"),
            "link": str(self.directory / "link"),
            "victim": str(self.directory / "victim"),
            "directory": str(self.directory),
            "inbox": str(self.directory / "inbox"),
            "variable": self.tag,
            "fd": self.descriptor,
            "port": self._listeners["port"].getsockname()[1],
            "udp": self._listeners["udp"].getsockname()[1],
            "abstract": self.tag,
            "socket": str(self.directory / "socket"),
            "datagram": str(self.directory / "datagram"),
            "bystander": self._bystander.pid,
            "host": host.pid,
            "address": host.address,
            "length": len(self._memory),
            "seconds": bounds.seconds,
            "memory_bytes": bounds.memory_bytes,
            "stdout_bytes": bounds.stdout_bytes,
            "calls": bounds.calls,
            "code": _FORTY_TWO.get(platform.machine(), ""),
            "numbers": _numbers(source),
        }

    # -- watching ---------------------------------------------------------------------------------

    def leaked(self, text: str) -> list[str]:
        """The places whose secret is in `text`, even if line breaks or colour codes interrupt it."""
        texts = (text, _BREAKS.sub("", text))
        return [place for place, secret in self.secrets.items() if any(secret in each for each in texts)]

    def heard(self) -> list[str]:
        """The listeners that something reached since the last call."""
        reached = dict.fromkeys(self._listeners, 0)
        for name, listener in self._listeners.items():
            with contextlib.suppress(BlockingIOError):
                while reached[name] < _MOST_HEARD:  # a sender that never stops must not block this loop
                    if listener.type is socket.SOCK_STREAM:
                        listener.accept()[0].close()
                    else:
                        listener.recv(1024)
                    reached[name] += 1
        return [name for name, times in reached.items() if times]

    def deaf(self) -> bool:
        """Whether this process cannot reach its own listener: then an attack changed the network that they share."""
        try:
            with socket.create_connection(self._listeners["port"].getsockname(), timeout=1):
                self._listeners["port"].accept()[0].close()
            return False
        except OSError:
            return True

    def mounted(self, host: HostFacts | None = None) -> list[str]:
        """Mount points on the target now, as seen by this process, and by its session's host if that still runs."""
        points = set(_mount_points("self"))
        with contextlib.suppress(OSError):
            points.update(_mount_points(str(host.pid)) if host else ())
        return sorted(point for point in points if f"{point}/".startswith(f"{self.directory}/"))

    def damage(self) -> list[str]:
        """Paths under the target's directory that are new, missing or changed."""
        now = self._state()
        return sorted(path for path in {*now, *self._snapshot} if now.get(path) != self._snapshot.get(path))

    def signalled(self, patience: float = 0.0) -> bool:
        """Whether the bystander was ended, stopped, traced or changed; waits up to `patience` seconds (Stopwatch)."""
        watch = yardstick.Stopwatch()
        while True:
            if self._bystander.poll() is not None or _stance(self._bystander.pid) != self._stood:
                return True
            if watch.given >= patience:
                return False
            time.sleep(0.01)

    def count_processes(self) -> None:
        """Record the processes, for `leftovers`, once their number is stable: a foreign pool may still be filling."""
        watch = yardstick.Stopwatch()
        steady = 0
        while steady < _STEADY_LOOKS and watch.given < _SETTLE_SECONDS:
            found = self._own_processes()
            steady = steady + 1 if len(found) == len(self._processes) else 0
            self._processes = found
            time.sleep(0.02)
        self._tagged = frozenset(self._carriers())

    def leftovers(self, *, replaced: bool = False) -> list[str]:
        """Files, and processes since the last count, that still exist after they had time to end.

        `replaced`: only as many as there are more now, as a foreign pool may have replaced some with new ones.
        """
        watch = yardstick.Stopwatch()
        while (found := self._remains(replaced=replaced)) and watch.given < _SETTLE_SECONDS:
            time.sleep(0.02)
        return found

    def reset(self) -> None:
        """Prepare for the next attack: restore what the last one changed, and discard what the listeners received."""
        if self.deaf():
            with contextlib.suppress(OSError):  # if it cannot be repaired, the next attempt reports it
                nested.loopback()
        self.heard()
        if self.mounted() or self.damage():
            self._hang_up("socket", "datagram")
            remove(self.directory)
            # A new name, which no attack knows yet: nothing can have been planted there.
            self.directory = Path(tempfile.mkdtemp(prefix=self.tag))
            self._furnish()
            self._snapshot = self._state()
        if self.signalled() or self._slowed():
            self._end_bystander()
            self._stand_by()
        self._tidy()

    def _slowed(self) -> bool:
        """Whether the bystander has another priority than this process: it would react late."""
        # Even if it is dead, its pid is not reused until it is waited for.
        return os.getpriority(os.PRIO_PROCESS, self._bystander.pid) != os.getpriority(os.PRIO_PROCESS, 0)

    def end_strays(self, *kept: int) -> None:
        """Kill what attempts left running: processes with this target's variable, except its bystander and `kept`."""
        for pid in self._carriers() - {*kept, self._bystander.pid}:
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)

    def _tidy(self) -> None:
        for path in self._shared_files():
            remove(path)

    def _state(self) -> dict[str, tuple[Any, ...]]:
        """The state of the target's directory, by path. What is mounted on it is not entered."""
        covered = set(self.mounted())
        state: dict[str, tuple[Any, ...]] = {}
        ahead = [str(self.directory)]
        while ahead and len(state) < _MOST_ENTRIES:
            path = ahead.pop()
            if path in covered:
                state[path] = ("covered",)
                continue
            with contextlib.suppress(OSError):  # removed meanwhile: then it has no state
                state[path] = _looks(path)
                if stat.S_ISDIR(state[path][0]):
                    ahead += [entry.path for entry in os.scandir(path)]
        return state

    def _remains(self, *, replaced: bool) -> list[str]:
        found = [str(path) for path in self._shared_files()]
        now = self._own_processes()
        since = len(now) - len(self._processes) if replaced else len(now - self._processes)
        # Both counts: what a pool has replaced does not carry our variable.
        more = max(since, len(self._carriers() - self._tagged))
        return found + ([f"{more} processes"] if more > 0 else [])

    def _shared_files(self) -> Iterator[Path]:
        seen = 0
        for place in _SHARED_PLACES:
            for above, directories, files in os.walk(place):
                paths = [Path(above, name) for name in directories]
                directories[:] = [path.name for path in paths if path != self.directory and not _read_only(path)]
                yield from (Path(above, name) for name in (*directories, *files) if self.tag in name)
                directories[:] = [name for name in directories if self.tag not in name]
                seen += len(directories) + len(files)
                if seen > _MOST_ENTRIES:
                    break

    def _own_processes(self) -> set[int]:
        """Processes with this target's variable, and those with no target's variable that this process started.

        In an arena the latter are all others except the ancestors: an orphan without variables can only be an attack's.
        What our own sessions are forked from is not counted: on a busy machine it may be prepared at any time.
        """
        from rlm_secure.environments.local import pool  # not above: this file is imported without Linux, too

        descendants = {process.pid for process in psutil.Process().children(recursive=True)}
        if arena.inside():
            above = {process.pid for process in (psutil.Process(), *psutil.Process().parents())}
            descendants = set(psutil.pids()) - above
        found = set()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                names = process.environ()
                if self.tag in names or (process.pid in descendants and not any(map(_TAG.fullmatch, names))):
                    found.add(process.pid)
        return found - pool.pids()  # asked last: what was being prepared may be ready now

    def _carriers(self) -> set[int]:
        """Processes with this target's variable in their environment."""
        found = set()
        for process in psutil.process_iter():
            with contextlib.suppress(psutil.Error, OSError):
                if self.tag in process.environ():
                    found.add(process.pid)
        return found

    def _end_bystander(self) -> None:
        self._bystander.kill()
        self._bystander.wait()


def _stance(pid: int) -> tuple[object, ...]:
    """The state of a process that only waits: stopped or traced, its signal masks, its command line and environment.

    A tracer receives its signals first; an attack that can write its memory could make it ignore them, or change what
    /proc shows of it.
    """
    try:
        with open(f"/proc/{pid}/status", encoding="ascii", errors="replace") as file:  # noqa: PTH123
            about = {name: value.strip() for name, value in (line.split(":", 1) for line in file)}
        said = [Path(f"/proc/{pid}/{name}").read_bytes() for name in ("cmdline", "environ")]
    except OSError:
        return ("about to end",)
    held = about["State"][0] in "Tt"
    return held, *(about[name] for name in ("TracerPid", "SigBlk", "SigIgn", "SigCgt")), *said


def _mount_points(process: str) -> list[str]:
    with open(f"/proc/{process}/mountinfo", encoding="utf-8", errors="surrogateescape") as file:  # noqa: PTH123
        points = [line.split(" ", 5)[4] for line in file]
    return [_OCTAL.sub(lambda code: chr(int(code[1], 8)), point) if "\\" in point else point for point in points]


def _read_only(path: Path) -> bool:
    """Whether `path` is on a read-only mount, so need not be searched: a checkout that an arena shares may be large."""
    with contextlib.suppress(OSError):
        return bool(os.statvfs(path).f_flag & os.ST_RDONLY)
    return False


def _looks(path: str) -> tuple[Any, ...]:
    about = os.lstat(path)
    changes: tuple[Any, ...] = ()
    if not stat.S_ISDIR(about.st_mode):  # times and links of a directory follow from its entries, which are listed too
        times = (about.st_ctime_ns, about.st_mtime_ns)
        changes = (about.st_ino, *times, about.st_nlink, about.st_size, _content(path, about.st_mode))
    extra = tuple(os.listxattr(path, follow_symlinks=False))
    return (about.st_mode, about.st_uid, about.st_gid, *changes, extra)


def _content(path: str, mode: int) -> bytes:
    if not stat.S_ISREG(mode):
        return b""
    try:
        fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except PermissionError:  # an attack changed its mode, which is recorded as a change
        return b""
    try:
        return os.pread(fd, _MOST_BYTES, 0)
    finally:
        os.close(fd)


def _numbers(source: str) -> dict[str, int]:
    """The numbers of the system calls that `source` makes by name; -1 if this machine does not have one."""
    names = sorted(set(_CALL_NAME.findall(source)))
    if not names:
        return {}
    import pyseccomp

    return {name: pyseccomp.resolve_syscall(pyseccomp.Arch.NATIVE, name) for name in names}


def prelude_cell(facts: Mapping[str, Any]) -> str:
    """A cell that binds TARGET. JSON of plain strings and numbers is valid Python."""
    return f"TARGET = {json.dumps(facts)}\n"
