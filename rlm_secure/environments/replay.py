"""A session that outlives its worker: what local and remote sessions have in common.

Each request is logged with the host's replies (request_log.py). When a worker dies, one in an earlier state replaces
it, and the log since that state is replayed with the recorded replies (replies.py). The subclass decides how a worker
is reached, how an earlier state is kept, and when the log is restarted.
"""

from __future__ import annotations

import json
import random
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, Generic, Protocol, TypeVar

from rlm_secure.broker.protocol import Call, CellResult, Printed, Variable, code_findings, digest_of
from rlm_secure.decision import Decided
from rlm_secure.environments.context import Contents, flatten
from rlm_secure.environments.deadline import INTERRUPT_EVERY_SECONDS, SESSION_CPU, Deadline
from rlm_secure.environments.interface import HostCalls, Session
from rlm_secure.environments.replies import STOPPED, Answers, nobody, recorded, sendable
from rlm_secure.environments.request_log import LOG_ATTACHMENTS, LOG_BYTES, READS, LogEntry
from rlm_secure.environments.turn import Turn, serve
from rlm_secure.environments.variables import KnownVariables
from rlm_secure.environments.waiting import FILE_BYTES_A_SECOND, NoTurn, Wait, longer_than_a_run, too_long
from rlm_secure.errors import (
    CallFailed,
    CallRefused,
    CellCallsRefused,
    CellError,
    CellException,
    CellTimeout,
    EnforcementError,
    EnvironmentUnavailable,
    ProtocolViolation,
    SessionEnded,
    WallViolation,
    told_to_cells,
)
from rlm_secure.loggers import logger
from rlm_secure.policy.gate import Gate
from rlm_secure.tools.hostcall import HostCall, abandoned
from rlm_secure.types import CodeFinding, encodable
from rlm_secure.values import unavailable

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy

#: A JSON value of up to this many characters is sent in a frame.
_SMALL = 64 * 1024
#: Bytes in which the host says why a cell ended, to who hears what it prints.
_SAID = 4_000
#: The name that a large value has on its way to its own: no identifier, so no cell can read it.
_SENT = "<sent>"
_logger = logger("rlm_secure")

#: A log that took more CPU seconds than this is not replayed: the session ends with its worker.
REPLAY_SECONDS = 10.0
#: Minimum time of a replay, in addition to twice the CPU seconds that the log took, as the machine may be busy. The
#: maximum is this and twice REPLAY_SECONDS.
_REPLAY_LEAST_SECONDS = 2.0
#: What a worker writes that was interrupted, whatever the reason: only the host knows it.
_OVERDUE = "the cell was interrupted: its time is used up\n"
#: A cell that makes more than this many tool calls over the limit is ended.
_IN_VAIN = 100
#: Rules that refuse a call after it was served: the time that it took was the host's, not the cell's.
_SERVED = frozenset({"tool-result", "tool-result-bytes", "tool-seconds"})
#: The most memory that a worker's interpreter and libraries use in addition to what its policy grants.
_OWN_BYTES = 256 << 20


class Reachable(Protocol):
    """The host's end of a worker."""

    interrupted: threading.Event

    def event(self, deadline: Deadline) -> Call | Printed | CellResult:
        """The next call, output or result."""
        ...

    def reply(self, message: Mapping[str, Any], deadline: Deadline) -> None:
        """Answer a call, under the deadline of its cell."""
        ...


class NotReplayed(EnvironmentUnavailable):
    """The cells of a session could not be run again in the time that they have."""

    for_cells = True


W = TypeVar("W", bound=Reachable)


class ReplayedSession(Session, Generic[W]):
    """The common part of local and remote sessions. `_worker` is the worker that runs now."""

    _worker: W
    _log: list[LogEntry] | None

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._gate = Gate(policy)
        self._lock = Turn()
        self._ended = ""
        self._closing = False
        self._cells = self._resumes = self._tool_calls = 0
        self._interrupts = 0
        self._refused: dict[str, Decided] = {}
        self._in_vain = 0  # tool calls of the cell over the limit
        self._refusals = 0  # calls of the cell that were refused
        self._denied = False  # the last call was refused
        self._given = 0.0  # seconds by which the cell's deadline was extended while the host answered it
        self._cut = False  # the cell's time was over before one of its calls was answered, or before its result came
        self._known = KnownVariables(policy.limits.result_bytes)
        self._begin_log()
        # A killed session is rebuilt by replaying its log, so `random` must give the same values again.
        self._seed = random.SystemRandom().getrandbits(128)
        self._seeded = False

    # -- what a subclass does -----------------------------------------------------------------------

    @abstractmethod
    def _deadline(self, wall: float) -> Deadline:
        """The deadline of one cell."""

    @abstractmethod
    def _transmit(self, entry: LogEntry, deadline: Deadline) -> None:
        """Send a request with its attachment, under its deadline."""

    @abstractmethod
    def _attempt(self, entry: LogEntry, calls: Answers, deadline: Deadline, stopped: list[BaseException]) -> CellResult:
        """`_converse`, and recovery when the worker does not survive it."""

    @abstractmethod
    def _bring_back(self) -> bool:
        """Set `_worker` to a worker in an earlier state, before a replay; returns False if there is none."""

    @abstractmethod
    def _end(self, reason: str) -> None:
        """End everything. Idempotent; the first reason is kept."""

    def _interrupted(self) -> bool:
        """Note an interrupt. Returns whether it goes to the worker; else it ends a wait for background work."""
        self._interrupts += 1
        if self._lock.taken:
            return False
        self._worker.interrupted.set()
        return True

    def _noted(self) -> None:
        """Called after an entry was added to the log."""
        if self._log_seconds > REPLAY_SECONDS:
            self._log = None

    def _cell(self, code: str, *, stream: bool) -> LogEntry:
        """The request that runs `code`; carries the seed until a worker has survived one that does."""
        request: dict[str, Any] = {"op": "exec", "code": code}
        if not self._seeded:
            request["seed"] = self._seed
        if self.with_values:
            request["values"] = True
        if stream:
            request["stream"] = True
        return LogEntry(request)

    # -- Session --------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether execute() can be called."""
        return not self._ended

    @property
    def refused(self) -> tuple[Decided, ...]:
        """Refused calls of the last cell: the first of each rule."""
        return tuple(self._refused.values())

    def execute(
        self, code: str, calls: HostCalls, *, seconds: float | None = None, exclude_host_time: bool = False
    ) -> CellResult:
        """Run one cell. See Session.execute."""
        limits = self._policy.limits
        if seconds is not None and not seconds > 0:
            raise ValueError(f"a cell runs for some time, not for {seconds!r} seconds; leave it out for the policy's")
        most = None if exclude_host_time else seconds
        wait = Wait(lambda: self._interrupts, most, limits.run_seconds)
        if not self._lock.acquire(give_up=wait.over):
            if self._lock.taken:  # by background work: no cell ran
                self._refused = {}
            said = f"{wait.error}; it did not begin, and the session's variables are as they were"
            return CellResult(stderr=f"{said}\n", error=wait.error, seconds=time.monotonic() - wait.began)
        try:
            self._require()
            self._refused = {}
            source = self._gate.cell_source(code)
            if not source.allowed:
                error = source.cell_error
                return CellResult(stderr=f"{error}\n", error=error)
            count = self._gate.cells(self._cells + 1)
            if not count.allowed:
                self.close()
                raise SessionEnded(count.reason)
            self._cells += 1
            wall = limits.cell_seconds if seconds is None else min(seconds, limits.cell_seconds)
            output = getattr(calls, "output", None)
            streamed = None if output is None else _Streamed(output, limits.stdout_bytes)

            def answer(call: Call | Printed, deadline: Deadline) -> Any:
                if not isinstance(call, Printed):
                    return self._ask(calls, call, deadline, most)
                if streamed is None:
                    raise _unasked()
                began = time.monotonic()
                streamed.tell(call)
                self._exclude(deadline, time.monotonic() - began)
                return None

            result = self._run(self._cell(code, stream=streamed is not None), answer, wall, wait)
            if streamed is not None:
                streamed.end(result)
            return result
        finally:
            self._lock.release()

    @abstractmethod
    def load_context(self, name: str, payload: Any, also: Mapping[str, Any] | None = None) -> None:
        """As Session.load_context(); `also` holds further fields of the request."""

    def open_context(self, name: str, payload: Any, values: Mapping[str, Any], alias: str | None = None) -> None:
        """All in one request, a short text as well. See Session.open_context."""
        also = {"alias": alias, "values": dict(values)}
        # Not with lone surrogates: JSON would join two of them.
        if type(payload) is not str or len(payload) > _SMALL or encodable(payload) != payload:
            self.load_context(name, payload, also)
            return
        flatten(payload, self._gate)  # raises Refused
        self._command(LogEntry({"op": "assign", "name": name, "value": payload, **also}))

    def assign(self, name: str, value: Any) -> None:
        """Bind `name` to a small JSON value."""
        self._command(LogEntry({"op": "assign", "name": name, "value": value}))

    def alias(self, name: str, target: str) -> None:
        """Bind `name` to the object of `target`."""
        self._command(LogEntry({"op": "alias", "name": name, "target": target}))

    def read_text(self, name: str) -> str | None:
        """`str()` of a variable, computed in the worker under the deadline of a cell. Raises as read_value."""
        answer = self._seen({"op": "read", "name": name}).answer
        return answer.text if answer else None

    def read_value(self, name: str) -> Variable | None:
        """A variable, described in the worker under the deadline of a cell. Raises the CellError that stopped it."""
        return self._seen({"op": "value", "name": name}).value

    def set_value(self, name: str, value: Any) -> None:
        """Bind `name` to a value that rlm_secure.tagged wrote. A large one is sent as a context is."""
        request: dict[str, Any] = {"op": "assign", "name": name, "variable": True}
        with self._own_turn():
            if isinstance(value, str | list | dict) and (isinstance(value, str) or len(json.dumps(value)) > _SMALL):
                self.load_context(_SENT, value)
                request["sent"] = _SENT
            else:
                request["value"] = value
            self._command(LogEntry({**request, "tagged": not isinstance(value, str)}))

    def check_code(self, code: str, rules: Mapping[str, Any]) -> list[CodeFinding]:
        """What is to be said against `code`, which the worker reads and does not run. See REPL.check_code."""
        source = self._gate.cell_source(code)
        if not source.allowed:
            return [CodeFinding("language", source.reason)]
        request = {"op": "check", "code": code, "rules": dict(rules)}
        json.dumps(request)  # what is no JSON must not end the session
        value = self._seen(request).value
        if value is not None and value.size:
            key, least = ("result_bytes", 64) if value.why else ("value_bytes", 16)
            raise CellException(f"limits.{key} is too small for what was found in the code; allow {least} KiB")
        try:
            return code_findings(value)
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise

    def digest(self, name: str) -> str | None:
        """The digest of a variable, whatever its name. Raises ValueNotPlain where there is none, and as read_value."""
        value = self._seen({"op": "digest", "name": name}).value
        if value is None:
            return None
        if value.whole is None:
            if value.size:
                raise CellException("limits.value_bytes is too small for a digest; allow 100 bytes")
            limits = self._policy.limits
            raise unavailable(name, value.type, 0, value.why, limits.value_bytes, limits.result_bytes)
        try:
            return digest_of(value)
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise

    def list_files(self) -> dict[str, int]:
        """The files of the session, and their sizes in bytes."""
        return dict(self._seen({"op": "files"}).files)

    def read_file(self, name: str, seconds: float | None = None) -> bytes | None:
        """The contents of a file, in as many requests as it takes. See Session.read_file."""
        began = time.monotonic()
        with self._own_turn(seconds):
            return self._parts(name, began, seconds)

    def _parts(self, name: str, began: float, seconds: float | None) -> bytes | None:
        limits = self._policy.limits
        # A part is in base64, as a value within one frame, which has no more than 1 KiB besides.
        count = max(3 * min(limits.value_bytes, limits.result_bytes - 1024) // 4 - 64, 48)
        longest = limits.run_seconds
        parts: list[bytes] = []
        size = 0
        while True:
            # What comes fast takes longer than its caller's seconds only by how much it is.
            most = None if seconds is None else began + seconds + size / FILE_BYTES_A_SECOND - time.monotonic()
            value = self._seen({"op": "part", "name": name, "at": size, "count": count}, most).value
            if value is None:
                return None
            if value.size:
                raise CellException("limits.value_bytes is too small for files to be read; allow 100 bytes")
            part = None if value.whole is None else value.whole[0]
            size += len(part) if type(part) is bytes else 0
            if type(part) is not bytes or len(part) > count or not self._gate.file_bytes(size).allowed:
                violation = ProtocolViolation("the sandbox broke the protocol: a part of a file is not what it can be")
                self._end(str(violation))
                raise violation
            parts.append(part)
            if len(part) < count:
                return b"".join(parts)
            if time.monotonic() - began > longest:
                raise longer_than_a_run(longest)

    def write_file(self, name: str, data: bytes | None) -> None:
        """Set the contents of a file, or remove it if there are none."""
        request: dict[str, Any] = {"op": "file", "name": name}
        with self._own_turn():
            if data is not None:
                self.load_context(_SENT, Contents(data))
                request["sent"] = _SENT
            self._command(LogEntry(request))

    def _seen(self, request: Mapping[str, Any], most: float | None = None) -> CellResult:
        """What the worker answers to a request that reads. Raises the CellError that stopped it."""
        try:
            result = self._look(LogEntry(request), most)
        except NoTurn as none:
            raise none.error from None
        if result.error is not None:
            raise result.error
        return result

    def _look(self, entry: LogEntry, most: float | None = None) -> CellResult:
        """The result of a request that reads, in `most` seconds. Raises NoTurn if its turn does not come in time."""
        limits = self._policy.limits
        wait = Wait(lambda: self._interrupts, most, limits.run_seconds)
        with self._turn(wait):
            self._require()
            return self._run(entry, nobody, limits.cell_seconds, wait)

    # -- one request ------------------------------------------------------------------------------

    def _command(self, entry: LogEntry, seconds: float | None = None) -> None:
        """Serve a request that runs no cell. Raises its error, or that of the wait for its turn."""
        wait = Wait(lambda: self._interrupts, None, self._policy.limits.run_seconds)
        try:
            with self._turn(wait):
                self._require()
                result = self._run(entry, nobody, seconds or self._policy.limits.start_seconds, wait)
        except NoTurn as none:
            raise none.error from None
        if result.error is not None:
            raise result.error

    @contextmanager
    def _own_turn(self, most: float | None = None) -> Iterator[None]:
        """The turn for several requests, between which no other thread's come. Raises the error of the wait for it,
        which takes `most` seconds."""
        wait = Wait(lambda: self._interrupts, most, self._policy.limits.run_seconds)
        try:
            with self._turn(wait):
                yield
        except NoTurn as none:
            raise none.error from None

    def _take_turn(self, wait: Wait) -> None:
        """Take the session's turn. Raises NoTurn if it does not come in time."""
        if not self._lock.acquire(give_up=wait.over):
            assert wait.error is not None
            raise NoTurn(wait.error)

    @contextmanager
    def _turn(self, wait: Wait) -> Iterator[None]:
        """Hold the session's turn during the block. Raises NoTurn if it does not come in time."""
        self._take_turn(wait)
        try:
            yield
        finally:
            self._lock.release()

    def _run(self, entry: LogEntry, calls: Answers, wall: float, wait: Wait) -> CellResult:
        """Serve one request, which has the turn. `wall` is its own limit in seconds; `wait` says when it began."""
        self._refused = {}
        self._cut = False
        self._in_vain = self._refusals = 0
        self._given = 0.0
        if self._worker.interrupted.is_set():
            self._worker.interrupted.clear()
        deadline = self._deadline(wall)
        if entry.request["op"] in ("exec", *READS):
            self._bound(deadline, wait)
        else:
            deadline.command = True
        stopped: list[BaseException] = []
        try:
            result = self._attempt(entry, calls, deadline, stopped)
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise
        except BaseException:  # Ctrl-C as well
            # The caller was interrupted in the middle of a request, so later results could not be matched to requests.
            if not self._lock.taken:  # otherwise it is being resumed, which continues
                self._end("its host was interrupted in the middle of a cell")
            raise
        error = result.error
        if deadline.cause is not None and (
            isinstance(error, CellTimeout) or (self._cut and (error is None or isinstance(error, CellException)))
        ):
            # The worker knows only that it was interrupted, or that a call was cut short; the host knows why.
            if isinstance(deadline.cause, CellCallsRefused) and result.stderr.endswith(_OVERDUE):
                result.stderr = f"{result.stderr.removesuffix(_OVERDUE)}{deadline.cause}\n"
            deadline.cause.session_ended = self._closing or (error is not None and error.session_ended)
            result.error = deadline.cause
        if stopped:
            raise stopped[0]
        result.seconds = time.monotonic() - wait.began
        return result

    def _bound(self, deadline: Deadline, wait: Wait) -> None:
        """End a cell after its caller's seconds and after those of a run, including all waits for the host."""
        if wait.most is not None:
            deadline.bound(wait.most - (time.monotonic() - wait.began), partial(too_long, wait.most))
        deadline.bound(wait.longest - wait.in_background, partial(longer_than_a_run, wait.longest))

    def _converse(
        self, entry: LogEntry, calls: Answers, deadline: Deadline, stopped: list[BaseException]
    ) -> CellResult:
        """Send the request, answer its calls, return its result. Unexpected exceptions of `calls` go to `stopped`.

        The CPU seconds of the result must be measured outside the worker: the limit of a replay depends on them.
        """
        worker = self._worker
        self._transmit(entry, deadline)
        while True:
            said = worker.event(deadline)
            if isinstance(said, CellResult):
                # The worker reports this itself: cap it at what it can have held. A context takes 4 bytes a character.
                limits = self._policy.limits
                files = said.files
                if files and (len(files) > limits.files or sum(files.values()) > limits.file_bytes):
                    raise ProtocolViolation("the sandbox broke the protocol: it has more files than its policy grants")
                if entry.request["op"] == "exec":
                    self._known.complete(said)
                said.peak_bytes = min(said.peak_bytes, limits.memory_bytes + 4 * limits.context_bytes + _OWN_BYTES)
                if not deadline.remaining() and deadline.over() is not None:
                    self._cut = True  # the result came too late
                return said
            reply: dict[str, Any]
            # A cell whose time is over gets no more answers from the host, even within its grace.
            over = self._over(deadline)
            self._cut = self._cut or over
            try:
                reply = STOPPED if over else {"op": "reply", "value": calls(said, deadline)}
            except CallFailed as failed:
                reply = {"op": "reply", "error": str(failed)}
                if isinstance(failed, CallRefused):
                    self._refused.setdefault(failed.decision.rule, failed.decision)
            except CellError as ended:  # the host ends the cell, not the run
                reply = {"op": "reply", "error": str(ended)}
                self._cut = True
                deadline.expire(ended)
            except ProtocolViolation:
                raise
            except BaseException as error:  # noqa: BLE001 - raised again by _run, once the worker is idle
                stopped.append(error)
                reply = STOPPED
                deadline.expire(CellTimeout("the run was stopped", limit="interrupt", wall="wall-clock"))
            if not isinstance(said, Printed):
                entry.answered(reply)
            worker.reply(reply, deadline)

    def _ask(self, calls: HostCalls, call: Call, deadline: Deadline, most: float | None) -> Any:
        """The host's answer to a call of a cell, within the time of the cell, the call and the caller."""
        given, self._denied = self._given, False
        try:
            value = self._answer(calls, call, deadline, most)
        except CallFailed as failed:
            if self._denied or (isinstance(failed, CallRefused) and failed.decision.rule not in _SERVED):
                self._deny(deadline, given)
            raise
        if self._denied:
            self._deny(deadline, given)
        return value

    def _deny(self, deadline: Deadline, given: float) -> None:
        """Count a refused call: its time counts as the cell's own, and too many refusals end the cell.

        Raises CellCallsRefused. `given` is the value of `_given` before the call.
        """
        deadline.extend(given - self._given)
        self._given = given
        self._refusals += 1
        decision = self._gate.refusals(self._refusals)
        if not decision.allowed:
            raise CellCallsRefused(decision.reason, limit="lm.refusals") from None

    def _answer(self, calls: HostCalls, call: Call, deadline: Deadline, most: float | None) -> Any:
        tool = call.kind == "tool"
        if tool:
            self._tool_calls += 1
            count = self._gate.tool_calls(self._tool_calls)
            self._in_vain += not count.allowed
            if self._in_vain > _IN_VAIN:
                deadline.expire(CellTimeout(count.reason, limit="limits.tool_calls", wall="wall-clock"))
                self._cut = True
            count.require(CallRefused)
        with self._lock.waiting() as served:
            if not tool and most is None and getattr(calls, "interruptible", False):
                began = time.monotonic()
                try:
                    return sendable(serve(served, lambda: calls(call)))
                finally:
                    self._exclude(deadline, time.monotonic() - began)
                    self._denied = served.refused
            owner = getattr(calls, "owner", None) or self._lock
            self._gate.abandoned(*abandoned(self._lock, owner)).require(CallRefused)
            host = HostCall(lambda: serve(served, lambda: calls(call)), self._lock, owner)
            try:
                self._await(host, call, deadline)
            except BaseException:  # Ctrl-C as well: nothing waits for the call any more
                host.abandon()
                raise
            self._denied = served.refused
        return sendable(host.result())

    def _await(self, host: HostCall, call: Call, deadline: Deadline) -> None:
        """Wait for `host`. Raises CallFailed when it takes too long, or the cell is over."""
        began = looked = time.monotonic()
        while not host.wait(min(deadline.slice(), INTERRUPT_EVERY_SECONDS)):
            now = time.monotonic()
            self._exclude(deadline, now - looked)
            looked = now
            if self._over(deadline):
                self._cut = True
                raise CallFailed(STOPPED["error"])
            if call.tool is not None:  # a model call, or a child run, has the time of the cell
                self._gate.tool_seconds(call.tool, now - began).require(CallRefused)
        self._exclude(deadline, time.monotonic() - looked)

    def _over(self, deadline: Deadline) -> bool:
        """Whether the request must end: by its deadline, an interrupt, or close()."""
        if self._worker.interrupted.is_set():
            deadline.interrupt()
        if self._closing:
            deadline.expire(CellTimeout("the session was closed", limit="interrupt", wall="wall-clock"))
        return deadline.over() is not None

    def _exclude(self, deadline: Deadline, seconds: float) -> None:
        if self._policy.limits.exclude_host_time:
            deadline.extend(seconds)
            self._given += seconds

    def _begin_log(self) -> None:
        """Restart the log: the worker's present state can be restored."""
        self._log = []
        self._log_seconds = 0.0
        self._log_bytes = self._log_attached = self._log_attachments = 0

    def _note(self, entry: LogEntry, result: CellResult) -> None:
        """Add a completed request to the log, unless it reads a variable, which changes nothing."""
        self._seeded = self._seeded or "seed" in entry.request
        if self._log is None or entry.request["op"] in READS:
            return
        self._log_seconds += result.cpu_seconds
        if isinstance(result.error, CellTimeout) or entry.heavy:
            # It was stopped at a moment that a replay cannot reproduce, or its replies were not kept: a replay would
            # lead to another state.
            self._log = None
        else:
            self._log.append(entry)
            self._log_bytes += entry.size
            full = self._log_bytes > LOG_BYTES
            if entry.attachment is not None:
                self._log_attached += entry.attached
                self._log_attachments += 1
                fits = self._gate.context(self._log_attached).allowed and self._log_attachments <= LOG_ATTACHMENTS
                full = full or not fits
            if full:
                self._log = None
        self._noted()

    # -- recovery -----------------------------------------------------------------------------------

    def _recover(self, error: CellError, deadline: Deadline) -> CellResult:
        """After a worker's death, resume from an earlier state or end the session; the result says which.

        A replay has bounds of its own, which may be longer than those of `deadline`. The request waits for it while it
        has time, plus the grace; then the replay continues in the background, and the next request waits for it.
        """
        if not self._resumable(error):
            return self._not_resumed(error, str(error))
        self._resumes += 1
        # A cell may behave differently when replayed, so the replay as a whole is limited, by default to the time of
        # the request that waits for it.
        seconds = min(deadline.wall, deadline.left_of_bounds())
        seconds = max(seconds, _REPLAY_LEAST_SECONDS + 2 * self._log_seconds)
        seconds = min(seconds, _REPLAY_LEAST_SECONDS + 2 * REPLAY_SECONDS)
        until = time.monotonic() + deadline.left_of_bounds() + self._policy.limits.grace_seconds
        interrupts = self._interrupts
        failed: list[CellResult] = []

        def over() -> bool:
            return time.monotonic() >= until or self._interrupts != interrupts

        done = self._lock.pass_on(lambda: self._resume(error, seconds, failed), over)
        if done and failed:
            return failed[0]
        how = "was resumed" if done else "is being resumed, for which its next request waits"
        said = f"{error}; the session {how}: variables are as they were before this cell"
        return CellResult(stderr=said + "\n", error=error, resumed=True)

    def _not_resumed(self, error: CellError, said: str) -> CellResult:
        error.session_ended = True
        self._end(said)
        return CellResult(stderr=f"{said}; the session is over\n", error=error)

    def _spent(self, result: CellResult, error: CellError) -> CellResult:
        """End the session, whose CPU seconds are used up; `result`, of the cell that was stopped, says so."""
        error.session_ended = True
        result.error = error
        self._end(str(error))
        return result

    def _resumable(self, error: CellError) -> bool:
        # A forbidden system call is an attack or a bug of ours: not retried.
        if isinstance(error, WallViolation) or self._closing or self._log is None:
            return False
        return error.limit != SESSION_CPU and self._gate.resumes(self._resumes + 1).allowed

    def _resume(self, error: CellError, seconds: float, failed: list[CellResult]) -> None:
        """Resume from an earlier state within `seconds`. If that fails, end the session and append the result to
        `failed`."""
        try:
            if not self._replay(seconds):
                failed.append(self._not_resumed(error, str(error)))
        except Exception as failure:  # noqa: BLE001 - after any error, its state is not to be trusted
            # Cells read what is said here; the whole reason may name what is on the host.
            _logger.warning("a session could not be resumed: %s: %s", type(failure).__name__, failure)
            lacks = isinstance(failure, EnforcementError) and f"it would lack {', '.join(failure.missing)}"
            said = f"{error}; the session could not be resumed ({lacks or told_to_cells(failure)})"
            failed.append(self._not_resumed(error, said))
        except BaseException as failure:  # there may be no caller to raise it to
            said = f"{error}; the session could not be resumed ({type(failure).__name__})"
            failed.append(self._not_resumed(error, said))
            raise

    def _replay(self, seconds: float) -> bool:
        log = self._log or []
        _logger.info("a session is resumed: %d requests of %.3f CPU s are run again", len(log), self._log_seconds)
        self._begin_log()
        if not self._bring_back():
            return False
        self._worker.interrupted.clear()  # the interrupt was meant for the cell
        replay = Deadline(seconds)
        for entry in log:
            if self._closing:
                raise EnvironmentUnavailable("it was closed")
            replies = list(entry.replies)
            entry.replies.clear()
            entry.weight = 0
            step = self._deadline(replay.remaining())
            result = self._converse(entry, recorded(replies), step, [])
            replay.extend(step.extended)
            if step.cause is not None:
                said = f"its earlier cells, run again, were not done in {seconds:g} s: {step.cause}"
                raise NotReplayed(said)
            self._note(entry, result)
        return True

    def _check(self) -> None:
        self._lock.check()

    def _require(self) -> None:
        if self._ended or self._closing:
            raise SessionEnded(f"the session is over: {self._ended or 'it was closed'}; start a new one")


class _Streamed:
    """Tells a caller what its cell prints, while it runs, and the rest when it is over: `most` bytes of each stream.

    Beyond that it tells only what the host has to say at the end, as after a kill.
    """

    def __init__(self, output: Callable[[str, str], object], most: int) -> None:
        self._output = output
        self._most = most
        self._told: dict[str, list[str]] = {"stdout": [], "stderr": []}
        self._left = dict.fromkeys(self._told, most)
        self._heard = dict.fromkeys(self._told, 0)

    def tell(self, printed: Printed) -> None:
        """Raises ProtocolViolation for more than a worker keeps, and for nothing."""
        self._heard[printed.stream] += len(printed.text.encode())
        # Half of a surrogate pair is three bytes for a worker, and six here, where it is written as an escape.
        if not printed.text or self._heard[printed.stream] > 2 * self._most:
            raise _unasked()
        self._say(printed.stream, printed.text)

    def end(self, result: CellResult) -> None:
        """Tell what the result has beyond what was told: all of it, if that is no part of it, as after a kill."""
        for stream, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            told = "".join(self._told[stream])
            if stream == "stderr" and not text.startswith(told):
                self._left[stream] = max(self._left[stream], _SAID)
            self._say(stream, text.removeprefix(told))

    def _say(self, stream: str, text: str) -> None:
        kept = text.encode()[: self._left[stream]]
        self._left[stream] -= len(kept)
        if text := kept.decode(errors="ignore"):
            self._told[stream].append(text)
            self._output(stream, text)


def _unasked() -> ProtocolViolation:
    return ProtocolViolation("the sandbox broke the protocol: output that nobody asked for")


def begin(policy: Policy, tools: Mapping[str, str] | None, *, screen: bool) -> dict[str, Any]:
    """The first request of every session: language, caps, tools."""
    return {
        "op": "begin",
        "modules": list(policy.language.modules),
        "source_bytes": policy.language.source_bytes,
        "ast_nodes": policy.language.ast_nodes,
        "stdout_bytes": policy.limits.stdout_bytes,
        "value_bytes": policy.limits.value_bytes,
        "result_bytes": policy.limits.result_bytes,
        "files": policy.limits.files,
        "file_bytes": policy.limits.file_bytes,
        "tools": sorted(tools or {}),
        "screen": screen,
    }
