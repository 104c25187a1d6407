"""The host's handle on a zygote: one clean process that forks sealed sessions on request.

A host process has one zygote for each way to build walls; launch.py starts its process. It ends with all its sessions
when its control socket closes or the host dies.

Guards: how the zygote is told what it is for, and how its answers are validated
"""

from __future__ import annotations

import atexit
import contextlib
import json
import os
import select
import socket
import subprocess
import threading
import time
import weakref
import zoneinfo
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from rlm_secure.broker.protocol import decode
from rlm_secure.environments import user_ids
from rlm_secure.environments.local import cgroup, idle, image, launch, packages, pidfd, startup
from rlm_secure.environments.local.prefork import PreforkedProcess, ProcessSetup
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.seccomp import compile_profile
from rlm_secure.errors import EnvironmentUnavailable, ProtocolViolation
from rlm_secure.policy import shipped
from rlm_secure.resources import policy_names

_MESSAGE = 256 * 1024
#: An answer but the first. For a buffer of 128 kB or more, malloc asks the kernel for pages, and returns them.
_ANSWER = 4096
_BOOT_SECONDS = 60.0
_ANSWER_SECONDS = 15.0
_END_SECONDS = 2.0
#: A zygote is replaced after this many sessions or seconds: its children share hash seed and memory layout.
_SESSIONS = 1_000
_AGE_SECONDS = 3600.0
#: The part of either after which the next one is started, while no session waits for it.
_NEARLY = 0.9


@dataclass(frozen=True, slots=True)
class Plan:
    """How the walls of a zygote's sessions are built: everything on, except in tests of single walls."""

    namespaces: bool = True
    landlock: bool = True
    seccomp: bool = True
    rlimits: bool = True
    mdwe: bool = True
    packages: tuple[str, ...] = ()
    """The third-party packages that it imports: each set has a zygote of its own."""


class Zygote:
    """One zygote process. Thread-safe."""

    def __init__(self, plan: Plan) -> None:
        self.plan = plan
        self.walls: Mapping[str, tuple[str, str]] = {}
        self.details: Mapping[str, Any] = {}
        self.sessions = 0
        self._live = 0
        self._retired = False
        self._lock = threading.RLock()  # a dropped session is ended by the garbage collector, in any thread
        self._asking = False
        self._preforked = PreforkedProcess()
        self._started = time.monotonic()
        self._control, self._process, self._errors = launch.take()
        self._boot()

    @property
    def worn(self) -> bool:
        """Whether it should be replaced by a fresh one."""
        return self._used_up(1.0)

    @property
    def running(self) -> bool:
        """Whether it still accepts requests."""
        return not self._retired and self._control.fileno() >= 0 and self._process.poll() is None

    def fork(self, setup: ProcessSetup) -> SessionProcess:
        """A process for a new session, with `setup` sent to it; it answers with `ready`.

        A setup that is requested twice is prepared in advance from then on. Raises EnvironmentUnavailable.
        """
        process = self._preforked.take(setup) or self.spawn(setup)
        with self._lock:
            self.sessions += 1
        idle.watch(self)
        return process

    def spawn(self, setup: ProcessSetup, *, warm: bool = False) -> SessionProcess:
        """A new process for the caller alone, with `setup` sent to it; `warm` has it run a cell before it is sealed.

        Raises EnvironmentUnavailable.
        """
        process = self._preforked.blank() or self._forked(*self._ask({"op": "fork"}))
        process.zygote = self
        try:
            # Small enough not to block on an empty socket. The zygote itself does not see it.
            process.connection.sendall(setup.frame(warm=warm))
        except OSError as error:
            process.end()
            raise EnvironmentUnavailable(f"a session died before it began: {error}") from None
        except BaseException:  # Ctrl-C as well: the process must not outlive it
            process.end()
            raise
        return process

    def _forked(self, answer: Mapping[str, Any], fds: list[int]) -> SessionProcess:
        if "pid" not in answer or len(fds) != 2:
            for fd in fds:
                os.close(fd)
            raise EnvironmentUnavailable(f"the zygote could not start a session: {answer.get('error', 'no pidfd')}")
        with self._lock:
            self._live += 1
        # Its session refers to us, so that we live as long; a blank one does not, so that we end at once if nobody has
        # us, as after a Ctrl-C.
        return SessionProcess(socket.socket(fileno=fds[0]), fds[1], int(answer["pid"]), weakref.proxy(self))

    def _keep_first(self, answer: Mapping[str, Any], fds: list[int]) -> None:
        """Keep the session that was forked while the walls were tested. Where there is none, the next request says why.
        """
        with contextlib.suppress(EnvironmentUnavailable):
            self._preforked.keep(self._forked(answer, fds), grouped=self.plan.rlimits)

    def while_idle(self) -> None:
        """Prepare what the next session would wait for: its process, or the zygote that comes after this one."""
        with contextlib.suppress(EnvironmentUnavailable):
            if self.running and self._used_up(_NEARLY):
                _renew(self)
            elif self.running:
                self._preforked.prepare(self)

    def pids(self) -> set[int]:
        """Its processes and those of sessions to come, as this process sees them: no code of a session runs there.

        May contain 0, for one that is gone.
        """
        own = {self._process.pid}
        with contextlib.suppress(OSError):
            own |= {pid for pid in pidfd.children(self._process.pid) if pidfd.is_init(pid)}
        return own | {pidfd.pid_of(each.pidfd) or 0 for each in self._preforked.processes()}

    def status(self, pid: int) -> int | None:
        """The wait status of an ended session, or None when it is no longer known."""
        try:
            answer, _ = self._ask({"op": "status", "pid": pid})
        except EnvironmentUnavailable:
            return None
        status = answer.get("status")
        return status if isinstance(status, int) else None

    def released(self) -> None:
        """Called when a session of this zygote is gone; a retired zygote ends with its last one."""
        with self._lock:
            self._live -= 1
            last = self._retired and self._live <= 0
        if last:
            self.close()

    def retire(self) -> None:
        """Stop accepting new sessions; end when the last session is gone."""
        with self._lock:
            self._retired = True
        self._preforked.clear()
        with self._lock:
            last = self._live <= 0
        if last:
            self.close()

    def close(self) -> None:
        """End the zygote and all its sessions, and wait for it. Idempotent."""
        self._retired = True
        self._preforked.clear()
        self._control.close()
        if not self._ended(_END_SECONDS):
            self._process.kill()
        self._process.wait()

    def forget(self) -> None:
        """In a forked child of the host: close our copy of the descriptors, and leave the process alone."""
        self._preforked.forget()
        self._control.close()
        self._process.returncode = 0  # not our child: keeps Popen from waiting for it

    def _ended(self, seconds: float) -> bool:
        """Whether the process has ended, or does within `seconds`. Popen would look every few milliseconds."""
        if self._process.poll() is not None:
            return True
        with contextlib.suppress(OSError):
            handle = os.pidfd_open(self._process.pid)  # its pid until it is waited for
            try:
                return pidfd.ended(handle, seconds)
            finally:
                os.close(handle)
        try:
            self._process.wait(timeout=seconds)
        except subprocess.TimeoutExpired:
            return False
        return True

    def _used_up(self, part: float) -> bool:
        return self.sessions >= part * _SESSIONS or time.monotonic() - self._started > part * _AGE_SECONDS

    def _boot(self) -> None:
        profiles = {
            name: compile_profile(name).hex() if self.plan.seccomp else None for name in ("worker", "worker-checkpoint")
        }
        config = {
            "host_pid": os.getpid(),
            "uid": user_ids.unused(),
            "namespaces": self.plan.namespaces,
            "landlock": self.plan.landlock,
            "mdwe": self.plan.mdwe,
            "profiles": profiles,
            # Of the shipped policies only: the zygote does not depend on any caller's policy.
            "modules": [shipped.policy(name).language.modules for name in policy_names()],
            "zones": zoneinfo.TZPATH,
            "packages": {"names": self.plan.packages, "paths": packages.folders(self.plan.packages)},
        }
        try:
            booted, _ = self._ask(config, seconds=_BOOT_SECONDS, limit=_MESSAGE, forked=self._keep_first)
        except BaseException as error:  # Ctrl-C as well: the first session must not outlive it
            self._control.close()
            self._preforked.clear()
            if not isinstance(error, EnvironmentUnavailable):
                raise
            raise EnvironmentUnavailable(
                f"the sandbox's first process did not start: {startup.ending(self._process, self._errors)}; set "
                "RLM_SECURE_DEBUG_ZYGOTE=1 to see all that it writes"
            ) from None
        finally:
            os.close(self._errors)
        self.walls = {name: (level, evidence) for name, (level, evidence) in booted["walls"].items()}
        self.details = booted["details"]

    def _ask(
        self,
        message: Mapping[str, Any],
        seconds: float = _ANSWER_SECONDS,
        limit: int = _ANSWER,
        forked: Callable[[dict[str, Any], list[int]], None] | None = None,
    ) -> tuple[dict[str, Any], list[int]]:
        """The answer to `message`, and the descriptors that came with it.

        With `forked`, a session is asked for at the same time, and `forked` gets that answer, which comes earlier.
        """
        with self._lock:
            if self._asking:  # the garbage collector ends a session in the thread that waits for another answer
                raise EnvironmentUnavailable("the zygote is asked something else; try again")
            received: list[int] = []
            try:  # Ctrl-C may come at any point: answers are matched by id, not counted
                self._asking = True
                until = time.monotonic() + seconds
                # An answer to an earlier request may still arrive, if its caller was interrupted or gave up.
                name, early = os.urandom(8).hex(), os.urandom(8).hex()
                self._control.send(json.dumps({**message, "id": name}).encode())
                if forked is not None:
                    self._control.send(json.dumps({"op": "fork", "id": early}).encode())
                    if self.plan.rlimits and self._process.poll() is None:  # while nothing else is to be done
                        cgroup.expect_join(self._process.pid)
                    image.read()
                poll = select.poll()
                poll.register(self._control, select.POLLIN)
                while True:
                    left = until - time.monotonic()
                    if left < 0 or not poll.poll(left * 1000):
                        raise EnvironmentUnavailable(f"the zygote did not answer within {seconds:g} s")
                    data, received, _, _ = socket.recv_fds(self._control, limit, 4)
                    if not data:
                        raise ConnectionResetError("it closed its socket")
                    answer = decode(data, limit=limit)
                    if answer.get("id") == name:
                        return answer, received
                    if forked is not None and answer.get("id") == early:
                        mine, received = received, []
                        forked(answer, mine)
                        continue
                    for fd in received:  # no caller waits for this session: it ends when its socket closes
                        os.close(fd)
                    received = []
            except (OSError, ValueError, ProtocolViolation) as error:  # ValueError: closed by another thread, at exit
                for fd in received:
                    os.close(fd)
                self._retired = True
                raise EnvironmentUnavailable(f"the zygote is gone: {error}") from None
            finally:
                self._asking = False


_zygotes: dict[Plan, Zygote] = {}
_registry = threading.Lock()


def zygote(plan: Plan) -> Zygote:
    """The running zygote for `plan`; starts one if there is none, it died, or it is worn."""
    with _registry:
        current = _zygotes.get(plan)
        if current is not None and current.running and not current.worn:
            return current
        fresh = Zygote(plan)
        _zygotes[plan] = fresh
        if current is not None:
            current.retire()
        return fresh


def running() -> list[Zygote]:
    """The zygotes that fork sessions now."""
    return list(_zygotes.values())


def _renew(old: Zygote) -> None:
    """Put a fresh zygote in the place of `old`. Raises EnvironmentUnavailable where none can be started."""
    fresh = Zygote(old.plan)  # takes seconds where it imports packages: sessions are forked from `old` meanwhile
    with _registry:
        placed = _zygotes.get(old.plan) is old
        if placed:
            _zygotes[old.plan] = fresh
    (old if placed else fresh).retire()


def _forget_all() -> None:
    # After os.fork() the child must not share a control socket: two processes reading answers would mix them.
    global _registry
    _registry = threading.Lock()
    for each in _zygotes.values():
        each.forget()
    _zygotes.clear()


@atexit.register
def _close_all() -> None:
    while _zygotes:
        _zygotes.popitem()[1].close()


os.register_at_fork(after_in_child=_forget_all)
