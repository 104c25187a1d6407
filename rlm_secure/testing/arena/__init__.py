"""The arena: a disposable process tree for everything that may run an attack.

An arena has its own user, mount, PID, network, IPC, UTS, cgroup and, if the kernel supports them, time namespaces. The
host's files are visible read-only and without its secrets; /tmp, /var/tmp, /dev/shm and /proc are the arena's own. Its
network is a loopback only, rlimits and a cgroup limit it as a whole, and it is killed as a whole. Root inside has no
privileges outside. What it needs from the host is shared by name. build.py builds it; if that fails, nothing runs.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import IO, Any, Self

import psutil

from rlm_secure.environments.local import cgroup, machine, startup
from rlm_secure.errors import EnvironmentUnavailable, RLMSecureError
from rlm_secure.removal import remove
from rlm_secure.testing import nested
from rlm_secure.testing.arena.paths import PRIVATE, Share, closed_above, hidden, host_sockets, needed, within
from rlm_secure.testing.arena.relay import Relay
from rlm_secure.testing.processes import descendants
from rlm_secure.untrusted_json import loads

_BUILD = Path(__file__).with_name("build.py")
#: A file that exists only in an arena. Nothing inside can create it: /run is read-only there.
MARK = "/run/rlm-secure-arena"
#: uids of arenas that root builds: above those that distributions, container engines and directories (sssd) assign.
_FIRST_UID, _UIDS, _RANGES = 2_001_000_000, 65_536, 2_200
_PROCESSES = 4_096
_SCRATCH_BYTES = 2 << 30
_MEMORY_SHARE = 0.8
_REMOVE_TRIES = 50
_NETWORK = "the host's network"
#: Same as build.STANDS; build.py is a program for a bare interpreter, not a module to import.
_STANDS = "stands"
#: Variables that programs need and that hold no secret. Any other is passed explicitly (Arena.variables, `start`).
_VARIABLES = (
    "PATH", "LANG", "LC_ALL", "LC_CTYPE", "TERM", "COLUMNS", "NO_COLOR", "TZ", "CI", "LD_LIBRARY_PATH", "PYTHONPATH",
    "PYTHONHASHSEED", "PYTHONWARNINGS", "VIRTUAL_ENV",
)  # fmt: skip


class ArenaRefused(RLMSecureError):
    """The arena cannot be built here, so nothing was run. The message says what failed."""


class NotInArena(RLMSecureError):
    """An attack was about to run on the machine itself."""


@dataclass(frozen=True, slots=True)
class About:
    """The properties of an arena: what is shared with it, and which protections this machine does not support."""

    shared: tuple[str, ...]
    missing: tuple[str, ...]

    @property
    def network(self) -> bool:
        """Whether its network is the host's."""
        return _NETWORK in self.shared

    def __str__(self) -> str:
        shared = f"shared with it: {', '.join(self.shared)}" if self.shared else "nothing of the host is shared with it"
        return "; ".join((shared, *(f"without {each}" for each in self.missing)))


@dataclass(frozen=True, slots=True)
class Arena:
    """What an arena receives from outside: paths, the host's network, environment variables by name."""

    shares: tuple[Share, ...] = ()
    network: bool = False
    variables: tuple[str, ...] = ()

    def hides(self, paths: Iterable[str]) -> list[str]:
        """Those of `paths` that are not visible inside."""
        covered = (*hidden(), *PRIVATE)
        shown = (*needed(), *(share.path for share in self.shares))
        found = (os.path.realpath(path) for path in paths)
        return [path for path in found if within(path, covered) and not within(path, shown)]

    def start(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        stdin: int | IO[Any] | None = subprocess.DEVNULL,
        stdout: int | IO[Any] | None = None,
        stderr: int | IO[Any] | None = None,
        descriptors: Sequence[int] = (),
    ) -> ArenaProcess:
        """Build an arena and start `command` in it, with `descriptors`, and `environment` besides the usual variables.

        It lives no longer than the thread that started it. Raises ArenaRefused if it cannot be built: then nothing was
        started.
        """
        running = ArenaProcess()
        try:
            running.begin(self, command, environment or {}, (stdin, stdout, stderr), tuple(descriptors))
        except BaseException:  # including Ctrl-C: the caller has no handle to close yet
            running.close()
            raise
        return running


    def judge(self, module: str, told: int) -> ArenaProcess:
        """Start the judge, `python -m MODULE TOLD`, in this process's arena, or in a new one if it is in none.

        It reads from a pipe and writes to the descriptor `told`, never to the caller's terminal or files.
        Raises ArenaRefused.
        """
        for share in self.shares:
            if share.writable and any(within(os.path.realpath(path), [share.path]) for path in sys.path if path):
                raise ArenaRefused(f"--share {share}: the judge imports modules from there; share it read-only")
        # Import nothing from the current directory (-P), nor from the arena's home, which attacks can write (-s).
        command = [sys.executable, "-P", "-s", "-m", module, str(told)]
        if (here := inside()) is None:
            quiet = subprocess.DEVNULL
            return self.start(command, stdin=subprocess.PIPE, stdout=quiet, stderr=quiet, descriptors=(told,))
        running = ArenaProcess()
        running.begin_here(here, command, told)
        return running


class ArenaProcess:
    """A command in an arena. A context manager: leaving it kills the arena as a whole."""

    def __init__(self) -> None:
        self._cleanup = contextlib.ExitStack()
        self._process: subprocess.Popen[bytes] | None = None
        self._relays: list[Relay] = []
        self.about = About((), ())

    @property
    def process(self) -> subprocess.Popen[bytes]:
        """The outermost process: its pipes and its exit status are those of the command."""
        assert self._process is not None
        return self._process

    def begin(
        self,
        arena: Arena,
        command: Sequence[str],
        environment: Mapping[str, str],
        streams: tuple[Any, Any, Any],
        descriptors: tuple[int, ...],
    ) -> None:
        """See Arena.start."""
        try:
            machine.require("an arena", "attack in a virtual machine with Linux")
        except EnvironmentUnavailable as error:
            raise ArenaRefused(str(error)) from None
        first_uid = _FIRST_UID + _UIDS * secrets.randbelow(_RANGES)
        group = self._group()
        missing = _missing(group)
        shared = [str(share) for share in arena.shares] + ([_NETWORK] if arena.network else [])
        shared += [f"the variable {name}" for name in arena.variables if name in os.environ]
        self.about = About(tuple(shared), missing)
        bound = self._bound(arena, first_uid)
        job = {
            "parent": os.getpid(),
            "command": list(command),
            "directory": str(Path.cwd()),
            "environment": _environment(arena) | dict(environment),
            "hidden": _hidden(bound),
            "private": PRIVATE,
            "scratch_bytes": _SCRATCH_BYTES,
            "bound": bound,
            "mark": MARK,
            "about": {"shared": self.about.shared, "missing": self.about.missing},
            "network": arena.network,
            "first_uid": first_uid,
            "uids": _UIDS,
            "limits": {"RLIMIT_CORE": 1, "RLIMIT_NPROC": _PROCESSES, "RLIMIT_FSIZE": 4 * _SCRATCH_BYTES},
            "kept": descriptors,
        }
        self._launch(job, group, streams, descriptors)
        for relay in self._relays:  # mounted in the arena by now
            relay.take_away()

    def begin_here(self, here: About, command: Sequence[str], told: int) -> None:
        """Start `command` in the arena that this process is in. Its descendants are killed with it."""
        self.about = here
        self._process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(told,),
            start_new_session=True,
        )
        self._cleanup.callback(self._kill)

    def _launch(
        self, job: dict[str, Any], group: cgroup.Group | str, streams: tuple[Any, Any, Any], kept: tuple[int, ...]
    ) -> None:
        startup.standard_streams()  # else a descriptor below could get the number of a closed standard stream
        status, told = os.pipe()
        given, giving = os.pipe()
        with os.fdopen(status, "rb") as outcome, os.fdopen(giving, "w") as handing:
            try:
                self._process = subprocess.Popen(
                    [sys.executable, "-I", "-S", "-B", str(_BUILD), str(given)],
                    stdin=streams[0],
                    stdout=streams[1],
                    stderr=streams[2],
                    env=job["environment"],  # pid 1 of the arena keeps it
                    pass_fds=(given, told, *kept),
                    start_new_session=True,
                )
            finally:
                os.close(given)
                os.close(told)
            self._cleanup.callback(self._kill)
            if isinstance(group, cgroup.Group):
                group.add(self._process.pid)  # before it has its job, so every process that it starts is in the group
            with contextlib.suppress(BrokenPipeError):  # it has died; the other pipe says why
                json.dump({**job, "status": told}, handing)
                handing.close()
            # End of file when the arena has been built, or when its builder has died.
            reason = outcome.read().decode("utf-8", "replace")
        if reason != _STANDS:
            reason = reason or "its builder died"
            raise ArenaRefused(f"no arena can be built here, so nothing was attacked: {reason}")

    def wait(self, timeout: float | None = None) -> int:
        """The command's exit status. Raises subprocess.TimeoutExpired after `timeout` seconds."""
        return self.process.wait(timeout)

    def close(self) -> None:
        """Kill everything in the arena, and remove what was created for it. Idempotent."""
        self._cleanup.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _kill(self) -> None:
        # init dies with this process, and then the kernel kills everything in its PID namespace.
        started = descendants(self.process.pid) if inside() else []
        self.process.kill()
        for each in started:
            with contextlib.suppress(psutil.Error):
                each.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout, self.process.stderr):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()

    def _group(self) -> cgroup.Group | str:
        found = cgroup.parents(os.getpid())
        if isinstance(found, str):
            return found
        group = cgroup.Group(found)
        self._cleanup.callback(_remove_group, group)
        memory = int(psutil.virtual_memory().total * _MEMORY_SHARE)
        group.limit(cgroup.CgroupBounds(memory, _PROCESSES, float(os.cpu_count() or 1)))
        return group

    def _bound(self, arena: Arena, first_uid: int) -> list[dict[str, Any]]:
        """What is mounted from the host, and where: the shares, and what Python needs of the paths that are hidden."""
        found: list[dict[str, Any]] = [
            {"source": path, "path": path, "writable": False}
            for path in needed()
            if within(path, (*hidden(), *PRIVATE)) or closed_above([path])
        ]
        found += [
            {"source": self._source(arena, share, first_uid), "path": share.path, "writable": share.writable}
            for share in arena.shares
        ]
        for each in found if os.getuid() == 0 else ():
            _check_others_may_read(each["source"])
        return found

    def _source(self, arena: Arena, share: Share, first_uid: int) -> str:
        """The path to mount for a share: itself, a relay (for a socket that the arena's users may not open), or a new
        directory. Raises ArenaRefused."""
        path = Path(share.path)
        if not path.exists():
            if not share.writable:
                raise ArenaRefused(f"--share {share}: there is no such path")
            if any(other.writable and within(share.path, [other.path]) for other in arena.shares if other != share):
                # A process in the arena could replace it, and our removal would then remove something else.
                raise ArenaRefused(f"--share {share}: make it yourself, it lies in another share that can be written")
            try:
                path.mkdir(mode=0o700)
                self._cleanup.callback(remove, path)
                if os.getuid() == 0:
                    owner = first_uid + nested.ROOT  # root in the arena may write there too
                    os.chown(path, owner, owner, follow_symlinks=False)
            except OSError as error:
                raise ArenaRefused(f"--share {share}: it cannot be made: {error.strerror}") from None
            return share.path
        if path.is_socket() and os.getuid() == 0:
            self._relays.append(self._cleanup.enter_context(Relay(path, uids=(first_uid, first_uid + nested.ROOT))))
            return self._relays[-1].path
        return share.path


def _hidden(bound: list[dict[str, Any]]) -> list[str]:
    shown = [each["path"] for each in bound]
    sockets = {path for path in host_sockets() if not within(path, shown)}
    return sorted({*hidden(), *closed_above(each["source"] for each in bound), *sockets} - {"/"})


def _check_others_may_read(path: str) -> None:
    about = Path(path).stat()
    if about.st_uid == 0 and Path(path).is_dir() and about.st_mode & 0o005 != 0o005:
        raise ArenaRefused(
            f"no arena can be built here: its users are nobody on this machine, and {path} is closed to them; "
            f"open it (chmod o+rx {path}), or run this as its owner and not as root"
        )


def _environment(arena: Arena) -> dict[str, str]:
    wanted = {name: value for name, value in os.environ.items() if name in (*_VARIABLES, *arena.variables)}
    ours = {name: value for name, value in os.environ.items() if name.startswith("RLM_SECURE_")}
    ours.pop("RLM_SECURE_CGROUP", None)  # /sys is read-only in there
    # A container engine outside sees the sockets of its sandboxes only in a directory that it shares with the arena.
    sockets = [share.path for share in arena.shares if share.writable and Path(share.path).is_dir()]
    ours |= {"RLM_SECURE_SOCKETS": sockets[0]} if sockets else {}
    python = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1"}  # everything in the arena can write to its home
    return {"PATH": os.defpath, **wanted, **ours, **python, "HOME": "/tmp"}  # noqa: S108 - its own


def _missing(group: cgroup.Group | str) -> tuple[str, ...]:
    """The protections that this machine cannot give an arena, found out by trying."""
    found = (f"a cgroup ({group})",) if isinstance(group, str) else ()
    try:
        socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).close()
    except OSError:
        return found
    return (*found, "a wall in front of AF_VSOCK, which leads to a hypervisor and belongs to no network namespace")


def _remove_group(group: cgroup.Group) -> None:
    for _ in range(_REMOVE_TRIES):  # the last process of a killed tree leaves its cgroup slightly after its parent
        if group.remove():
            return
        time.sleep(0.02)


# -- from inside ------------------------------------------------------------------------------------

_waived = False


def inside() -> About | None:
    """The arena that this process is in, detected from its mounts and users; None outside of any arena."""
    try:
        about = loads(Path(MARK).read_bytes())
        users = Path("/proc/self/uid_map").read_text(encoding="ascii").split()
    except (OSError, ValueError):
        return None
    sealed = os.statvfs("/").f_flag & os.ST_RDONLY and os.statvfs("/run").f_flag & os.ST_RDONLY
    if not sealed or users[:3] == ["0", "0", "4294967295"]:
        return None
    return About(tuple(about["shared"]), tuple(about["missing"]))


def stand_above() -> None:
    """Make foreign sessions run in a user namespace below this process, if it is in an arena.

    Call it in the main thread of the judge, before it starts any process. Raises ArenaRefused.
    """
    if about := inside():
        try:
            nested.stand_above(network=about.network)
        except OSError as error:
            reason = f"nothing parts the judge from what it judges: {error.strerror or error}"
            raise ArenaRefused(f"nothing was attacked: {reason}") from None


def waive(*, disposable: bool) -> None:
    """Allow attacks on this machine itself from now on. Raises NotInArena for root unless it is `disposable`."""
    global _waived
    if os.geteuid() == 0 and not disposable:
        raise NotInArena(
            "attacks as root and without an arena can destroy this machine; "
            "if it is a throw-away one, add --this-machine-is-disposable"
        )
    _waived = True


def waived() -> bool:
    """Whether attacks run on this machine itself: this process is in no arena, and `waive` was called."""
    return _waived and inside() is None


def outside() -> bool:
    """Whether attacks still need an arena: this process is in none, and `waive` was not called."""
    return not _waived and inside() is None


def require() -> None:
    """Raise NotInArena unless this process is in an arena, or `waive` was called."""
    if outside():
        raise NotInArena(
            "attacks run in an arena only: use `rlm-secure audit`, or put "
            "`python -m rlm_secure.testing.arena --` before your command"
        )
