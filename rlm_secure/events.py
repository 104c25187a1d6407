"""Typed events of a run: for progress displays, `RLM.stream()` and metrics.

Events are delivered in the thread in which they occur (children and model calls run on several). Text in them
was written by a model or by a sandbox: make it inert before it reaches a terminal or a page.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeAlias

from rlm_secure.loggers import logger
from rlm_secure.types import CodeBlock, ModelUsageSummary, RLMChatCompletion, held_bytes

_log = logger("rlm_secure")


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """Base of every event. `depth` is 0 for the run that the user started, one more for each child."""

    depth: int


@dataclass(frozen=True, slots=True, kw_only=True)
class RunStarted(Event):
    """A completion began. `environment` is None where no code will run (a plain model at the leaf)."""

    model: str
    """The name of the model."""
    environment: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SandboxTaken(Event):
    """The run got a provider's sandbox, after `seconds`: a new one, or one that its tree used before (`reused`)."""

    sandbox: str
    """The provider's id of the sandbox."""
    reused: bool
    seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnStarted(Event):
    """Turn `number` of at most `limit`, counted from 1."""

    number: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TurnCompleted(Event):
    """The turn took `seconds`; `error` is what went wrong in it, None when nothing did."""

    number: int
    """The turn, from 1."""
    seconds: float
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelCalled(Event):
    """One call of a model ended. `purpose` is "turn", "answer", "summary", "llm_query", "rlm_query", or the stage of an
    agent that asked."""

    model: str
    """The name of the model."""
    purpose: str
    seconds: float
    """How long the call took."""
    usage: ModelUsageSummary
    """The usage of this call alone."""
    error: str | None
    """Why it failed; None where it did not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TextDelta(Event):
    """A piece of the root model's reply, as it arrives: of `RLM.stream()` only.

    `index` counts the pieces of one reply. 0 begins it anew: what came before belongs to an attempt that failed, and is
    no part of the reply. `purpose` is that of the call's ModelCalled. Under a policy with patterns in
    `data.redact` the pieces are lines, in which secrets are masked. Make the text inert before you show it.
    """

    purpose: str
    index: int
    text: str
    """The piece."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellStarted(Event):
    """Cell `index` (from 1) of turn `number` begins."""

    number: int
    index: int
    code: str
    """The text of the cell."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CellCompleted(Event):
    """The cell ended, with or without an error."""

    number: int
    """The turn, from 1."""
    index: int
    """The cell of the turn, from 1."""
    block: CodeBlock
    """The cell with its result."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StageStarted(Event):
    """Turn `number` of an agent serves the named stage (plan_code, repl_repair, ...); `reason` says why it is made."""

    number: int
    stage: str
    """The name of the stage."""
    reason: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class ToolCalled(Event):
    """A tool of an agent was called in turn `number`; `error` is what the model reads of a failure."""

    number: int
    tool: str
    """The name of the tool."""
    seconds: float
    """How long the call took."""
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class SubcallStarted(Event):
    """A child run begins; `depth` is the child's."""

    model: str
    """The name of the child's model."""
    prompt: str
    """What the child is asked."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SubcallCompleted(Event):
    """The child run ended after `seconds`; `error` is why it failed, None when it did not."""

    model: str
    """The name of the child's model."""
    seconds: float
    error: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted(Event):
    """The message history was replaced by a summary, for the `count`-th time."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LimitReached(Event):
    """A limit ends the run, or refused something in it.

    `limit` names it: calls, tokens, cost, time, errors, refusals or records.
    """

    limit: str
    message: str
    """One sentence about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation(Event):
    """Something was refused by the rule `rule`: a cell's source, a system call, a model, a tool, a size."""

    rule: str
    message: str
    """One sentence about it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Noticed(Event):
    """The completion will carry a rlm_secure.types.Notice of this kind and message."""

    kind: str
    """The kind of the notice."""
    message: str
    """Its sentence."""


@dataclass(frozen=True, slots=True, kw_only=True)
class EventsDropped(Event):
    """A reader of the events was too slow: `count` of them were dropped for it."""

    count: int


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerRejected(Event):
    """An answer did not fit `answer_schema`, or named a variable that does not exist."""

    problem: str
    """What is wrong with it, as the model is told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AnswerReady(Event):
    """The run has its answer. `source` is "cell", "text" (FINAL and FINAL_VAR), "default", "tool" (an agent's
    final_answer) or "result" (a pipeline's result_text)."""

    answer: str
    """The answer, as text."""
    source: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RunCompleted(Event):
    """The completion ended: with `completion`, or with `error`, the name of what it raised."""

    completion: RLMChatCompletion | None
    error: str | None


def event_bytes(event: Event) -> int:
    """Bytes of memory that a kept event takes, without records of calls: their run counts those."""
    texts: list[Any] = [getattr(event, name) for name in event.__dataclass_fields__]
    if isinstance(event, CellCompleted):
        result = event.block.result
        texts += [event.block.code, result.stdout, result.stderr, result.locals, result.final_answer]
    elif isinstance(event, RunCompleted) and event.completion is not None:
        texts.append(event.completion.response)
    return held_bytes(texts)


Listener: TypeAlias = Callable[[Event], Any]
"""What is called with each event."""


def tell(callback: Callable[..., Any] | None, *arguments: Any) -> None:
    """Call a user's callback, if there is one. Its exceptions are logged and never end a run."""
    if callback is None:
        return
    try:
        callback(*arguments)
    except Exception:  # noqa: BLE001  logged with its traceback, on the host's own log
        _log.exception("a callback raised; the run goes on")
