"""Upstream's environment interface over a session: contexts, histories, cells, results.

One class serves all environments; rlm_secure.compat gives it upstream's class names.
"""

from __future__ import annotations

import copy
import json
import keyword
import logging
import os
import threading
import time
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self

from rlm_secure.broker.protocol import MAX_NAMES, Call, CellResult, Variable
from rlm_secure.environments.interface import AuditSink, Environment, HostCalls, Session, Snapshot, require_walls
from rlm_secure.environments.owned import Owned
from rlm_secure.environments.session_files import SessionFiles
from rlm_secure.environments.turn import refuse
from rlm_secure.environments.variables import described
from rlm_secure.environments.waiting import FILE_BYTES_A_SECOND, longer_than_a_run, too_long
from rlm_secure.errors import (
    CellCrashed,
    CellError,
    CellRefused,
    CellTimeout,
    EnforcementError,
    ProtocolViolation,
    SessionEnded,
    ValueUnavailable,
    WallViolation,
)
from rlm_secure.guarantees import EnforcementReport
from rlm_secure.loggers import logger
from rlm_secure.pickling import twin
from rlm_secure.plural import counted
from rlm_secure.policy import shipped
from rlm_secure.policy.gate import Gate
from rlm_secure.tagged import tag
from rlm_secure.tools import RESERVED_TOOL_NAMES, Toolbox, parse_custom_tools
from rlm_secure.types import CodeFinding, REPLResult
from rlm_secure.values import Values, unavailable

if TYPE_CHECKING:
    from rlm_secure.policy.model import Limits, Policy

_log = logger("rlm_secure.session")

#: A JSON value up to this many characters is sent in a frame; larger ones are sent as a context is.
_SMALL = 64 * 1024


class REPL(Owned):
    """A session as the loop uses it. Starts in the constructor; `cleanup()` ends it.

    `calls` answers the model calls of cells. If it has a `drain()` method, execute_code takes the record of a cell's
    model calls from it; if it has a `report()` method, that receives refused calls. `custom_tools` maps names to data
    values, to host functions, or to source text, which runs with the set-up; see rlm_secure.tools. `audit` receives
    the session's start and end, and every refusal, violation and limit. The set-up runs inside the context manager
    `running(self)`, which may interrupt() it.

    A session that is resumed has another report. For an environment of another distribution, each request checks the
    required walls in it, before the session has the request and before its result is returned; if one is missing, it
    closes the session and raises EnforcementError. A request that resumes the session, or waits until it is resumed,
    has run what it runs, and the earlier cells again, before that check; none that begins later runs anything. Our own
    sessions check before they run anything again.
    """

    def __init__(
        self,
        environment: Environment,
        *,
        policy: Policy | str | Path | Mapping[str, Any] = "strict",
        calls: HostCalls | None = None,
        context_payload: Any = None,
        setup_code: str | None = None,
        persistent: bool = False,
        depth: int = 1,
        custom_tools: Mapping[str, Any] | None = None,
        custom_sub_tools: Mapping[str, Any] | None = None,
        compaction: bool = False,
        max_concurrent_subcalls: int = 4,
        audit: AuditSink | None = None,
        running: Callable[[Any], AbstractContextManager[None]] = nullcontext,
        with_values: bool = False,
    ) -> None:
        self.policy = shipped.resolved(policy)
        """The policy, with its values."""
        Gate(self.policy).environment(environment.name).require()
        self.persistent = persistent
        """Whether the session goes on after a completion."""
        self.depth = depth
        """How deep the run is nested; 0 for the first."""
        self.compaction = compaction
        """Whether `history` is bound, for runs that shorten their conversation."""
        self.max_concurrent_subcalls = max_concurrent_subcalls
        """How many children may run at a time."""
        self.custom_tools = dict(custom_tools or {})
        self.custom_sub_tools = dict(custom_sub_tools or {})
        """The tools of children."""
        self.calls: HostCalls = calls or no_host
        self._contexts, self._histories = _Numbers(), _Numbers()
        self._compacted: list[Any] = []
        self._closed = False
        tools = parse_custom_tools(self.custom_tools)
        functions = {name: tool.value for name, tool in tools.items() if tool.is_callable}
        self._served = _Served(self, Toolbox(functions, self.policy))
        self._audit = audit
        self._name = os.urandom(8).hex()
        self._cells = self._requests = self._under_way = 0
        self._count = threading.Lock()
        self._environment = environment
        self._walls: EnforcementReport | None = None  # the last report that was checked
        began = time.monotonic()
        environment.expect(context_payload)
        self._session = environment.open(self.policy, tools=dict.fromkeys(functions, ""))
        self._session.with_values = with_values
        begun = False
        try:
            self._check_walls()
            if audit is not None:
                audit.session_start(self._name, policy=self.policy.name, report=self._session.report)
            begun = True
            said = "session %s began in %.3f s: environment %s, policy %s"
            _log.info(said, self._name, time.monotonic() - began, environment.name, self.policy.name)
            with running(self):
                for name, tool in tools.items():
                    if not (tool.is_callable or tool.is_code):
                        self._bind(name, tool.value)
                code = [tool.source for tool in tools.values() if tool.is_code]
                self._setup(context_payload, "\n\n".join([*([setup_code] if setup_code else []), *code]))
        except BaseException:  # Ctrl-C as well: the session must not outlive it
            self._closed = not begun  # only what was recorded as begun is recorded as ended
            self.cleanup()
            raise

    @property
    def report(self) -> EnforcementReport:
        """The walls in force around the session."""
        return self._session.report

    @property
    def session(self) -> Session:
        """The session itself."""
        return self._session

    @property
    def locals(self) -> Mapping[str, Any]:
        """The variables by name, as in a result: JSON values if they are small, else short texts; read-only.

        Empty after cleanup(). Reading them is a cell of its own, also for limits.cells and the audit log: raises the
        CellError that ended it, or SessionEnded if the session is gone.
        """
        if self._closed:
            return MappingProxyType({})
        return MappingProxyType(to_repl_result(self._execute("", no_host), []).check().locals)

    def _check_walls(self) -> None:
        """Check the walls in the session's report, unless it is the one last checked. Raises EnforcementError."""
        report = self._session.report
        if report is self._walls:
            return
        try:
            require_walls(self._environment, self.policy, report)
        except BaseException as error:  # Ctrl-C as well: the session must not outlive it
            self._session.close()
            if isinstance(error, EnforcementError) and self._audit is not None and self._walls is not None:
                self._audit.violation(
                    self._name, violation="EnforcementError", wall=error.missing[0], detail=str(error)
                )
            raise
        self._walls = report

    @contextmanager
    def _walled(self) -> Iterator[Session]:
        """The session for one request, with its walls checked before and after. Raises EnforcementError."""
        self._check_walls()
        try:
            yield self._session
        except ProtocolViolation as error:
            self._broken(error)
            raise
        self._check_walls()

    def _broken(self, error: ProtocolViolation) -> None:
        if self._audit is not None:
            self._audit.violation(self._name, violation="ProtocolViolation", wall="protocol", detail=str(error))

    def _setup(self, context_payload: Any, setup_code: str) -> None:
        if self.compaction:
            with self._walled() as session:
                session.assign("history", [])
        if context_payload is not None:
            self.add_context(context_payload)
        if setup_code:
            self.execute_code(setup_code).check()

    def _bind(self, name: str, value: Any) -> None:
        try:
            small = len(json.dumps(value)) <= _SMALL
        except (TypeError, ValueError) as error:
            raise TypeError(f"{name!r} is not a JSON value and cannot cross the wall: {error}") from None
        with self._walled() as session:
            if small:
                session.assign(name, value)
            else:
                session.load_context(name, value)

    def load_context(self, context_payload: Any) -> None:
        """Bind the payload as context_0, and context."""
        self.add_context(context_payload, 0)

    def add_context(self, context_payload: Any, context_index: int | None = None) -> int:
        """Bind the payload as context_{index} (the next one by default); `context` stays context_0."""
        with self._contexts.taken(context_index) as index, self._walled() as session:
            alias = "context" if index == 0 else None
            session.open_context(f"context_{index}", context_payload, {"answer": _fresh_answer()}, alias)
        return index

    def get_context_count(self) -> int:
        """How many contexts are bound."""
        return self._contexts.count

    def reset_answer(self) -> None:
        """Bind a fresh `answer`: for a new context, or because the last one was not accepted."""
        with self._walled() as session:
            session.assign("answer", _fresh_answer())

    def add_history(self, message_history: Sequence[Mapping[str, Any]], history_index: int | None = None) -> int:
        """Bind a deep copy of the messages as history_{index}; `history` is history_0 unless compaction uses it."""
        with self._histories.taken(history_index) as index, self._walled() as session:
            session.load_context(f"history_{index}", copy.deepcopy(list(message_history)))
            if index == 0 and not self.compaction:
                session.alias("history", "history_0")
        return index

    def get_history_count(self) -> int:
        """How many histories are bound."""
        return self._histories.count

    def append_compaction_entry(self, entry: Any) -> None:
        """Append to `history` what compaction removed from the conversation."""
        self.append_compaction_entries([entry])

    def append_compaction_entries(self, entries: Sequence[Any]) -> None:
        """Append several, in one request: each sends the whole history."""
        if self.compaction:
            self._compacted += copy.deepcopy(list(entries))
            with self._walled() as session:
                session.load_context("history", self._compacted)

    def update_handler(self, calls: HostCalls) -> None:
        """Answer the calls of later cells by `calls`."""
        self.calls = calls

    def require(self) -> None:
        """Raise WrongProcess or ReentrantCall if the caller may not use the session; else do nothing."""

    def execute_code(
        self,
        code: str,
        *,
        timeout: float | None = None,
        exclude_host_time: bool = False,
        output: Callable[[str, str], object] | None = None,
    ) -> REPLResult:
        """Run one cell. Never raises for what the cell does; raises SessionEnded when the session is over.

        `timeout` is wall time in seconds, with all that the cell waits for; with `exclude_host_time`, the cell's own.
        `output` is called with "stdout" or "stderr", and what the cell has printed there, while it runs.
        """
        served = self._served if output is None else _Served(self, self._served.toolbox, output)
        session, began = self._session, time.monotonic()
        at = self._next() if session.with_values else -1
        result = self._execute(code, served, seconds=timeout, exclude_host_time=exclude_host_time)
        written = self._written(result, began, None if exclude_host_time else timeout) if result.files else {}
        ask = self._asking(at) if session.with_values else None
        if (report := getattr(self.calls, "report", None)) is not None:
            for decision in session.refused:
                report(decision)
        drain = getattr(self.calls, "drain", None)
        made = to_repl_result(result, drain() if drain else [], self.policy.limits, ask)
        made.files = written
        return made

    def _written(self, result: CellResult, began: float, timeout: float | None) -> dict[str, bytes]:
        """The files that a cell wrote, read in requests that follow it; `result` says if they cannot all be read.

        They have what is left of `timeout`, but twice the grace at least, and a second for each 2 MB.
        """
        written: dict[str, bytes] = {}
        limits, now = self.policy.limits, time.monotonic()
        longest = now + limits.run_seconds - result.seconds
        until = longest if timeout is None else max(began + timeout, now + 2 * limits.grace_seconds)
        try:
            for name, size in result.files.items():
                now = time.monotonic()
                if now > min(until, longest):
                    raise longer_than_a_run(limits.run_seconds)
                with self._walled() as session:
                    data = session.read_file(name, None if timeout is None else until - now) if session.alive else None
                if data is not None and len(data) == size:  # else another thread's cell has changed it
                    written[name] = data
                    until += 0.0 if timeout is None else size / FILE_BYTES_A_SECOND
        except SessionEnded:  # another thread has closed it
            pass
        except CellError as error:
            if timeout is not None and isinstance(error, CellTimeout) and until <= time.monotonic() < longest:
                error = too_long(timeout)
            result.error = result.error or error
            result.stderr += f"{error}; not all files that the cell wrote could be read\n"
        return written

    @property
    def files(self) -> SessionFiles:
        """The files of the session. See SessionFiles."""
        return SessionFiles(self.policy, self._walled)

    def _next(self) -> int:
        """The number that the next request has if no other thread makes one; -1 while another is under way."""
        with self._count:
            return -1 if self._under_way else self._requests + 1

    @contextmanager
    def _request(self) -> Iterator[None]:
        """Count a request that may change variables, as one that is under way during the block."""
        with self._count:
            self._requests += 1
            self._under_way += 1
        try:
            yield
        finally:
            with self._count:
                self._under_way -= 1

    def _asking(self, at: int) -> Callable[[str], Any]:
        """Reads a variable as request number `at` left it. Keeps no session alive."""
        mine = weakref.ref(self)

        def ask(name: str) -> Any:
            repl, value = mine(), None
            if repl is not None and not repl._closed and repl._requests == at:
                value = repl.get(name)
            if repl is None or repl._closed or repl._requests != at:  # perhaps since it was read
                said = f"the session has gone on since this result, and {name} was not read; ask before the next cell"
                raise ValueUnavailable(said, name=name)
            return value

        return ask

    def get(self, name: str) -> Any:
        """The value of a variable, whole and of the class that it has there; see REPLResult for what can be returned.

        Raises KeyError if there is no such variable, ValueTooLarge, ValueNotPlain, and the CellTimeout of a wait that
        takes too long.
        """
        with self._walled() as session:
            variable = session.read_value(name)
        if variable is None:
            raise KeyError(name)
        value = _whole(name, variable, self.policy.limits)
        if isinstance(value, ValueUnavailable):
            raise value
        return value

    def set(self, values: Mapping[str, Any]) -> None:
        """Bind variables of the session to values; see REPLResult for what can be sent.

        Raises ValueError for a name that a cell could not use, TypeError for a value that is no plain data, and Refused
        for one over limits.context_bytes.
        """
        sent = {name: tag(value) for name, value in values.items()}
        for name in sent:
            if not name.isidentifier() or name.startswith("_") or name in self._own_names or keyword.iskeyword(name):
                raise ValueError(f"{name!r} cannot be set: it is no name of a variable, or it is a name of the session")
        with self._walled() as session:
            for name, value in sent.items():
                with self._request():
                    session.set_value(name, value)

    @property
    def _own_names(self) -> frozenset[str]:
        """Names that the session restores after each cell."""
        return RESERVED_TOOL_NAMES | frozenset(self.custom_tools)

    def _execute(
        self, code: str, calls: HostCalls, *, seconds: float | None = None, exclude_host_time: bool = False
    ) -> CellResult:
        """Run one cell as Session.execute does, counted and audited."""
        # As in _walled() and _request(), whose generators take longer than a short cell may.
        session = self._session
        if session.report is not self._walls:
            self._check_walls()
        with self._count:
            self._cells += 1
            number = self._cells
            self._requests += 1
            self._under_way += 1
        try:
            result = session.execute(code, calls, seconds=seconds, exclude_host_time=exclude_host_time)
        except ProtocolViolation as error:
            self._broken(error)
            raise
        finally:
            with self._count:
                self._under_way -= 1
        if _log.isEnabledFor(logging.DEBUG):
            kind = "" if result.error is None else f": {type(result.error).__name__}"
            said = "session %s, cell %d took %.3f s, %.3f s of CPU%s"
            _log.debug(said, self._name, number, result.seconds, result.cpu_seconds, kind)
        if isinstance(result.error, WallViolation | CellCrashed):
            _log.info("session %s, cell %d: %s", self._name, number, result.error)
        if self._audit is not None:
            for decision in session.refused:
                self._audit.refusal(self._name, rule=decision.rule, reason=decision.reason)
            record(self._audit, self._name, result)
        if session.report is not self._walls:
            self._check_walls()
        return result

    def read_text(self, name: str) -> str | None:
        """The text of a variable, as FINAL_VAR returns it; None if there is no such variable.

        Raises the CellError that stopped it, such as CellException for a text over `limits.result_bytes`.
        """
        with self._walled() as session:
            return session.read_text(name)

    def digest(self, name: str) -> str:
        """The SHA-256, in hex, of all that a variable holds: the same for the same values in the same order.

        The session reads exact classes of Python, and pandas' DataFrame with its index and types, and asks no object
        what it is: one of a class that a cell made is ValueNotPlain, whatever it answers to the cells. The name may be
        one that no cell can use (see Session.alias). Raises KeyError where there is no such variable, ValueNotPlain,
        and the CellError that stopped it.
        """
        with self._walled() as session:
            found = session.digest(name)
        if found is None:
            raise KeyError(name)
        return found

    def check_code(self, code: str, rules: Mapping[str, Any]) -> list[CodeFinding]:
        """What is to be said against `code` before it runs: at most 20 findings, by line; none if it may run.

        The session parses it and runs nothing, and is as it was. The `rules` are an object with all of these keys:
        `result`, the name that the code must assign at its top level ("": none); `table`, a list of the names of a
        table; `imports`, whether it may have import statements; `forbidden_calls`, a list of names of calls;
        `mode`, "read" (the table is not to be changed in place) or "edit" (it is to be changed); `filter`, whether it
        must have a condition. Beside these, it is a finding ("syntax", "language") that the cell would be refused.

        It is advice to the model that wrote the code; no wall rests on it. Raises CellRefused for other rules,
        TypeError or ValueError for what is no JSON, and the CellError that stopped it.
        """
        with self._walled() as session:
            return session.check_code(code, rules)

    def fork(self) -> REPL:
        """A REPL over a copy of the session, with the same calls and tools, and an audit record of its own.

        Raises Refused (limits.forks), and EnvironmentUnavailable where sessions cannot be copied.
        """
        made = twin(self)
        made._contexts, made._histories = self._contexts.copy(), self._histories.copy()
        made._compacted = list(self._compacted)
        made._served = _Served(made, self._served.toolbox)
        made._name = os.urandom(8).hex()
        made._cells = made._under_way = 0
        made._count = threading.Lock()
        with self._walled() as session:
            made._session = session.fork()
        try:
            if made._audit is not None:
                made._audit.session_start(made._name, policy=made.policy.name, report=made._session.report)
        except BaseException:  # Ctrl-C as well: the session must not outlive it
            made._session.close()
            raise
        _log.info("session %s began as a copy of %s", made._name, self._name)
        return made

    def snapshot(self) -> Snapshot:
        """The session's present state, for `restore`. Raises as `fork`."""
        with self._walled() as session:
            return session.snapshot()

    def restore(self, snapshot: Snapshot) -> None:
        """Go on from a snapshot. Raises ValueError for one of another policy or other tools, or a closed one."""
        with self._walled() as session, self._request():
            session.restore(snapshot)

    def interrupt(self) -> None:
        """Stop the running cell from another thread."""
        self._session.interrupt()

    def cleanup(self) -> None:
        """End the session. Idempotent."""
        closed, self._closed = self._closed, True
        if not closed:
            _log.info("session %s ended after %s", self._name, counted(self._cells, "cell"))
        try:
            if self._audit is not None and not closed:
                self._audit.session_end(self._name, cells=self._cells)
        finally:  # an audit log that cannot be written must not keep the session alive
            self._session.close()

    def _check(self) -> None:
        self._session.require()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.cleanup()


def to_repl_result(
    result: CellResult, rlm_calls: list[Any], limits: Limits | None = None, ask: Callable[[str], Any] | None = None
) -> REPLResult:
    """Upstream's result object from ours: `locals` holds JSON values if they are small, else safe reprs.

    With `limits`, and `ask`, which reads a variable from the session, the result has values.
    """
    last = result.value
    told = result.described or described(result.variables)
    made = REPLResult(
        stdout=result.stdout,
        stderr=result.stderr,
        locals=told.locals,
        execution_time=result.seconds,
        rlm_calls=rlm_calls,
        final_answer=None if result.answer is None else result.answer.text,
        error=result.error,
        cpu_seconds=result.cpu_seconds,
        peak_bytes=result.peak_bytes,
        dropped_bytes=result.dropped_bytes,
        final_value=None if result.answer is None else result.answer.value,
        final_none=result.answer is not None and result.answer.none,
    )
    if ask is not None and limits is not None:
        held: dict[str, Any] = {}
        refused: dict[str, ValueUnavailable] = {}
        for name, each in told.known.items():
            if each.whole is not None:
                held[name] = each.whole[0]
            else:
                refused[name] = _unavailable(name, each, limits)
        # A result names so many variables at most, and none where their names do not fit into it.
        more = len(result.variables) in (0, MAX_NAMES)
        made.values = Values(held, refused, result.variables, ask, more=more)
        made.reprs = told.reprs
        if last is not None and last.type != "NoneType":
            made.keep(_whole("the result", last, limits), last.repr)
    return made


def _whole(name: str, variable: Variable, limits: Limits) -> Any:
    """The value of `variable`, or the error that says why there is none."""
    if variable.whole is not None:
        return variable.whole[0]
    return _unavailable(name, variable, limits)


def _unavailable(name: str, variable: Variable, limits: Limits) -> ValueUnavailable:
    sizes = limits.value_bytes, limits.result_bytes
    return unavailable(name, variable.type, variable.size, variable.why, *sizes)


def record(audit: AuditSink, session: str, result: CellResult) -> None:
    """Write the refusal, violation or limit that ended a cell, if any, and dropped output, to the audit log."""
    error = result.error
    if isinstance(error, CellRefused):
        audit.refusal(session, rule=error.rule or "refused", reason=str(error))
    elif isinstance(error, WallViolation | CellCrashed):
        audit.violation(session, violation=type(error).__name__, wall=error.wall, detail=str(error))
    elif error is not None and error.limit is not None:
        audit.limit(session, limit=error.limit, detail=str(error))
    if result.dropped_bytes:
        audit.limit(session, limit="limits.stdout_bytes", detail=f"{result.dropped_bytes} bytes dropped")


class _Numbers:
    """Consecutive numbers from 0. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.count = 0

    def copy(self) -> _Numbers:
        """Others, that go on from the same number."""
        made = _Numbers()
        made.count = self.count
        return made

    @contextmanager
    def taken(self, wanted: int | None) -> Iterator[int]:
        """The number `wanted`, or the next; if the block fails and none was taken meanwhile, the count is restored."""
        with self._lock:
            before, number = self.count, self.count if wanted is None else wanted
            self.count = after = max(before, number + 1)
        try:
            yield number
        except BaseException:  # Ctrl-C as well: the next number must follow the last one that was used
            with self._lock:
                if self.count == after:
                    self.count = before
            raise


class _Served:
    """Answers the calls of a REPL's cells: tool calls by the toolbox, all others by `REPL.calls`."""

    def __init__(self, repl: REPL, toolbox: Toolbox, output: Callable[[str, str], object] | None = None) -> None:
        self._repl = repl
        self.toolbox = toolbox
        self.output = output

    @property
    def interruptible(self) -> bool:
        """See HostCalls."""
        return bool(getattr(self._repl.calls, "interruptible", False))

    @property
    def owner(self) -> object:
        """See HostCalls."""
        return getattr(self._repl.calls, "owner", None)

    def __call__(self, call: Call) -> Any:
        if call.kind == "tool":
            return self.toolbox.call(call.tool, call.args, call.kwargs)
        return self._repl.calls(call)


def _fresh_answer() -> dict[str, Any]:
    return {"content": "", "ready": False}


def no_host(call: Call) -> Any:
    """Answer the calls of a session without a handler: each is a refused call."""
    refuse()
    text = "Error: No LM handler configured"
    return [text] * len(call.prompts) if call.kind.endswith("_batched") else text
