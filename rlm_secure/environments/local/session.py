"""A local session: one worker, a copy-on-write spare of it, and the log that leads from the spare to now.

A checkpoint is a fork of the worker, taken between cells: the child goes on, the parent is the spare and
waits. When a cell is killed, the spare takes over and the log since the checkpoint, with the host's recorded
replies, is run again. Where there is no spare yet, a fresh session replays the log from its start. The steady
cost is near zero: a checkpoint is taken when the session is idle, or when the log is worth 50 ms of CPU.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import socket
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

from rlm_secure.broker.protocol import Call, CellResult
from rlm_secure.environments.clock import Clock
from rlm_secure.environments.interface import CallFailed, HostCalls, Session
from rlm_secure.environments.local import keeper, pool, report
from rlm_secure.environments.local.context import SharedContext, share
from rlm_secure.environments.local.forked import Forked
from rlm_secure.environments.local.worker import Died, Overdue, Worker
from rlm_secure.environments.local.zygote import Plan, Zygote
from rlm_secure.errors import (
    CellError,
    CellRefused,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    SessionEnded,
    WallViolation,
)
from rlm_secure.guarantees import Level, Wall
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy

#: A log that took more CPU seconds, or has more entries, is cut off by a checkpoint before the next cell.
_LOG_SECONDS = 0.05
_LOG_ENTRIES = 64
#: A log that took less than this, and called nothing, is not worth a checkpoint while idle.
_WORTH_SECONDS = 0.005
#: Without a checkpoint, a longer log than this is not replayed: the session is not resumable any more.
_REPLAY_SECONDS = 10.0


@dataclass(slots=True)
class _Entry:
    """One request of the log, with the context that went along and the replies that the host gave."""

    request: Mapping[str, Any]
    context: SharedContext | None = None
    replies: list[Mapping[str, Any]] = field(default_factory=list)


class LocalSession(Session):
    """A sealed worker on this machine. `screen=False` switches the language layer off: tests and audits only.

    Raises EnforcementError when a wall of `required` does not hold, EnvironmentUnavailable when there is no
    zygote to be had.
    """

    def __init__(
        self, policy: Policy, plan: Plan, begin: Mapping[str, Any], required: tuple[Wall, ...], *, screen: bool
    ) -> None:
        self._policy = policy
        self._recipe = pool.Recipe(
            plan, policy.limits, policy.isolation.checkpoints, policy.language.modules, screen, json.dumps(begin)
        )
        self._required = required
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._ended = ""
        self._closing = False
        self._cells = self._resumes = 0
        self._log: list[_Entry] | None = []
        self._log_seconds = 0.0
        self._spare: Worker | None = None
        self._forked: Forked | None = None
        # A killed session is rebuilt by running its log again: `random` must then say the same.
        self._seed = secrets.randbits(128)
        self._start()

    @property
    def alive(self) -> bool:
        """Whether execute() can be called."""
        return not self._ended

    def execute(self, code: str, calls: HostCalls, *, seconds: float | None = None) -> CellResult:
        """Run one cell. See Session.execute."""
        limits, language = self._policy.limits, self._policy.language
        with self._lock:
            self._require()
            if len(code) > language.source_bytes:
                said = f"source-bytes: the cell is longer than language.source_bytes = {language.source_bytes}"
                return CellResult(stderr=said + "\n", error=CellRefused(said, rule="source-bytes", wall="language"))
            if self._cells >= limits.cells:
                self.close()
                raise SessionEnded(f"the session has run limits.cells = {limits.cells} cells; start a new one")
            self._cells += 1
            if self._log_seconds > _LOG_SECONDS or (self._log is not None and len(self._log) > _LOG_ENTRIES):
                self.checkpoint()
            wall = limits.cell_seconds if seconds is None else min(seconds, limits.cell_seconds)
            request: dict[str, Any] = {"op": "exec", "code": code}
            if self._cells == 1:
                request["seed"] = self._seed
            return self._run(_Entry(request), calls, wall)

    def load_context(self, name: str, payload: Any) -> None:
        """Bind `name` to a str, list, dict or an already shared context."""
        limits = self._policy.limits
        shared = payload if isinstance(payload, SharedContext) else share(payload, Gate(self._policy))
        request = {"op": "context", "name": name, "kind": shared.kind, "length": shared.length}
        self._command(_Entry(request, shared), limits.start_seconds + shared.size / 20e6)

    def assign(self, name: str, value: Any) -> None:
        """Bind `name` to a small JSON value."""
        self._command(_Entry({"op": "assign", "name": name, "value": value}))

    def alias(self, name: str, target: str) -> None:
        """Bind `name` to the object of `target`."""
        self._command(_Entry({"op": "alias", "name": name, "target": target}))

    def read_text(self, name: str) -> str | None:
        """`str()` of a variable, computed in the worker under the clock of a cell."""
        with self._lock:
            self._require()
            entry = _Entry({"op": "read", "name": name})
            result = self._run(entry, _no_calls, self._policy.limits.cell_seconds)
            return result.answer.text if result.answer else None

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        self._worker.interrupted.set()

    def close(self) -> None:
        """Kill the worker and all its copies, and wait until they are gone. Idempotent."""
        self._closing = True
        forked = self._forked
        if forked is not None and os.getpid() == self._owner:
            forked.kill()  # a cell that runs in another thread sees its worker die, and lets go of the lock
        with self._lock:
            self._end("it was closed")

    # -- one request ------------------------------------------------------------------------------

    def _command(self, entry: _Entry, seconds: float | None = None) -> None:
        """A request that runs no cell: what goes wrong with it is the session's end, or the caller's error."""
        with self._lock:
            self._require()
            result = self._run(entry, _no_calls, seconds or self._policy.limits.start_seconds)
            if result.error is not None:
                raise result.error

    def _run(self, entry: _Entry, calls: HostCalls, wall: float, *, again: bool = False) -> CellResult:
        started = time.monotonic()
        worker = self._worker
        worker.interrupted.clear()
        clock = Clock(wall, self._policy.limits.cell_cpu_seconds, worker.cpu_seconds)
        stopped: list[BaseException] = []
        try:
            result = self._converse(entry, calls, clock, stopped)
        except Died as died:
            result = self._recover(worker.verdict())
            if result.resumed and died.unsent and not again:
                # It died while it was idle: the cell has not run, and nothing was lost.
                return dataclasses.replace(self._run(entry, calls, wall, again=True), resumed=True)
        except Overdue as overdue:
            result = self._recover(overdue.error)
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise
        except BaseException:
            # The caller was interrupted in the middle of a frame: nothing later could be told from it.
            self._end("its host was interrupted in the middle of a cell")
            raise
        else:
            self._note(entry, result)
            if clock.cause is not None and isinstance(result.error, CellTimeout):
                # The worker says that it was interrupted; why is the host's to say.
                result = dataclasses.replace(result, error=clock.cause)
        if stopped:
            raise stopped[0]
        return dataclasses.replace(result, seconds=time.monotonic() - started)

    def _converse(self, entry: _Entry, calls: HostCalls, clock: Clock, stopped: list[BaseException]) -> CellResult:
        """Send the request, answer its calls, return its result. What `calls` raises goes to `stopped`."""
        worker = self._worker
        try:
            worker.send(entry.request, None if entry.context is None else [entry.context.fd])
        except Died as died:
            died.unsent = True
            raise
        while True:
            said = worker.event(clock)
            if isinstance(said, CellResult):
                return said
            waited = time.monotonic()
            reply: dict[str, Any]
            try:
                reply = {"op": "reply", "value": calls(said)} if not stopped else _STOPPED
            except CallFailed as failed:
                reply = {"op": "reply", "error": str(failed)}
            except BaseException as error:  # noqa: BLE001 - raised again by _run, once the worker is at rest
                stopped.append(error)
                reply = _STOPPED
                clock.expire(CellTimeout("the run was stopped", limit="interrupt", wall="wall-clock"))
            if self._policy.limits.exclude_host_time:
                clock.extend(time.monotonic() - waited)
            entry.replies.append(reply)
            worker.send(reply)

    def _note(self, entry: _Entry, result: CellResult) -> None:
        if self._log is None or entry.request["op"] == "read":
            return
        self._log.append(entry)
        self._log_seconds += result.cpu_seconds
        if self._can_checkpoint():
            if self._log_seconds > _WORTH_SECONDS or entry.replies or len(self._log) > _LOG_ENTRIES // 4:
                keeper.watch(self)
        elif self._log_seconds > _REPLAY_SECONDS:
            self._log = None

    # -- start, checkpoint, recovery, end ---------------------------------------------------------

    def _start(self) -> None:
        blank = pool.take(self._recipe, self._policy.isolation.pool)
        self._forked = blank.forked
        self._worker = self._root = blank.worker
        self.report = blank.report
        try:
            report.require(self._policy, self.report, self._required)
        except BaseException:
            self._end("it lacks a required wall")
            raise

    def _can_checkpoint(self) -> bool:
        isolation = self._policy.isolation
        return (
            isolation.checkpoints and self.report[Wall.PID_NAMESPACE].level is Level.FULL and self._recipe.plan.rlimits
        )

    def checkpoint(self) -> bool:
        """Make the worker's present state the one that a killed cell falls back to. Returns whether it did."""
        with self._lock:
            if self._ended or self._forked is None or not self._can_checkpoint():
                return False
            try:
                fresh = self._fork_worker(self._forked.zygote)
            except (Died, Overdue, EnvironmentUnavailable, OSError):
                return False
            if self._spare is self._root:
                self._root.send({"op": "retire"})
            elif self._spare is not None:
                self._spare.drop()
            self._spare, self._worker = self._worker, fresh
            self._log, self._log_seconds = [], 0.0
            return True

    def checkpoint_if_idle(self) -> None:
        """Take a checkpoint, unless a cell runs: a busy session is looked at again after its cell."""
        if self._lock.acquire(blocking=False):
            try:
                self.checkpoint()
            finally:
                self._lock.release()

    def _fork_worker(self, zygote: Zygote) -> Worker:
        allowed = self._policy.limits.processes
        ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            # The kernel names the process at the other end: what it writes carries its pid.
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
            zygote.allow_processes(self._worker.pid, allowed + pool.CHECKPOINT_PROCESSES)
            self._worker.send({"op": "checkpoint"}, [theirs.fileno()])
            theirs.close()
            pid, pidfd = zygote.adopt(ours, self._worker.pid, allowed)
            ours.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 0)
            fresh = Worker(ours, pidfd, pid, self._policy.limits)
            fresh.event(Clock(self._policy.limits.start_seconds))
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return fresh

    def _recover(self, error: CellError) -> CellResult:
        """After a worker's death: go on from the checkpoint, or end the session, and say which."""
        said = str(error)
        try:
            resumed = self._resume(error)
        except (Died, Overdue, ProtocolViolation, EnvironmentUnavailable, OSError) as failure:
            said, resumed = f"{said}; the session could not be resumed ({failure!r})", False
        if not resumed:
            error.session_ended = True
            self._end(said)
            return CellResult(stderr=f"{said}; the session is over\n", error=error)
        said += "; the session was resumed: variables are as they were before this cell"
        return CellResult(stderr=said + "\n", error=error, resumed=True)

    def _resume(self, error: CellError) -> bool:
        # A forbidden call is an attack or a bug of ours: its process tree gets no second try.
        if isinstance(error, WallViolation) or self._closing or self._log is None:
            return False
        if self._resumes >= self._policy.limits.resumes:
            return False
        self._resumes += 1
        log, self._log, self._log_seconds = self._log, [], 0.0
        if self._spare is not None:
            self._worker.kill()
            self._worker.drop()
            self._worker, self._spare = self._spare, None
            if not self.checkpoint():
                return False
        else:
            self._release()
            self._start()
        for entry in log:
            self._replay(entry)
        return True

    def _replay(self, entry: _Entry) -> None:
        replies = iter(list(entry.replies))
        entry.replies.clear()

        def recorded(_call: Call) -> Any:
            reply = next(replies, _STOPPED)
            if "error" in reply:
                raise CallFailed(reply["error"])
            return reply["value"]

        clock = Clock(self._policy.limits.cell_seconds, self._policy.limits.cell_cpu_seconds, self._worker.cpu_seconds)
        self._note(entry, self._converse(entry, recorded, clock, []))

    def _require(self) -> None:
        if self._ended:
            raise SessionEnded(f"the session is over: {self._ended}; start a new one")

    def _release(self) -> None:
        for worker in {self._worker, self._root, self._spare}:
            if worker is not None:
                worker.drop()
        self._spare = None
        if self._forked is not None:
            forked, self._forked = self._forked, None
            forked.end(alive=os.getpid() == self._owner)

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        if self._forked is not None:
            self._release()
            self._log = None

    def __del__(self) -> None:
        if getattr(self, "_forked", None) is not None:
            self._end("it was dropped")


_STOPPED: dict[str, Any] = {"op": "reply", "error": "the run was stopped"}


def open_session(
    policy: Policy,
    *,
    tools: Mapping[str, str] | None = None,
    plan: Plan | None = None,
    screen: bool = True,
    required: tuple[Wall, ...] | None = None,
) -> LocalSession:
    """A started session. See LocalSession for `screen` and `required` (the policy's walls, by default)."""
    walls = policy.isolation.required("local") if required is None else required
    begin = {
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
    walls = walls if screen else tuple(wall for wall in walls if wall is not Wall.LANGUAGE)
    return LocalSession(policy, plan or Plan(), begin, walls, screen=screen)


def _no_calls(call: Call) -> NoReturn:
    raise CallFailed(f"{call.kind} is not available here")
