"""A session that outlives its worker: what every kind of session does, whatever its worker is reached by.

Each request goes into a log with the host's replies. A worker that dies is replaced by one in an earlier state,
and the log since that state is run again with the recorded replies. How a worker is reached, what it costs to
have an earlier state ready and when the log is cut are the subclass's.
"""

from __future__ import annotations

import os
import secrets
import threading
import time
from abc import abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, NoReturn, Protocol

from rlm_secure.broker.protocol import Call, CellResult
from rlm_secure.environments.clock import Clock
from rlm_secure.environments.interface import CallFailed, HostCalls, Session
from rlm_secure.errors import (
    CellError,
    CellRefused,
    CellTimeout,
    EnvironmentUnavailable,
    ProtocolViolation,
    SessionEnded,
    WallViolation,
)
from rlm_secure.policy.model import Policy

#: A longer log than this is not run again: the session ends with its worker.
REPLAY_SECONDS = 10.0
#: Replies of one cell beyond this are not kept.
REPLIES_BYTES = 8 << 20

STOPPED: dict[str, Any] = {"op": "reply", "error": "the run was stopped"}


@dataclass(slots=True)
class Entry:
    """One request of the log, what goes along with it (a context), and the replies that the host gave."""

    request: Mapping[str, Any]
    attachment: Any = None
    replies: list[Mapping[str, Any]] = field(default_factory=list)
    weight: int = 0

    def answered(self, reply: Mapping[str, Any]) -> None:
        """Keep a reply, as long as all of them are small: a cell must not fill the host with what it is told."""
        self.weight += _weight(reply.get("value"))
        if self.heavy:
            self.replies.clear()
        else:
            self.replies.append(reply)

    @property
    def heavy(self) -> bool:
        """Whether its replies were too large to keep, so that it cannot be run again."""
        return self.weight > REPLIES_BYTES


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

    #: What a subclass's transport raises while an earlier state is brought back.
    failures: ClassVar[tuple[type[Exception], ...]] = ()
    _worker: Reachable

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self._owner = os.getpid()
        self._lock = threading.RLock()
        self._ended = ""
        self._closing = False
        self._cells = self._resumes = 0
        self._log: list[Entry] | None = []
        self._log_seconds = 0.0
        # A killed session is rebuilt by running its log again: `random` must then say the same.
        self._seed = secrets.randbits(128)
        self._seeded = False

    # -- what a subclass does -----------------------------------------------------------------------

    @abstractmethod
    def _clock(self, wall: float) -> Clock:
        """The clock of one cell."""

    @abstractmethod
    def _transmit(self, entry: Entry) -> None:
        """Send a request with its attachment."""

    @abstractmethod
    def _attempt(self, entry: Entry, calls: HostCalls, clock: Clock, stopped: list[BaseException]) -> CellResult:
        """`_converse`, and what is to be done when the worker does not survive it."""

    @abstractmethod
    def _bring_back(self) -> bool:
        """Put a worker in an earlier state into `_worker`, before the log is run again; False where there is none."""

    @abstractmethod
    def _end(self, reason: str) -> None:
        """End everything. Idempotent; the first reason stays."""

    def _noted(self) -> None:
        """An entry joined the log."""
        if self._log_seconds > REPLAY_SECONDS:
            self._log = None

    def _cell(self, code: str) -> Entry:
        """The request that runs `code`; the first one that a worker survives seeds the session."""
        seed = {} if self._seeded else {"seed": self._seed}
        return Entry({"op": "exec", "code": code, **seed})

    # -- Session --------------------------------------------------------------------------------------

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
            return self._run(self._cell(code), calls, wall)

    def assign(self, name: str, value: Any) -> None:
        """Bind `name` to a small JSON value."""
        self._command(Entry({"op": "assign", "name": name, "value": value}))

    def alias(self, name: str, target: str) -> None:
        """Bind `name` to the object of `target`."""
        self._command(Entry({"op": "alias", "name": name, "target": target}))

    def read_text(self, name: str) -> str | None:
        """`str()` of a variable, computed in the worker under the clock of a cell."""
        with self._lock:
            self._require()
            result = self._run(Entry({"op": "read", "name": name}), no_calls, self._policy.limits.cell_seconds)
            return result.answer.text if result.answer else None

    # -- one request ------------------------------------------------------------------------------

    def _command(self, entry: Entry, seconds: float | None = None) -> None:
        """A request that runs no cell: what goes wrong with it is the session's end, or the caller's error."""
        with self._lock:
            self._require()
            result = self._run(entry, no_calls, seconds or self._policy.limits.start_seconds)
            if result.error is not None:
                raise result.error

    def _run(self, entry: Entry, calls: HostCalls, wall: float) -> CellResult:
        started = time.monotonic()
        if self._worker.interrupted.is_set():
            self._worker.interrupted.clear()
        clock = self._clock(wall)
        stopped: list[BaseException] = []
        try:
            result = self._attempt(entry, calls, clock, stopped)
        except ProtocolViolation as violation:
            self._end(str(violation))
            raise
        except BaseException:  # Ctrl-C as well
            # The caller was interrupted in the middle of a request: nothing later could be told from it.
            self._end("its host was interrupted in the middle of a cell")
            raise
        if clock.cause is not None and isinstance(result.error, CellTimeout):
            # The worker says that it was interrupted; why is the host's to say.
            clock.cause.session_ended = result.error.session_ended
            result.error = clock.cause
        if stopped:
            raise stopped[0]
        result.seconds = time.monotonic() - started
        return result

    def _converse(self, entry: Entry, calls: HostCalls, clock: Clock, stopped: list[BaseException]) -> CellResult:
        """Send the request, answer its calls, return its result. What `calls` raises goes to `stopped`."""
        worker = self._worker
        self._transmit(entry)
        while True:
            said = worker.event(clock)
            if isinstance(said, CellResult):
                return said
            waited = time.monotonic()
            reply: dict[str, Any]
            try:
                reply = {"op": "reply", "value": calls(said)} if not stopped else STOPPED
            except CallFailed as failed:
                reply = {"op": "reply", "error": str(failed)}
            except BaseException as error:  # noqa: BLE001 - raised again by _run, once the worker is at rest
                stopped.append(error)
                reply = STOPPED
                clock.expire(CellTimeout("the run was stopped", limit="interrupt", wall="wall-clock"))
            if self._policy.limits.exclude_host_time:
                clock.extend(time.monotonic() - waited)
            entry.answered(reply)
            worker.reply(reply, clock)

    def _note(self, entry: Entry, result: CellResult) -> None:
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
        self._noted()

    # -- recovery -----------------------------------------------------------------------------------

    def _recover(self, error: CellError) -> CellResult:
        """After a worker's death: go on from an earlier state, or end the session, and say which."""
        said = str(error)
        expected: tuple[type[Exception], ...] = (*self.failures, ProtocolViolation, EnvironmentUnavailable, OSError)
        try:
            resumed = self._resume(error)
        except expected as failure:
            said, resumed = f"{said}; the session could not be resumed ({failure!r})", False
        if not resumed:
            error.session_ended = True
            self._end(said)
            return CellResult(stderr=f"{said}; the session is over\n", error=error)
        said += "; the session was resumed: variables are as they were before this cell"
        return CellResult(stderr=said + "\n", error=error, resumed=True)

    def _resume(self, error: CellError) -> bool:
        # A forbidden call is an attack or a bug of ours: it gets no second try.
        if isinstance(error, WallViolation) or self._closing or self._log is None:
            return False
        if self._resumes >= self._policy.limits.resumes:
            return False
        self._resumes += 1
        log, self._log, self._log_seconds = self._log, [], 0.0
        if not self._bring_back():
            return False
        for entry in log:
            replies = list(entry.replies)
            entry.replies.clear()
            entry.weight = 0
            clock = self._clock(self._policy.limits.cell_seconds)
            self._note(entry, self._converse(entry, _recorded(replies), clock, []))
        return True

    def _require(self) -> None:
        if self._ended:
            raise SessionEnded(f"the session is over: {self._ended}; start a new one")


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


def _weight(value: Any) -> int:
    if isinstance(value, str):
        return len(value)
    if isinstance(value, list | tuple):
        return sum(map(_weight, value)) + 8
    if isinstance(value, dict):
        return sum(len(str(key)) + _weight(item) for key, item in value.items()) + 8
    return 8


def _recorded(replies: list[Mapping[str, Any]]) -> Callable[[Call], Any]:
    """Answers calls as they were answered the first time."""
    remaining = iter(replies)

    def answer(_call: Call) -> Any:
        reply = next(remaining, STOPPED)
        if "error" in reply:
            raise CallFailed(reply["error"])
        return reply["value"]

    return answer


def no_calls(call: Call) -> NoReturn:
    """The HostCalls of a request during which a cell has nobody to call."""
    raise CallFailed(f"{call.kind} is not available here")
