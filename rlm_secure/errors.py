"""Every exception that this library raises, in one tree.

RLMSecureError
├── PolicyError                  a policy file is wrong; names the file, the key and a better value
├── ContextError                 a file or folder that was given as a context cannot be read
├── TableError                   a table is not one, exceeds a limit, or cannot be read or written; a ValueError as well
├── Refused                      the policy refuses an action; carries the Decision
│   ├── PromptTooLarge           a prompt cannot fit into its model's window
│   ├── WrongProcess             a session was used in a fork of the process that created it
│   └── ReentrantCall            a tool used the session whose cell waits for it
├── CallFailed                   a cell's request to the host failed; its text, and nothing else, is raised in the cell
│   └── CallRefused              the policy refuses a cell's request; carries the Decision
├── MissingExtra                 an optional package is not installed; names the `pip install` line
├── EnvironmentUnavailable       the machine or the provider cannot give an environment
│   └── EnforcementError         a wall that the policy requires cannot be built here
├── ProtocolViolation            bytes from a sandbox are not what the protocol allows
├── ProviderError                a language-model or cloud provider failed (never shown to a model as its output)
│   └── MissingKey               a client was created without an API key; a ValueError as well
├── CellError                    a cell failed; in REPLResult.error, raised by REPLResult.check()
│   ├── CellException            its own Python exception
│   ├── CellRefused              the language layer refused its source
│   ├── CellTimeout              wall clock or CPU budget
│   ├── CellMemoryLimit          memory cap
│   ├── CellSkipped              it was not run: the results of its turn were too large already
│   ├── CellCallsRefused         it was ended: it went on calling after its calls were refused
│   ├── CellCrashed              the worker died (signal, SIGKILL from elsewhere, C stack overflow)
│   └── WallViolation            the kernel killed it for a forbidden system call
├── SessionEnded                 the session is over; start a new one
├── AuditLogError                an audit log was changed, or cannot be written
├── LogError                     a trajectory file that the policy requires cannot be written
├── ValueUnavailable             a variable or a result has no value that could be returned
│   ├── ValueTooLarge            it takes more than limits.value_bytes, or than a result holds; names its size
│   └── ValueNotPlain            it is no plain data, such as a function, or an object of a class of the cell
├── ResultTooLarge               an answer of a batch does not fit into limits.kept_bytes
├── PriceUnknownError            a run has a cost limit, and the price of its model is unknown
├── BudgetExceededError          ┐
│   └── CallLimitExceededError   │   the policy's number of model calls is used up
├── TimeoutExceededError         │ upstream's five, with upstream's fields
├── TokenLimitExceededError      │
├── ErrorThresholdExceededError  │
├── CancellationError            ┘
├── AnswerInvalidError           the last answer of a run does not fit its answer_schema
├── NoFinalAnswerError           an agent's steps are used up, and it gave no final answer
└── CodegenFailed                no code that a model wrote for a question was accepted; carries the attempts
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, ClassVar

from rlm_secure.decision import Decided
from rlm_secure.inert import inert_line


class RLMSecureError(Exception):
    """Base of every error that this library raises on purpose.

    Its message is one inert line: control characters from a sandbox, a provider or a model are escaped. A cell may
    read it only if the class is `for_cells`.
    """

    for_cells: ClassVar[bool] = False
    """Whether a cell, and with it a model, may read the message: it names no file, address or setting of the host."""

    def __init__(self, *args: object) -> None:
        super().__init__(*(inert_line(each) if isinstance(each, str) else each for each in args))

    def __reduce__(self) -> tuple[Callable[..., RLMSecureError], tuple[type[RLMSecureError], tuple[object, ...]], Any]:
        """Its class, its message and its attributes; neither its cause nor its traceback, which may hold secrets.

        Without this, unpickling calls the class with the message alone, and what waits for the error waits for ever.
        """
        return _unpickled, (type(self), self.args), dict(self.__dict__)


def _unpickled(kind: type[RLMSecureError], args: tuple[object, ...]) -> RLMSecureError:
    error = kind.__new__(kind, *args)
    super(RLMSecureError, error).__init__(*args)  # what an ImportError keeps of its own
    return error


class PolicyError(RLMSecureError):
    """A policy is unreadable or contradictory.

    `source` is the file (or "<dict>"), `key` the dotted key, `line` and `column` its 1-based place where known.
    """

    def __init__(
        self,
        message: str,
        *,
        source: str | None = None,
        key: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        super().__init__(message)
        self.source = source
        self.key = key
        self.line = line
        self.column = column


class ContextError(RLMSecureError):
    """A context cannot be read. The message names the path and what to do."""


class TableError(RLMSecureError, ValueError):
    """Data that is no table, or a file of one that cannot be read or written. Names the file, sheet, row and column."""


class Refused(RLMSecureError):
    """The policy refused an action. `decision` says which rule did, and why."""

    for_cells = True

    def __init__(self, decision: Decided) -> None:
        super().__init__(decision.reason)
        self.decision = decision


class PromptTooLarge(Refused):
    """A prompt was not sent: its `characters` cannot fit into its model's `window`, which is in tokens.

    Where it ends a run, `partial_answer` is the answer so far.
    """

    def __init__(self, decision: Decided, *, characters: int, window: int) -> None:
        super().__init__(decision)
        self.characters = characters
        self.window = window
        self.partial_answer: str | None = None


class WrongProcess(Refused):
    """A session belongs to another process: this one is a fork of it. Create one here."""


class ReentrantCall(Refused):
    """A tool, or a thread that it started, used the session whose cell waits for that tool."""


class CallFailed(RLMSecureError):
    """A cell's request to the host failed. The message, and nothing else, is raised in the cell, unchanged."""

    for_cells = True

    def __init__(self, *args: object) -> None:
        Exception.__init__(self, *args)


class CallRefused(CallFailed):
    """The policy refused a cell's request to the host. `decision` says which rule did, and why."""

    def __init__(self, decision: Decided) -> None:
        super().__init__(decision.reason)
        self.decision = decision


class MissingExtra(RLMSecureError, ImportError):
    """An optional dependency is missing. The message is the command that installs it.

    `extra` is the name of this package's extra; `package` replaces it where there is none.
    """

    for_cells = True

    def __init__(self, feature: str, extra: str | None = None, *, package: str | None = None) -> None:
        super().__init__(f"{feature} needs an optional package: pip install '{package or f'rlm-secure[{extra}]'}'")
        self.extra = extra


class EnvironmentUnavailable(RLMSecureError):
    """An environment could not be started. The message says what is missing and what to do."""


class EnforcementError(EnvironmentUnavailable):
    """A required wall cannot be built on this machine. `missing` names the walls."""

    def __init__(self, message: str, *, missing: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.missing = missing


class ProtocolViolation(RLMSecureError):
    """A sandbox sent bytes that the protocol does not allow. The session is killed."""

    for_cells = True


class ProviderError(RLMSecureError):
    """A provider failed. `retryable` tells whether the same call may work later.

    `cut_off` tells whether the provider may have worked on it, and may charge for it: it did not refuse it.
    """

    for_cells = True

    def __init__(self, message: str, *, retryable: bool = False, cut_off: bool = False) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.cut_off = cut_off


class MissingKey(ProviderError, ValueError):
    """A client was created without an API key; names the argument and the variable. A ValueError, as it is upstream."""


class CellError(RLMSecureError):
    """A cell failed. `limit` is the policy key that ended it, `wall` what enforced it."""

    for_cells = True

    def __init__(
        self,
        message: str,
        *,
        limit: str | None = None,
        wall: str | None = None,
        rule: str | None = None,
        session_ended: bool = False,
    ) -> None:
        super().__init__(message)
        self.limit = limit
        self.wall = wall
        self.rule = rule
        """The rule that refused it; None where none did."""
        self.session_ended = session_ended
        """Whether the session is over, and its variables lost."""


class CellException(CellError):
    """The cell raised. The traceback is in REPLResult.stderr."""


class CellRefused(CellError):
    """The language layer refused the source before it ran. `rule` names the rule."""


class CellTimeout(CellError):
    """The cell used up its wall clock or its CPU seconds."""


class CellMemoryLimit(CellError):
    """The cell requested more memory than the policy allows."""


class CellSkipped(CellError):
    """The cell was not run: the results of earlier cells in the same turn are too large for the host to keep."""


class CellCallsRefused(CellError):
    """The cell went on calling after more of its run's calls were refused than `lm.refusals` allows."""


class CellCrashed(CellError):
    """The worker process died during the cell."""


class WallViolation(CellError):
    """The kernel killed the worker for a forbidden system call: an attack or a bug, never normal."""


class SessionEnded(RLMSecureError):
    """The session can no longer run cells: it was closed, or killed for the reason in the message."""

    for_cells = True


class AuditLogError(RLMSecureError):
    """An audit log cannot be trusted, or cannot be written. `line` is its first bad line, from 1, where there is one.

    Where it ends a run, `partial_answer` is the answer so far.
    """

    def __init__(self, message: str, *, line: int | None = None, partial_answer: str | None = None) -> None:
        super().__init__(message)
        self.line = line
        self.partial_answer = partial_answer


class LogError(RLMSecureError):
    """A trajectory file cannot be written, and `data.log_optional` is false. `partial_answer` is the answer so far."""

    def __init__(self, message: str, *, partial_answer: str | None = None) -> None:
        super().__init__(message)
        self.partial_answer = partial_answer


class ValueUnavailable(RLMSecureError):
    """A value of a session that cannot be returned. `name` is the variable's, or "the result"."""

    for_cells = True

    def __init__(self, message: str, *, name: str) -> None:
        super().__init__(message)
        self.name = name


class ValueTooLarge(ValueUnavailable):
    """A value over `limit` bytes (limits.value_bytes), of more values than a result carries, or that did not fit into
    one result of `limit` bytes (limits.result_bytes).

    `size` is how many bytes it takes, at least.
    """

    def __init__(self, *, name: str, kind: str, size: int, limit: int, one_result: bool = False) -> None:
        what = f"takes {size:,} bytes of JSON or more, over limits.value_bytes = {limit:,}"
        if one_result:
            what = f"takes {size:,} bytes of JSON, and does not fit into one result, limits.result_bytes = {limit:,}"
        elif size <= limit:
            what = f"takes {size:,} bytes of JSON or more, and holds more values than one result carries"
        super().__init__(f"the value of {name} ({kind}) {what}; return less of it, such as a slice", name=name)
        self.size = size
        self.limit = limit


class ValueNotPlain(ValueUnavailable):
    """A value that is no plain data. `type` is the name of its class, as the cell has it."""

    def __init__(self, *, name: str, kind: str, why: str) -> None:
        super().__init__(
            f"the value of {name} ({kind}) cannot leave the sandbox: {why or 'it is no plain data'}; make it a dict, "
            "list, tuple, set, text, number, date or bytes there",
            name=name,
        )
        self.type = kind


class ResultTooLarge(RLMSecureError):
    """The answers of a batch take more than `limit` bytes; this one, of `size` bytes, was not kept."""

    for_cells = True

    def __init__(self, size: int, limit: int) -> None:
        super().__init__(
            f"an answer of {size:,} bytes was not kept: the answers of one batch may take limits.kept_bytes = "
            f"{limit:,} bytes; raise it, or give the batch in parts"
        )
        self.size = size
        self.limit = limit


class PriceUnknownError(RLMSecureError):
    """A run has a cost limit of its own, and the price of `model` is unknown: the limit cannot be enforced."""

    for_cells = True

    def __init__(self, model: str, message: str | None = None, *, partial_answer: str | None = None) -> None:
        super().__init__(
            message
            or f"the price of the model {model[:80]!r} is unknown, so a cost limit cannot hold; give prices={{name: "
            "(input, output)} in US dollars per million tokens, or set lm.unpriced = true in the policy"
        )
        self.model = model
        self.partial_answer = partial_answer
        """The last answer before the run ended; None where there was none."""


class BudgetExceededError(RLMSecureError):
    """The run's cost went over its budget. `spent` and `budget` are US dollars."""

    for_cells = True

    def __init__(
        self, spent: float, budget: float, message: str | None = None, partial_answer: str | None = None
    ) -> None:
        super().__init__(message or f"Budget exceeded: spent ${spent:.6f} of ${budget:.6f} budget")
        self.spent = spent
        self.budget = budget
        self.partial_answer = partial_answer
        """The last answer before the run ended; None where there was none."""


class CallLimitExceededError(BudgetExceededError):
    """The run made as many model calls as `lm.calls` allows. `calls` and `call_limit` are counts, others dollars."""

    def __init__(
        self, calls: int, call_limit: int, spent: float, budget: float, partial_answer: str | None = None
    ) -> None:
        message = f"Call limit reached: {calls:,} of {call_limit:,} model calls; raise lm.calls in the policy"
        super().__init__(spent, budget, message, partial_answer)
        self.calls = calls
        self.call_limit = call_limit


class TimeoutExceededError(RLMSecureError):
    """The run took longer than its limit. `elapsed` and `timeout` are seconds."""

    for_cells = True

    def __init__(
        self, elapsed: float, timeout: float, partial_answer: str | None = None, message: str | None = None
    ) -> None:
        super().__init__(message or f"Timeout exceeded: {elapsed:.1f}s of {timeout:.1f}s limit")
        self.elapsed = elapsed
        self.timeout = timeout
        self.partial_answer = partial_answer
        """The last answer before the run ended; None where there was none."""


class TokenLimitExceededError(RLMSecureError):
    """The run used more tokens (input + output) than its limit."""

    for_cells = True

    def __init__(
        self,
        tokens_used: int,
        token_limit: int,
        partial_answer: str | None = None,
        message: str | None = None,
    ) -> None:
        super().__init__(message or f"Token limit exceeded: {tokens_used:,} of {token_limit:,} tokens")
        self.tokens_used = tokens_used
        """How many tokens were used."""
        self.token_limit = token_limit
        """How many were allowed."""
        self.partial_answer = partial_answer
        """The last answer before the run ended; None where there was none."""


class ErrorThresholdExceededError(RLMSecureError):
    """Too many iterations in a row ended in an error."""

    for_cells = True

    def __init__(
        self,
        error_count: int,
        threshold: int,
        last_error: str | None = None,
        partial_answer: str | None = None,
        message: str | None = None,
    ) -> None:
        super().__init__(message or f"Error threshold exceeded: {error_count} consecutive errors (limit: {threshold})")
        self.error_count = error_count
        """How many errors in a row there were."""
        self.threshold = threshold
        """How many are allowed."""
        self.last_error = last_error
        """The text of the last one."""
        self.partial_answer = partial_answer
        """The last answer before the run ended; None where there was none."""


class CancellationError(RLMSecureError):
    """The run was cancelled."""

    for_cells = True

    def __init__(self, partial_answer: str | None = None, message: str | None = None) -> None:
        super().__init__(message or "Execution cancelled by user")
        self.partial_answer = partial_answer
        """The last answer before the run ended; None where there was none."""


class AnswerInvalidError(RLMSecureError):
    """The turns are used up, and the last answer does not fit `answer_schema`. `partial_answer` is its text."""

    for_cells = True

    def __init__(self, message: str, partial_answer: str | None = None) -> None:
        super().__init__(message)
        self.partial_answer = partial_answer


class NoFinalAnswerError(RLMSecureError):
    """An agent's steps are used up, and its model gave no final answer. `partial_answer` is its last reply."""

    for_cells = True

    def __init__(self, message: str, partial_answer: str | None = None) -> None:
        super().__init__(message)
        self.partial_answer = partial_answer


class CodegenFailed(RLMSecureError):
    """No code that a model wrote for a question was accepted. `attempts` has each code and what was wrong with it.

    `partial_answer` is the last code.
    """

    for_cells = True

    def __init__(
        self, message: str, *, attempts: Sequence[object] = (), partial_answer: str | None = None
    ) -> None:
        super().__init__(message)
        self.attempts = list(attempts)
        self.partial_answer = partial_answer


def told_to_cells(error: BaseException) -> str:
    """What a cell may read of `error`: the message of a class that is `for_cells`, else the type alone."""
    return str(error) if isinstance(error, RLMSecureError) and error.for_cells else type(error).__name__
