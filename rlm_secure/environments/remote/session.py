"""A session in a sandbox that is reached through the broker protocol: Docker and the four clouds.

The same promises as a local session, kept from further away: the wall clock is the host's, soft interrupts and
CPU seconds are the supervisor's errand, and what does not end in time is ended with its whole sandbox. A worker
that dies is replaced by a fresh one, on which the log of the session is run again with the recorded replies.
"""

from __future__ import annotations

import dataclasses
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from rlm_secure.broker.client import Declined, Lost
from rlm_secure.broker.protocol import Call, CellResult, ready
from rlm_secure.environments.clock import Clock
from rlm_secure.environments.interface import CallFailed, HostCalls, Session
from rlm_secure.environments.local.context import SharedContext, flatten
from rlm_secure.environments.remote.lease import Lease, report
from rlm_secure.environments.remote.worker import KILL_SECONDS, Died, Overdue, RemoteWorker, verdict
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
from rlm_secure.guarantees import Wall
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy

#: A longer log than this is not run again: the session ends with its worker.
_REPLAY_SECONDS = 10.0
_UPLOAD_BYTES_A_SECOND = 1e6


@dataclass(slots=True)
class _Entry:
    """One request of the log, the context that went along by its number, and the replies that the host gave."""

    request: Mapping[str, Any]
    upload: int | None = None
    replies: list[Mapping[str, Any]] = field(default_factory=list)


class RemoteSession(Session):
    """A sealed worker in a leased sandbox. `screen=False` switches the language layer off: tests and audits only.

    Raises EnforcementError when a wall of `required` does not hold, EnvironmentUnavailable when the sandbox
    does not answer. Ends the lease on every way out.
    """

    def __init__(
        self,
        lease: Lease,
        policy: Policy,
        *,
        tools: Mapping[str, str] | None = None,
        screen: bool = True,
        required: tuple[Wall, ...] | None = None,
    ) -> None:
        self._lease: Lease | None = lease
        self._client = lease.client
        self._policy = policy
        self._screen = screen
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._ended = ""
        self._closing = False
        self._cells = self._resumes = self._uploads = 0
        self._log: list[_Entry] | None = []
        self._log_seconds = 0.0
        self._worker = RemoteWorker(lease.client, policy.limits)
        walls = policy.isolation.required(lease.environment) if required is None else required
        self._required = walls if screen else tuple(wall for wall in walls if wall is not Wall.LANGUAGE)
        try:
            self._start(lease)
            self._command(_Entry(self._begin(tools)))
        except (Lost, Declined) as error:
            self._end("it did not start")
            raise EnvironmentUnavailable(f"the {lease.environment} sandbox did not start: {error}") from None
        except BaseException:
            self._end("it did not start")
            raise

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
            wall = limits.cell_seconds if seconds is None else min(seconds, limits.cell_seconds)
            return self._run(_Entry({"op": "exec", "code": code}), calls, wall)

    def load_context(self, name: str, payload: Any) -> None:
        """Bind `name` to a str, list, dict or an already shared context of any size."""
        limits = self._policy.limits
        with self._lock:
            self._require()
            if isinstance(payload, SharedContext):
                raise TypeError("a context that is shared by memory stays on its machine; give the payload itself")
            flat = flatten(payload, Gate(self._policy))
            size = flat.view.nbytes
            number, self._uploads = self._uploads, self._uploads + 1
            seconds = limits.start_seconds + size / _UPLOAD_BYTES_A_SECOND
            assert self._lease is not None
            try:
                self._lease.make_room(size)
                self._client.upload(number, flat.view, seconds=seconds)
            except Lost as lost:
                raise SessionEnded(self._gone(lost)) from None
            except Declined as declined:
                raise EnvironmentUnavailable(f"the context {name!r} could not be sent: {declined}") from None
            request = {"op": "context", "name": name, "kind": flat.kind, "length": flat.length}
            self._command(_Entry(request, number), seconds)

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
            result = self._run(_Entry({"op": "read", "name": name}), _no_calls, self._policy.limits.cell_seconds)
            return result.answer.text if result.answer else None

    def interrupt(self) -> None:
        """Stop the running cell, from another thread."""
        self._worker.interrupted.set()
        self._worker.interrupt()

    def close(self) -> None:
        """End the worker and its sandbox, and wait until they are gone. Idempotent."""
        self._closing = True
        lease = self._lease
        if not self._lock.acquire(blocking=False):
            # A cell runs in another thread: it sees its sandbox die, and lets go of the lock.
            if lease is not None and os.getpid() == self._owner:
                lease.kill()
            self._lock.acquire()
        try:
            self._end("it was closed")
        finally:
            self._lock.release()

    # -- one request ------------------------------------------------------------------------------

    def _begin(self, tools: Mapping[str, str] | None) -> dict[str, Any]:
        limits, language = self._policy.limits, self._policy.language
        return {
            "op": "begin",
            "modules": list(language.modules),
            "source_bytes": language.source_bytes,
            "ast_nodes": language.ast_nodes,
            "stdout_bytes": limits.stdout_bytes,
            "value_bytes": limits.value_bytes,
            "result_bytes": limits.result_bytes,
            "tools": sorted(tools or {}),
            "screen": self._screen,
        }

    def _command(self, entry: _Entry, seconds: float | None = None) -> None:
        """A request that runs no cell: what goes wrong with it is the session's end, or the caller's error."""
        with self._lock:
            self._require()
            result = self._run(entry, _no_calls, seconds or self._policy.limits.start_seconds)
            if result.error is not None:
                raise result.error

    def _run(self, entry: _Entry, calls: HostCalls, wall: float) -> CellResult:
        started = time.monotonic()
        self._worker.interrupted.clear()
        clock = Clock(wall)
        stopped: list[BaseException] = []
        try:
            result = self._converse(entry, calls, clock, stopped)
        except Died as died:
            result = self._recover(verdict(died.ended, self._policy.limits))
        except Overdue as overdue:
            result = self._recover(overdue.error)
        except (Lost, Declined) as lost:
            result = self._lost(clock, lost)
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise
        except BaseException:
            # The caller was interrupted in the middle of a request: nothing later could be told from it.
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
        worker.send(entry.request, entry.upload)
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
        if self._log_seconds > _REPLAY_SECONDS:
            self._log = None

    # -- start, recovery, end ---------------------------------------------------------------------

    def _start(self, lease: Lease) -> None:
        limits = self._policy.limits
        cpu = max(1, int(limits.session_cpu_seconds))
        rlimits = {
            "DATA": limits.memory_bytes,
            "AS": (1 << 30) + 2 * limits.memory_bytes + 4 * limits.context_bytes,  # page tables, as in local/pool.py
            "CPU": [cpu, cpu + 1],
            "NPROC": limits.processes,
            "NOFILE": limits.open_files,
        }
        started = self._client.start(rlimits, "worker", seconds=limits.start_seconds)
        booted, details = ready({"op": "ready", "walls": started.get("walls"), "details": started.get("details")})
        try:
            sealed, _ = ready(self._worker.receive(Clock(limits.start_seconds)))
        except (Died, Overdue) as error:
            raise EnvironmentUnavailable(f"a worker died while it was sealed: {error}") from None
        around = details.pop("around", None)
        outer = tuple(lease.walls(around if isinstance(around, dict) else {}))
        self.report = report(lease, booted, sealed, outer, details, screen=self._screen)
        missing = self.report.missing(self._required)
        if missing:
            raise EnforcementError(
                f"policy {self._policy.name!r} requires walls that this {lease.environment} sandbox does not have: "
                f"{', '.join(missing)} ({self.report[missing[0]].evidence}); use another image, runtime or place, "
                "or name them in isolation.best_effort with a reason",
                missing=tuple(wall.value for wall in missing),
            )

    def _recover(self, error: CellError) -> CellResult:
        """After a worker's death: go on from the log, or end the session, and say which."""
        said = str(error)
        try:
            resumed = self._resume(error)
        except (Died, Overdue, Lost, Declined, ProtocolViolation, EnvironmentUnavailable) as failure:
            said, resumed = f"{said}; the session could not be resumed ({failure})", False
        if not resumed:
            error.session_ended = True
            self._end(said)
            return CellResult(stderr=f"{said}; the session is over\n", error=error)
        said += "; the session was resumed: variables are as they were before this cell"
        return CellResult(stderr=said + "\n", error=error, resumed=True)

    def _resume(self, error: CellError) -> bool:
        # A forbidden call is an attack or a bug of ours: its sandbox gets no second try.
        if isinstance(error, WallViolation) or self._closing or self._log is None or self._lease is None:
            return False
        if not self._policy.isolation.checkpoints or self._resumes >= self._policy.limits.resumes:
            return False
        self._resumes += 1
        log, self._log, self._log_seconds = self._log, [], 0.0
        self._client.end(seconds=KILL_SECONDS)
        self._worker = RemoteWorker(self._client, self._policy.limits)
        self._start(self._lease)
        for entry in log:
            self._replay(entry)
        return True

    def _replay(self, entry: _Entry) -> None:
        replies = iter(list(entry.replies))
        entry.replies.clear()

        def recorded(_: Call) -> Any:
            reply = next(replies, _STOPPED)
            if "error" in reply:
                raise CallFailed(reply["error"])
            return reply["value"]

        self._note(entry, self._converse(entry, recorded, Clock(self._policy.limits.cell_seconds), []))

    def _lost(self, clock: Clock, lost: Lost | Declined) -> CellResult:
        if clock.cause is not None:
            error: CellError = clock.cause
            said = str(error)
        else:
            said = self._gone(lost)
            error = CellCrashed(said, wall="container")
        error.session_ended = True
        self._end(said)
        return CellResult(stderr=f"{said}; the session is over\n", error=error)

    def _gone(self, lost: Lost | Declined) -> str:
        """Ends the session; returns why its sandbox cannot be reached."""
        lease = self._lease
        epitaph = "it was closed" if self._closing or lease is None else lease.epitaph()
        said = f"the sandbox is gone: {epitaph} ({lost})"
        self._end(said)
        return said

    def _require(self) -> None:
        if self._ended:
            raise SessionEnded(f"the session is over: {self._ended}; start a new one")

    def _end(self, reason: str) -> None:
        self._ended = self._ended or reason
        lease, self._lease = self._lease, None
        self._log = None
        if lease is not None and os.getpid() == self._owner:
            lease.close()

    def __del__(self) -> None:
        if getattr(self, "_lease", None) is not None:
            self._end("it was dropped")


_STOPPED: dict[str, Any] = {"op": "reply", "error": "the run was stopped"}


def _no_calls(call: Call) -> Any:
    raise CallFailed(f"{call.kind} is not available here")
