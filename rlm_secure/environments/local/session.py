"""A local session: one sealed worker, its clock, its channel, and the ways in which it can end."""

from __future__ import annotations

import dataclasses
import json
import os
import select
import signal
import socket
import struct
import threading
import time
from collections.abc import Mapping
from typing import Any

from rlm_secure.broker.protocol import Answer, Call, CellResult, decode, event, ready
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.interface import CallFailed, HostCalls, Session
from rlm_secure.environments.local.context import SharedContext, share
from rlm_secure.environments.local.zygote import Forked, Plan, send_signal, zygote
from rlm_secure.errors import (
    CellCrashed,
    CellError,
    CellRefused,
    CellTimeout,
    EnforcementError,
    EnvironmentUnavailable,
    ProtocolViolation,
    SessionEnded,
    WallViolation,
)
from rlm_secure.guarantees import EnforcementReport, Level, Wall, WallStatus
from rlm_secure.policy.model import Policy

_HEADER = struct.Struct(">I")
#: Longest sleep of a waiting host: an interrupt from another thread takes effect within it.
_SLICE_SECONDS = 0.1
_INTERRUPT_EVERY_SECONDS = 0.05


class _Died(Exception):
    """The worker closed its channel."""


class _Killed(Exception):
    """The host killed the worker; the cause is the CellError to report."""

    def __init__(self, error: CellError) -> None:
        super().__init__(str(error))
        self.error = error


class LocalSession(Session):
    """A sealed worker on this machine. Made by `open_session`."""

    def __init__(self, forked: Forked, policy: Policy, report: EnforcementReport) -> None:
        self.report = report
        self._forked: Forked | None = forked
        self._socket = forked.connection
        self._policy = policy
        self._buffer = bytearray()
        self._owner = os.getpid()
        self._ended = ""
        self._cells = 0
        self._interrupt = threading.Event()
        self._cpu_clock: int | None = None

    @property
    def alive(self) -> bool:
        """Whether execute() can be called."""
        return not self._ended

    def execute(self, code: str, calls: HostCalls, *, seconds: float | None = None) -> CellResult:
        """Run one cell. See Session.execute."""
        limits = self._policy.limits
        self._require()
        if len(code) > self._policy.language.source_bytes:
            reason = f"source-bytes: the cell is longer than language.source_bytes = {self._policy.language.source_bytes}"
            return CellResult(stderr=reason + "\n", error=CellRefused(reason, rule="source-bytes", wall="language"))
        if self._cells >= limits.cells:
            self.close()
            raise SessionEnded(f"the session has run limits.cells = {limits.cells} cells; start a new one")
        self._cells += 1
        wall = limits.cell_seconds if seconds is None else min(seconds, limits.cell_seconds)
        return self._request({"op": "exec", "code": code}, calls, wall)

    def load_context(self, name: str, payload: Any) -> None:
        """Bind `name` to a str, list, dict or an already shared context."""
        shared = payload if isinstance(payload, SharedContext) else share(payload, limit=self._policy.limits.context_bytes)
        try:
            request = {"op": "context", "name": name, "kind": shared.kind, "length": shared.length}
            self._command(request, fds=[shared.fd], seconds=self._policy.limits.start_seconds + shared.size / 20e6)
        finally:
            if shared is not payload:
                shared.close()

    def assign(self, name: str, value: Any) -> None:
        """Bind `name` to a small JSON value."""
        self._command({"op": "assign", "name": name, "value": value})

    def alias(self, name: str, target: str) -> None:
        """Bind `name` to the object of `target`."""
        self._command({"op": "alias", "name": name, "target": target})

    def read_text(self, name: str) -> str | None:
        """`str()` of a variable, computed in the worker under the clock of a cell."""
        self._require()
        result = self._request({"op": "read", "name": name}, _no_calls, self._policy.limits.cell_seconds)
        return result.answer.text if isinstance(result.answer, Answer) else None

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        self._interrupt.set()

    def close(self) -> None:
        """Kill the worker and wait until it is gone. Idempotent."""
        self._end("it was closed")

    def begin(self, request: Mapping[str, Any]) -> None:
        """Send the session's options: the first request of every session."""
        self._command(request)

    # -- one request ------------------------------------------------------------------------------

    def _request(self, request: Mapping[str, Any], calls: HostCalls, wall: float) -> CellResult:
        self._interrupt.clear()
        started = time.monotonic()
        clock = _Clock(wall, self._policy.limits.cell_cpu_seconds, self._cpu_seconds)
        try:
            result = self._converse(request, calls, clock)
        except _Died:
            error = self._post_mortem()
            result = CellResult(stderr=f"{error}\n", error=error)
        except _Killed as killed:
            self._end(str(killed.error))
            result = CellResult(stderr=f"{killed.error}\n", error=killed.error)
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise
        except BaseException:
            # The caller was interrupted in the middle of a frame: nothing later could be told from it.
            self._end("its host was interrupted in the middle of a cell")
            raise
        error = result.error
        if clock.cause is not None and error is not None and error.limit == "limits.cell_seconds":
            # The worker says that it was interrupted; why is the host's to say.
            result = dataclasses.replace(result, error=clock.cause)
        return dataclasses.replace(result, seconds=time.monotonic() - started)

    def _converse(self, request: Mapping[str, Any], calls: HostCalls, clock: _Clock) -> CellResult:
        limits = self._policy.limits
        self._send(request)
        stop: BaseException | None = None
        while True:
            message = decode(self._receive(clock), limit=limits.result_bytes)
            said = event(message, value_bytes=limits.value_bytes)
            if isinstance(said, CellResult):
                if stop is not None:
                    raise stop
                return said
            if stop is not None:
                self._send({"op": "reply", "error": "the run was stopped"})
                continue
            waited = time.monotonic()
            try:
                reply: dict[str, Any] = {"op": "reply", "value": calls(said)}
            except CallFailed as failed:
                reply = {"op": "reply", "error": str(failed)}
            except BaseException as error:  # the run ends here; the worker first comes to rest, then this goes on
                stop = error
                reply = {"op": "reply", "error": "the run was stopped"}
                clock.expire(CellTimeout("the run was stopped", limit="interrupt", wall="wall-clock"))
            if limits.exclude_host_time:
                clock.extend(time.monotonic() - waited)
            self._send(reply)

    def _command(self, request: Mapping[str, Any], *, fds: list[int] | None = None, seconds: float | None = None) -> None:
        """A request that runs no cell; any failure ends the session."""
        self._require()
        clock = _Clock(seconds or self._policy.limits.start_seconds, None, self._cpu_seconds)
        try:
            self._send(request, fds)
            result = event(decode(self._receive(clock), limit=self._policy.limits.result_bytes), value_bytes=1 << 30)
        except _Died:
            raise SessionEnded(str(self._post_mortem())) from None
        except _Killed as killed:
            self._end(str(killed.error))
            raise SessionEnded(str(killed.error)) from None
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise
        if not isinstance(result, CellResult):
            self._end("it broke the protocol")
            raise ProtocolViolation("the sandbox broke the protocol: a call where a result was due")

    # -- the channel ------------------------------------------------------------------------------

    def _send(self, message: Mapping[str, Any], fds: list[int] | None = None) -> None:
        body = json.dumps(message, ensure_ascii=True).encode("ascii")
        frame = memoryview(_HEADER.pack(len(body)) + body)
        deadline = time.monotonic() + self._policy.limits.start_seconds
        try:
            if fds:
                frame = frame[socket.send_fds(self._socket, [frame[:1]], fds) :]
            while frame:
                # A worker that does not read must not hold the host: the write waits under a deadline as well.
                self._socket.settimeout(max(deadline - time.monotonic(), 0.001))
                frame = frame[self._socket.send(frame) :]
        except TimeoutError:
            raise _Killed(self._fatal(CellTimeout, "the worker did not read its request", "limits.start_seconds")) from None
        except OSError:
            raise _Died from None

    def _receive(self, clock: _Clock) -> bytearray:
        (length,) = _HEADER.unpack(self._read(4, clock))
        if length > self._policy.limits.result_bytes:
            limit = self._policy.limits.result_bytes
            raise ProtocolViolation(f"the sandbox broke the protocol: a frame of {length} bytes, limit {limit}")
        return self._read(length, clock)

    def _read(self, size: int, clock: _Clock) -> bytearray:
        buffer = self._buffer
        while len(buffer) < size:
            self._socket.settimeout(clock.slice())
            try:
                chunk = self._socket.recv(max(65536, size - len(buffer)))
            except TimeoutError:
                self._tick(clock)
                continue
            except OSError:
                raise _Died from None
            if not chunk:
                raise _Died
            buffer += chunk
        taken = buffer[:size]
        del buffer[:size]
        return taken

    def _tick(self, clock: _Clock) -> None:
        """Nothing came for a while: interrupt or kill the worker when its time is over."""
        if self._interrupt.is_set():
            clock.expire(CellTimeout("the cell was interrupted by the host", limit="interrupt", wall="wall-clock"))
        cause = clock.over()
        if cause is None:
            return
        if clock.overdue() > self._policy.limits.grace_seconds:
            cause.session_ended = True
            raise _Killed(cause)
        assert self._forked is not None
        send_signal(self._forked.pidfd, signal.SIGUSR1)

    def _cpu_seconds(self) -> float | None:
        """CPU seconds of the worker so far, read from outside; None where /proc does not show it."""
        if self._cpu_clock is None:
            assert self._forked is not None
            try:
                with open(f"/proc/self/fdinfo/{self._forked.pidfd}", encoding="ascii") as lines:  # noqa: PTH123
                    pid = next(int(line.split()[1]) for line in lines if line.startswith("Pid:"))
            except (OSError, StopIteration):
                return None
            self._cpu_clock = (~pid << 3) | 2  # clock_getcpuclockid(3): the process-wide scheduler clock
        try:
            return time.clock_gettime(self._cpu_clock)
        except OSError:
            return None

    # -- the end ----------------------------------------------------------------------------------

    def _require(self) -> None:
        if self._ended:
            raise SessionEnded(f"the session is over: {self._ended}; start a new one")

    def _fatal(self, kind: type[CellError], message: str, limit: str | None, wall: str = "wall-clock") -> CellError:
        return kind(message, limit=limit, wall=wall, session_ended=True)

    def _post_mortem(self) -> CellError:
        """The worker is gone by itself: find out why, and end the session."""
        assert self._forked is not None
        _wait(self._forked.pidfd, 2.0)
        status = self._forked.zygote.status(self._forked.pid)
        error = self._verdict(status)
        self._end(str(error))
        return error

    def _verdict(self, status: int | None) -> CellError:
        if status is None or not os.WIFSIGNALED(status):
            code = "unknown" if status is None else os.waitstatus_to_exitcode(status)
            return self._fatal(CellCrashed, f"the worker ended by itself (exit status {code})", None, "separate-process")
        number = os.WTERMSIG(status)
        if number == signal.SIGSYS:
            message = "the kernel killed the worker for a forbidden system call (seccomp); the session is over"
            return self._fatal(WallViolation, message, None, "seccomp")
        cpu = self._policy.limits.session_cpu_seconds
        if number in (signal.SIGXCPU, signal.SIGKILL) and (self._cpu_seconds() or 0) >= cpu:
            message = f"the session used up limits.session_cpu_seconds = {cpu:g} s and was killed"
            return self._fatal(CellTimeout, message, "limits.session_cpu_seconds", "rlimits")
        name = signal.Signals(number).name
        message = f"the worker was killed by {name} in the middle of the cell; the session is over"
        return self._fatal(CellCrashed, message, None, "separate-process")

    def _end(self, reason: str) -> None:
        if self._forked is None:
            return
        forked, self._forked = self._forked, None
        self._ended = reason
        self._socket.close()
        if os.getpid() == self._owner:
            send_signal(forked.pidfd, signal.SIGKILL)
            _wait(forked.pidfd, 5.0)
            forked.zygote.released()
        os.close(forked.pidfd)

    def __del__(self) -> None:
        self._end("it was dropped")


class _Clock:
    """When a request must end: wall clock and CPU, extended by what the host itself took."""

    def __init__(self, wall: float, cpu: float | None, read_cpu: Any) -> None:
        now = time.monotonic()
        self._wall = wall
        self._deadline = now + wall
        self._cpu_limit = cpu
        self._read_cpu = read_cpu
        self._cpu_start: float | None = None
        self._expired: float | None = None
        self.cause: CellError | None = None

    def slice(self) -> float:
        """Seconds to wait before the next look."""
        if self._expired is not None:
            return _INTERRUPT_EVERY_SECONDS
        return min(max(self._deadline - time.monotonic(), 0.001), _SLICE_SECONDS)

    def extend(self, seconds: float) -> None:
        """Time that the cell did not use."""
        self._deadline += seconds

    def expire(self, cause: CellError) -> None:
        """End the request now, for `cause`."""
        if self._expired is None:
            self._expired = time.monotonic()
            self.cause = cause

    def over(self) -> CellError | None:
        """The reason why the request must end, or None."""
        if self._expired is None:
            if time.monotonic() >= self._deadline:
                message = f"the cell ran longer than its limit of {self._wall:g} s (limits.cell_seconds) and was stopped"
                self.expire(CellTimeout(message, limit="limits.cell_seconds", wall="wall-clock"))
            elif self._cpu_limit is not None and (used := self._read_cpu()) is not None:
                if self._cpu_start is None:
                    self._cpu_start = max(used - _SLICE_SECONDS, 0.0)
                if used - self._cpu_start >= self._cpu_limit:
                    message = f"the cell used up limits.cell_cpu_seconds = {self._cpu_limit:g} s and was stopped"
                    self.expire(CellTimeout(message, limit="limits.cell_cpu_seconds", wall="wall-clock"))
        return self.cause

    def overdue(self) -> float:
        """Seconds since the request should have ended."""
        return 0.0 if self._expired is None else time.monotonic() - self._expired


def open_session(
    policy: Policy,
    *,
    tools: Mapping[str, str] | None = None,
    plan: Plan | None = None,
    screen: bool = True,
    required: tuple[Wall, ...] | None = None,
) -> LocalSession:
    """A started session. `screen=False` switches the language layer off: tests and audits only.

    Raises EnforcementError when a wall of `required` (the policy's, by default) does not hold.
    """
    plan = plan or Plan()
    source = zygote(plan)
    forked = source.fork(_rlimits(policy) if plan.rlimits else {}, "worker")
    session = LocalSession(forked, policy, EnforcementReport("local", ()))
    try:
        found, _ = ready(decode(session._receive(_Clock(policy.limits.start_seconds, None, None)), limit=1 << 20))
    except (_Died, _Killed) as error:
        session.close()
        raise EnvironmentUnavailable(f"a session died while it was sealed: {error}") from None
    session.report = _report(source.walls, found, source.details, screen=screen)
    missing = session.report.missing(policy.isolation.required("local") if required is None else required)
    if not screen:
        missing = tuple(wall for wall in missing if wall is not Wall.LANGUAGE)
    if missing:
        session.close()
        raise _shortfall(policy, session.report, missing)
    session.begin(
        {
            "op": "begin",
            "modules": list(policy.language.modules),
            "source_bytes": policy.language.source_bytes,
            "ast_nodes": policy.language.ast_nodes,
            "stdout_bytes": policy.limits.stdout_bytes,
            "value_bytes": policy.limits.value_bytes,
            "result_bytes": policy.limits.result_bytes,
            "tools": sorted(tools or {}),
            "screen": screen,
        }
    )
    return session


def _rlimits(policy: Policy) -> dict[str, Any]:
    limits = policy.limits
    cpu = max(1, int(limits.session_cpu_seconds))
    return {
        "DATA": limits.memory_bytes,
        "STACK": 8 << 20,
        "CPU": [cpu, cpu + 1],
        "NPROC": limits.processes,
        "NOFILE": limits.open_files,
        "FSIZE": 0,
        "CORE": 0,
        "MEMLOCK": 0,
        "MSGQUEUE": 0,
        "NICE": 0,
        "RTPRIO": 0,
        "SIGPENDING": 64,
    }


def _report(
    booted: Mapping[str, tuple[str, str]],
    sealed: Mapping[str, tuple[str, str]],
    details: Mapping[str, Any],
    *,
    screen: bool,
) -> EnforcementReport:
    walls: list[WallStatus] = []
    for wall in Wall:
        entries = [source[wall] for source in (booted, sealed) if wall in source]
        if entries:
            level = Level.FULL if all(entry[0] == "full" for entry in entries) else Level.NONE
            walls.append(WallStatus(wall, level, "; ".join(dict.fromkeys(entry[1] for entry in entries))))
    said = "cells are compiled by RestrictedPython" if screen else "switched off for a test"
    walls += [
        WallStatus(Wall.LANGUAGE, Level.FULL if screen else Level.NONE, said),
        WallStatus(Wall.WALL_CLOCK, Level.FULL, "the host holds a pidfd and kills at the deadline"),
        WallStatus(Wall.OUTPUT_CAP, Level.FULL, "capped in the worker, and again by the host's frame limit"),
    ]
    return EnforcementReport("local", tuple(walls), {**details, "bundle_sha256": bundle().sha256})


def _shortfall(policy: Policy, report: EnforcementReport, missing: tuple[Wall, ...]) -> EnforcementError:
    first = report[missing[0]]
    names = ", ".join(missing)
    advice = (
        "allow unprivileged user namespaces on this machine (user.max_user_namespaces, "
        "kernel.unprivileged_userns_clone, AppArmor's kernel.apparmor_restrict_unprivileged_userns)"
        if Wall.USER_NAMESPACE in missing
        else "run on a kernel and in a container that allow them"
    )
    return EnforcementError(
        f"policy {policy.name!r} requires walls that this machine cannot build: {names} ({first.evidence}); "
        f"{advice}, or name them in isolation.best_effort with a reason",
        missing=tuple(wall.value for wall in missing),
    )


def _wait(pidfd: int, seconds: float) -> bool:
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


def _no_calls(call: Call) -> Any:
    raise CallFailed(f"{call.kind} is not available while a variable is read")
