"""OpenTelemetry spans of a run, with the conventions for generative AI: names, times and counts, never content.

>>> rlm = RLM(..., on_event=Spans())

A run is an `invoke_agent` span, a model call a `chat` span, a cell or an agent's tool an `execute_tool` span; children
nest. Nothing is sent anywhere unless the program has set up an exporter.
"""

from __future__ import annotations

import importlib
import time
from contextvars import ContextVar
from typing import Any, Final

from rlm_secure import events
from rlm_secure.errors import MissingExtra
from rlm_secure.inert import excerpt
from rlm_secure.types import ModelUsageSummary, UsageSummary

_AGENT: Final = "rlm_secure"

#: The open spans of the current context, outermost first: (whether it is a run's, span, token of the context).
_OPEN: ContextVar[tuple[tuple[bool, Any, Any], ...]] = ContextVar("rlm_secure_open_spans", default=())


class Spans:
    """A listener for `on_event`. `tracer_provider` replaces the program's global one.

    Raises MissingExtra where the OpenTelemetry API is not installed.
    """

    def __init__(self, *, tracer_provider: Any = None) -> None:
        try:
            self._trace = importlib.import_module("opentelemetry.trace")
            self._context = importlib.import_module("opentelemetry.context")
        except ImportError as error:
            raise MissingExtra("tracing", "otel") from error
        self._tracer = self._trace.get_tracer(_AGENT, tracer_provider=tracer_provider)

    def __call__(self, event: events.Event) -> None:
        """Turn one event into the beginning or the end of a span. Called in the thread in which it happens."""
        match event:
            case events.RunStarted():
                self._begin(f"invoke_agent {_AGENT}", self._run(event), is_run=True)
            case events.RunCompleted():
                self._complete_run(event)
            case events.CellStarted():
                cell = {"rlm_secure.turn": event.number, "rlm_secure.cell": event.index}
                self._begin("execute_tool repl", _operation("execute_tool", {"gen_ai.tool.name": "repl", **cell}))
            case events.CellCompleted():
                error = event.block.result.error
                self._end({}, type(error).__name__ if error is not None else None)
            case events.ModelCalled():
                self._model_call(event)
            case events.ToolCalled():
                self._tool_call(event)
            case events.Violation():
                self._mark("violation", {"rule": excerpt(event.rule)})
            case events.LimitReached():
                self._mark("limit", {"limit": excerpt(event.limit)})
            case events.Compacted():
                self._mark("compacted", {"count": event.count})
            case events.AnswerRejected():
                self._mark("answer_rejected", {})
            case _:
                pass

    def _run(self, event: events.RunStarted) -> dict[str, Any]:
        facts = {"gen_ai.agent.name": _AGENT, "gen_ai.request.model": event.model, "rlm_secure.depth": event.depth}
        if event.environment is not None:
            facts["rlm_secure.environment"] = event.environment
        return _operation("invoke_agent", facts)

    def _complete_run(self, event: events.RunCompleted) -> None:
        # A cell that was interrupted by a limit has no CellCompleted.
        while _OPEN.get() and not _OPEN.get()[-1][0]:
            self._end({}, "cancelled")
        usage = event.completion.usage_summary if event.completion is not None else None
        self._end(_usage(usage) if usage is not None else {}, event.error)

    def _model_call(self, event: events.ModelCalled) -> None:
        facts = {"gen_ai.request.model": event.model, "rlm_secure.purpose": event.purpose, **_usage(event.usage)}
        self._ended(f"chat {event.model}", _operation("chat", facts), event.seconds, event.error, client=True)

    def _tool_call(self, event: events.ToolCalled) -> None:
        facts = {"gen_ai.tool.name": event.tool, "rlm_secure.turn": event.number}
        error = None if event.error is None else "tool_error"  # its text may quote what a tool or a model wrote
        self._ended(f"execute_tool {event.tool}", _operation("execute_tool", facts), event.seconds, error)

    def _ended(
        self, name: str, attributes: dict[str, Any], seconds: float, error: str | None, *, client: bool = False
    ) -> None:
        """Add a span that has already ended: it began `seconds` ago."""
        now = time.time_ns()
        kind = self._trace.SpanKind.CLIENT if client else self._trace.SpanKind.INTERNAL
        span = self._tracer.start_span(name, kind=kind, attributes=attributes, start_time=now - int(seconds * 1e9))
        self._fail(span, error)
        span.end(now)

    def _begin(self, name: str, attributes: dict[str, Any], *, is_run: bool = False) -> None:
        span = self._tracer.start_span(name, kind=self._trace.SpanKind.INTERNAL, attributes=attributes)
        token = self._context.attach(self._trace.set_span_in_context(span))
        _OPEN.set((*_OPEN.get(), (is_run, span, token)))

    def _end(self, attributes: dict[str, Any], error: str | None) -> None:
        if not _OPEN.get():
            return
        *outer, (_, span, token) = _OPEN.get()
        _OPEN.set(tuple(outer))
        self._context.detach(token)
        span.set_attributes(attributes)
        self._fail(span, error)
        span.end()

    def _fail(self, span: Any, error: str | None) -> None:
        if error is not None:
            # Only the type of the error: its text may quote a prompt.
            span.set_attribute("error.type", excerpt(error.partition(":")[0], 80))
            span.set_status(self._trace.StatusCode.ERROR)

    def _mark(self, name: str, attributes: dict[str, Any]) -> None:
        self._trace.get_current_span().add_event(f"rlm_secure.{name}", attributes)


def _operation(name: str, attributes: dict[str, Any]) -> dict[str, Any]:
    return {"gen_ai.operation.name": name, **attributes}


def _usage(usage: ModelUsageSummary | UsageSummary) -> dict[str, Any]:
    return {
        "gen_ai.usage.input_tokens": usage.total_input_tokens,
        "gen_ai.usage.output_tokens": usage.total_output_tokens,
    }
