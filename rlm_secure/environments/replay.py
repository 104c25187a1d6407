"""A session that outlives its worker: what every kind of session does, whatever its worker is reached by.

Each request goes into a log with the host's replies. A worker that dies is replaced by one in an earlier state,
and the log since that state is run again with the recorded replies. How a worker is reached, what it costs to
have an earlier state ready and when the log is cut are the subclass's.
"""

from __future__ import annotations

import json
import secrets
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, NoReturn, Protocol

from rlm_secure.broker.protocol import Call, CellResult
from rlm_secure.decision import Decided
from rlm_secure.environments.deadline import INTERRUPT_EVERY_SECONDS, SESSION_CPU, Clock
from rlm_secure.environments.interface import HostCalls, Session
from rlm_secure.environments.turn import Turn, serve
from rlm_secure.errors import (
    CallFailed,
    CallRefused,
    CellCallsRefused,
    CellError,
    CellException,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    SessionEnded,
    WallViolation,
)
from rlm_secure.policy.gate import Gate
from rlm_secure.policy.model import Policy
from rlm_secure.tools.hostcall import HostCall, abandoned
from rlm_secure.types import held_bytes

#: A longer log than this is not run again: the session ends with its worker.
REPLAY_SECONDS = 10.0
#: What a log has to be run again in at least, beside twice the CPU seconds that it took: a busy machine is slow. No log
#: has more than that for REPLAY_SECONDS, whoever waits for it and whatever it is said to have taken.
_REPLAY_LEAST_SECONDS = 2.0
#: Replies of one cell beyond this are not kept, and a log beyond that is not run again.
REPLIES_BYTES = 8 << 20
LOG_BYTES = 64 << 20
#: Nor is one that holds more contexts, each of which is a descriptor, or more bytes of them than one may have.
LOG_ATTACHMENTS = 64
#: A cell that goes on asking for tools after so many calls more than it may make is ended: it does nothing else.
_IN_VAIN = 100
#: Rules that refuse what a call led to, after it was served: its time was the host's.
_SERVED = frozenset({"tool-result", "tool-result-bytes", "tool-seconds"})
#: What the interpreter, its modules and its libraries take of a worker's memory beside what its policy grants, at most.
_OWN_BYTES = 256 << 20
#: Bytes of JSON in an answer: a worker reads frames of 256 MiB at most.
ANSWER_BYTES = 240 << 20

STOPPED: dict[str, Any] = {"op": "reply", "error": "the run was stopped"}

#: What answers the calls of one request, under the request's clock.
Answers = Callable[[Call, Clock], Any]


@dataclass(slots=True)
class LogEntry:
    """One request of the log, what goes along with it (a context), and the replies that the host gave."""

    request: Mapping[str, Any]
    attachment: Any = None
    replies: list[Mapping[str, Any]] = field(default_factory=list)
    weight: int = 0
    own: int = field(init=False)

    def __post_init__(self) -> None:
        self.own = held_bytes(dict(self.request), LOG_BYTES)

    def answered(self, reply: Mapping[str, Any]) -> None:
        """Keep a reply, as long as all of them are small: a cell must not fill the host with what it is told."""
        self.weight += held_bytes(dict(reply), REPLIES_BYTES)
        if self.heavy:
            self.replies.clear()
        else:
            self.replies.append(reply)

    @property
    def size(self) -> int:
        """Bytes of memory that its source or value takes, and its replies."""
        return self.own + self.weight

    @property
    def attached(self) -> int:
        """Bytes of the context that goes along with it, as far as this process keeps them."""
        return int(getattr(self.attachment, "size", 0))

    @property
    def heavy(self) -> bool:
        """Whether its replies were too large to keep, so that it cannot be run again."""
        return self.weight > REPLIES_BYTES


class _NoTurn(Exception):
    """A request did not get its session's turn in time, for the reason in `error`."""

    def __init__(self, error: CellError) -> None:
        super().__init__(str(error))
        self.error = error


class _Wait:
    """Since when a request is asked for, and how long it may wait for its turn.

    `most` seconds are its caller's, for all of it; `longest` those of a run, of which only waiting for what the session
    does for no caller is taken off: `ahead` says how long that was.
    """

    def __init__(self, session: LoggedSession, most: float | None, longest: float) -> None:
        self._session = session
        self._interrupts = session._interrupts
        self._looked = self.began = time.monotonic()
        self.most, self.longest = most, longest
        self.ahead = 0.0
        self.error: CellError | None = None

    def over(self, ahead: bool) -> bool:
        """Whether it waits no longer, for the reason in `error`. See turn.GiveUp."""
        now = time.monotonic()
        if ahead:
            self.ahead += now - self._looked
        else:
            self._interrupts = self._session._interrupts  # they were meant for the cell that runs
        self._looked = now
        if self._session._interrupts != self._interrupts:
            said = "the request was interrupted by the host before its turn came"
            self.error = CellTimeout(said, limit="interrupt", wall="wall-clock")
        elif self.most is not None and now - self.began >= self.most:
            self.error = _too_long(self.most)
        elif self.ahead >= self.longest:
            self.error = _longer_than_a_run(self.longest)
        return self.error is not None


class Reachable(Protocol):
    """The host's end of a worker."""

    interrupted: threading.Event

    def event(self, clock: Clock) -> Call | CellResult:
        """The next call or result."""
        ...

    def reply(self, message: Mapping[str, Any], clock: Clock) -> None:
        """Answer a call, under the clock of its cell."""
        ...


class LoggedSession(Session):
    """The common half of local and remote sessions. `_worker` is the worker that runs now."""

    _worker: Reachable
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
        self._in_vain = 0  # tool calls of the cell that were one too many
        self._refusals = 0  # calls of the cell that were refused
        self._denied = False  # the call that was answered last was
        self._given = 0.0  # seconds that the cell was given back while the host answered it
        self._cut = False  # the cell's time was over before a call of it was answered, or before its result came
        self._begin_log()
        # A killed session is rebuilt by running its log again: `random` must then say the same.
        self._seed = secrets.randbits(128)
        self._seeded = False

    # -- what a subclass does -----------------------------------------------------------------------

    @abstractmethod
    def _clock(self, wall: float) -> Clock:
        """The clock of one cell."""

    @abstractmethod
    def _transmit(self, entry: LogEntry, clock: Clock) -> None:
        """Send a request with its attachment, under its clock."""

    @abstractmethod
    def _attempt(self, entry: LogEntry, calls: Answers, clock: Clock, stopped: list[BaseException]) -> CellResult:
        """`_converse`, and what is to be done when the worker does not survive it."""

    @abstractmethod
    def _bring_back(self) -> bool:
        """Put a worker in an earlier state into `_worker`, before the log is run again; False where there is none."""

    @abstractmethod
    def _end(self, reason: str) -> None:
        """End everything. Idempotent; the first reason stays."""

    def _interrupted(self) -> bool:
        """Note an interrupt. Returns whether it is the worker's: else it is of who waits for the session's own work."""
        self._interrupts += 1
        if self._lock.taken:
            return False
        self._worker.interrupted.set()
        return True

    def _noted(self) -> None:
        """An entry joined the log."""
        if self._log_seconds > REPLAY_SECONDS:
            self._log = None

    def _cell(self, code: str) -> LogEntry:
        """The request that runs `code`; the first one that a worker survives seeds the session."""
        seed = {} if self._seeded else {"seed": self._seed}
        return LogEntry({"op": "exec", "code": code, **seed})

    # -- Session --------------------------------------------------------------------------------------

    @property
    def alive(self) -> bool:
        """Whether execute() can be called."""
        return not self._ended

    @property
    def refused(self) -> tuple[Decided, ...]:
        """What the host refused of the last cell's calls: the first of each rule."""
        return tuple(self._refused.values())

    def execute(
        self, code: str, calls: HostCalls, *, seconds: float | None = None, exclude_host_time: bool = False
    ) -> CellResult:
        """Run one cell. See Session.execute."""
        limits = self._policy.limits
        if seconds is not None and not seconds > 0:
            raise ValueError(f"a cell runs for some time, not for {seconds!r} seconds; leave it out for the policy's")
        most = None if exclude_host_time else seconds
        wait = _Wait(self, most, limits.run_seconds)
        try:
            with self._turn(wait):
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
                return self._run(self._cell(code), lambda said, clock: self._ask(calls, said, clock, most), wall, wait)
        except _NoTurn as none:
            if self._lock.taken:  # of nobody's cell
                self._refused = {}
            said = f"{none.error}; it did not begin, and the session's variables are as they were"
            return CellResult(stderr=f"{said}\n", error=none.error, seconds=time.monotonic() - wait.began)

    def assign(self, name: str, value: Any) -> None:
        """Bind `name` to a small JSON value."""
        self._command(LogEntry({"op": "assign", "name": name, "value": value}))

    def alias(self, name: str, target: str) -> None:
        """Bind `name` to the object of `target`."""
        self._command(LogEntry({"op": "alias", "name": name, "target": target}))

    def read_text(self, name: str) -> str | None:
        """`str()` of a variable, computed in the worker under the clock of a cell."""
        limits = self._policy.limits
        wait = _Wait(self, None, limits.run_seconds)
        try:
            with self._turn(wait):
                self._require()
                result = self._run(LogEntry({"op": "read", "name": name}), nobody, limits.cell_seconds, wait)
        except _NoTurn:
            return None
        return result.answer.text if result.answer else None

    # -- one request ------------------------------------------------------------------------------

    def _command(self, entry: LogEntry, seconds: float | None = None) -> None:
        """A request that runs no cell: what goes wrong with it is the session's end, or the caller's error."""
        wait = _Wait(self, None, self._policy.limits.run_seconds)
        try:
            with self._turn(wait):
                self._require()
                result = self._run(entry, nobody, seconds or self._policy.limits.start_seconds, wait)
        except _NoTurn as none:
            raise none.error from None
        if result.error is not None:
            raise result.error

    @contextmanager
    def _turn(self, wait: _Wait) -> Iterator[None]:
        """The session's turn, in the block. Raises _NoTurn where it does not come in time."""
        if not self._lock.acquire(give_up=wait.over):
            assert wait.error is not None
            raise _NoTurn(wait.error)
        try:
            yield
        finally:
            self._lock.release()

    def _run(self, entry: LogEntry, calls: Answers, wall: float, wait: _Wait) -> CellResult:
        """Serve one request, which has the turn. `wall` seconds are its own; `wait` says since when it is asked for."""
        self._refused = {}
        self._cut = False
        self._in_vain = self._refusals = 0
        self._given = 0.0
        if self._worker.interrupted.is_set():
            self._worker.interrupted.clear()
        clock = self._clock(wall)
        if entry.request["op"] in ("exec", "read"):
            self._bound(clock, wait)
        else:
            clock.command = True
        stopped: list[BaseException] = []
        try:
            result = self._attempt(entry, calls, clock, stopped)
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise
        except BaseException:  # Ctrl-C as well
            # The caller was interrupted in the middle of a request: nothing later could be told from it.
            if not self._lock.taken:  # it is being resumed, and that goes on
                self._end("its host was interrupted in the middle of a cell")
            raise
        error = result.error
        if clock.cause is not None and (
            isinstance(error, CellTimeout) or (self._cut and (error is None or isinstance(error, CellException)))
        ):
            # The worker says that it was interrupted, or tells of a call that was cut short; why is the host's to say.
            clock.cause.session_ended = self._closing or (error is not None and error.session_ended)
            result.error = clock.cause
        if stopped:
            raise stopped[0]
        result.seconds = time.monotonic() - wait.began
        return result

    def _bound(self, clock: Clock, wait: _Wait) -> None:
        """A cell ends after its caller's seconds, and after those of a run, however long it waits for the host."""
        if wait.most is not None:
            clock.bound(wait.most - (time.monotonic() - wait.began), _too_long(wait.most))
        clock.bound(wait.longest - wait.ahead, _longer_than_a_run(wait.longest))

    def _converse(self, entry: LogEntry, calls: Answers, clock: Clock, stopped: list[BaseException]) -> CellResult:
        """Send the request, answer its calls, return its result. What `calls` raises goes to `stopped`.

        The CPU seconds of the result are measured: how long the log may take when it is run again follows from them.
        """
        worker = self._worker
        self._transmit(entry, clock)
        while True:
            said = worker.event(clock)
            if isinstance(said, CellResult):
                # It says that of itself, and can have held no more. A context takes four bytes for each, at most.
                limits = self._policy.limits
                said.peak_bytes = min(said.peak_bytes, limits.memory_bytes + 4 * limits.context_bytes + _OWN_BYTES)
                if not clock.remaining() and clock.over() is not None:
                    self._cut = True  # it came too late, whatever it says
                return said
            reply: dict[str, Any]
            # Nobody is asked any more for a cell whose time is over, whatever it does with its grace.
            over = self._over(clock)
            self._cut = self._cut or over
            try:
                reply = STOPPED if over else {"op": "reply", "value": calls(said, clock)}
            except CallFailed as failed:
                reply = {"op": "reply", "error": str(failed)}
                if isinstance(failed, CallRefused):
                    self._refused.setdefault(failed.decision.rule, failed.decision)
            except CellError as ended:  # the host ends the cell, and nothing more than that
                reply = {"op": "reply", "error": str(ended)}
                self._cut = True
                clock.expire(ended)
            except BaseException as error:  # noqa: BLE001 - raised again by _run, once the worker is at rest
                stopped.append(error)
                reply = STOPPED
                clock.expire(CellTimeout("the run was stopped", limit="interrupt", wall="wall-clock"))
            entry.answered(reply)
            worker.reply(reply, clock)

    def _ask(self, calls: HostCalls, call: Call, clock: Clock, most: float | None) -> Any:
        """What the host answers to a call of a cell, for as long as the cell, the call and the caller have time."""
        given, self._denied = self._given, False
        try:
            value = self._answer(calls, call, clock, most)
        except CallFailed as failed:
            if self._denied or (isinstance(failed, CallRefused) and failed.decision.rule not in _SERVED):
                self._deny(clock, given)
            raise
        if self._denied:
            self._deny(clock, given)
        return value

    def _deny(self, clock: Clock, given: float) -> None:
        """A call was refused: it is answered out of the cell's own time, and one too many ends the cell.

        Raises CellCallsRefused. `given` is the time that the cell had been given back before.
        """
        clock.extend(given - self._given)
        self._given = given
        self._refusals += 1
        decision = self._gate.refusals(self._refusals)
        if not decision.allowed:
            raise CellCallsRefused(decision.reason, limit="lm.refusals") from None

    def _answer(self, calls: HostCalls, call: Call, clock: Clock, most: float | None) -> Any:
        tool = call.kind == "tool"
        if tool:
            self._tool_calls += 1
            count = self._gate.tool_calls(self._tool_calls)
            self._in_vain += not count.allowed
            if self._in_vain > _IN_VAIN:
                clock.expire(CellTimeout(count.reason, limit="limits.tool_calls", wall="wall-clock"))
                self._cut = True
            count.require(CallRefused)
        with self._lock.waiting() as served:
            if not tool and most is None and getattr(calls, "interruptible", False):
                began = time.monotonic()
                try:
                    return _sendable(serve(served, lambda: calls(call)))
                finally:
                    self._exclude(clock, time.monotonic() - began)
                    self._denied = served.refused
            owner = getattr(calls, "owner", None) or self._lock
            self._gate.abandoned(*abandoned(self._lock, owner)).require(CallRefused)
            host = HostCall(lambda: serve(served, lambda: calls(call)), self._lock, owner)
            try:
                self._await(host, call, clock)
            except BaseException:  # Ctrl-C as well: nobody waits for it any more
                host.abandon()
                raise
            self._denied = served.refused
        return _sendable(host.result())

    def _await(self, host: HostCall, call: Call, clock: Clock) -> None:
        """Wait for `host`. Raises CallFailed when it takes too long, or the cell is over."""
        began = looked = time.monotonic()
        while not host.wait(min(clock.slice(), INTERRUPT_EVERY_SECONDS)):
            now = time.monotonic()
            self._exclude(clock, now - looked)
            looked = now
            if self._over(clock):
                self._cut = True
                raise CallFailed(STOPPED["error"])
            if call.tool is not None:  # a batch, or a child run, has the time of the cell
                self._gate.tool_seconds(call.tool, now - began).require(CallRefused)
        self._exclude(clock, time.monotonic() - looked)

    def _over(self, clock: Clock) -> bool:
        """Whether the request must end, by its clock or because somebody wants it to."""
        if self._worker.interrupted.is_set():
            clock.interrupt()
        if self._closing:
            clock.expire(CellTimeout("the session was closed", limit="interrupt", wall="wall-clock"))
        return clock.over() is not None

    def _exclude(self, clock: Clock, seconds: float) -> None:
        if self._policy.limits.exclude_host_time:
            clock.extend(seconds)
            self._given += seconds

    def _begin_log(self) -> None:
        """The worker's present state is one that can be brought back: the log begins anew."""
        self._log = []
        self._log_seconds = 0.0
        self._log_bytes = self._log_attached = self._log_attachments = 0

    def _note(self, entry: LogEntry, result: CellResult) -> None:
        """Put a request that went well into the log. Reading a variable changes nothing."""
        self._seeded = self._seeded or "seed" in entry.request
        if self._log is None or entry.request["op"] == "read":
            return
        self._log_seconds += result.cpu_seconds
        if isinstance(result.error, CellTimeout) or entry.heavy:
            # Where it was stopped depended on the moment, or what it was told is gone: run again, it would lead
            # somewhere else.
            self._log = None
        else:
            self._log.append(entry)
            self._log_bytes += entry.size
            self._log_attached += entry.attached
            self._log_attachments += entry.attachment is not None
            if (
                self._log_bytes > LOG_BYTES
                or not self._gate.context(self._log_attached).allowed
                or self._log_attachments > LOG_ATTACHMENTS
            ):
                self._log = None
        self._noted()

    # -- recovery -----------------------------------------------------------------------------------

    def _recover(self, error: CellError, clock: Clock) -> CellResult:
        """After a worker's death under `clock`: go on from an earlier state, or end the session, and say which.

        What is run again has bounds of its own, which may be longer than those of `clock`. A request waits for it as
        long as it has time, and a grace: then that goes on without it, and the next request waits for it.
        """
        if not self._resumable(error):
            return self._not_resumed(error, str(error))
        self._resumes += 1
        # All of it has the time of the request that waits for it: what a cell does may differ when it is run again.
        seconds = min(clock.wall, clock.left_of_bounds())
        seconds = max(seconds, _REPLAY_LEAST_SECONDS + 2 * self._log_seconds)
        seconds = min(seconds, _REPLAY_LEAST_SECONDS + 2 * REPLAY_SECONDS)
        until = time.monotonic() + clock.left_of_bounds() + self._policy.limits.grace_seconds
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
        """`result` of a cell that was stopped because its session's CPU seconds are used up, which ends the session."""
        error.session_ended = True
        result.error = error
        self._end(str(error))
        return result

    def _resumable(self, error: CellError) -> bool:
        # A forbidden call is an attack or a bug of ours: it gets no second try.
        if isinstance(error, WallViolation) or self._closing or self._log is None:
            return False
        return error.limit != SESSION_CPU and self._gate.resumes(self._resumes + 1).allowed

    def _resume(self, error: CellError, seconds: float, failed: list[CellResult]) -> None:
        """Go on from an earlier state within so many seconds. Where that fails, ends the session, and puts why into
        `failed`."""
        try:
            if not self._replay(seconds):
                failed.append(self._not_resumed(error, str(error)))
        except Exception as failure:  # noqa: BLE001 - whatever it is, this is not the session that it was
            said = f"{error}; the session could not be resumed ({failure!r})"
            failed.append(self._not_resumed(error, said))
        except BaseException as failure:  # there may be no caller to whom it could be raised
            said = f"{error}; the session could not be resumed ({type(failure).__name__})"
            failed.append(self._not_resumed(error, said))
            raise

    def _replay(self, seconds: float) -> bool:
        log = self._log or []
        self._begin_log()
        if not self._bring_back():
            return False
        self._worker.interrupted.clear()  # that was the cell's
        replay = Clock(seconds)
        for entry in log:
            if self._closing:
                raise EnvironmentUnavailable("it was closed")
            replies = list(entry.replies)
            entry.replies.clear()
            entry.weight = 0
            step = self._clock(replay.remaining())
            result = self._converse(entry, _recorded(replies), step, [])
            if step.cause is not None:
                said = f"its earlier cells, run again, were not done in {seconds:g} s: {step.cause}"
                raise EnvironmentUnavailable(said)
            self._note(entry, result)
        return True

    def _check(self) -> None:
        super()._check()
        self._lock.check()

    def _require(self) -> None:
        if self._ended or self._closing:
            raise SessionEnded(f"the session is over: {self._ended or 'it was closed'}; start a new one")


def _too_long(most: float) -> CellTimeout:
    said = f"the cell took longer than the {most:g} s that its caller gave it, with all that it waited for"
    return CellTimeout(said, limit="limits.cell_seconds", wall="wall-clock")


def _longer_than_a_run(longest: float) -> CellTimeout:
    said = f"the cell took longer than limits.run_seconds = {longest:g} s, with all that it waited for"
    return CellTimeout(said, limit="limits.run_seconds", wall="wall-clock")


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
        "tools": sorted(tools or {}),
        "screen": screen,
    }


def _recorded(replies: list[Mapping[str, Any]]) -> Answers:
    """Answers calls as they were answered the first time."""
    remaining = iter(replies)

    def answer(_call: Call, _clock: Clock) -> Any:
        reply = next(remaining, STOPPED)
        if "error" in reply:
            raise CallFailed(reply["error"])
        return reply["value"]

    return answer


def nobody(call: Call, _clock: Clock) -> NoReturn:
    """Answers the calls of a request during which a cell has nobody to call."""
    raise CallFailed(f"{call.kind} is not available here")


def _sendable(value: Any) -> Any:
    """`value`, which goes to a worker as JSON. Raises CallFailed where it cannot: the session lives on."""
    texts = value if type(value) is list else [value]
    if all(type(text) is str for text in texts) and 12 * sum(map(len, texts)) + 4 * len(texts) < ANSWER_BYTES:
        return value
    try:
        size = len(json.dumps(value, allow_nan=False))
    except Exception:  # noqa: BLE001 - an encoder runs methods of what it encodes
        raise CallFailed(f"the host answered with {type(value).__name__}, which JSON cannot hold") from None
    if size > ANSWER_BYTES:
        raise CallFailed(f"the answer takes {size:,} bytes, and a cell reads at most {ANSWER_BYTES:,}; ask for less")
    return value
