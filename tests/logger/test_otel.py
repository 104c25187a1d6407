"""Spans of a run: they nest, they count, and they carry no content."""

from __future__ import annotations

import contextvars
import sys
import threading

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import StatusCode

from rlm_secure import events
from rlm_secure.errors import CellTimeout, MissingExtra
from rlm_secure.logger.otel import Spans
from rlm_secure.types import CodeBlock, ModelUsageSummary, REPLResult, RLMChatCompletion, UsageSummary

PRIVATE = "PRIVATE CONTENT"
USAGE = ModelUsageSummary(1, 120, 7)
DONE = RLMChatCompletion("m", PRIVATE, PRIVATE, UsageSummary({"m": USAGE}), 1.0)


@pytest.fixture
def finished() -> InMemorySpanExporter:
    return InMemorySpanExporter()


@pytest.fixture
def spans(finished: InMemorySpanExporter) -> Spans:
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(finished))
    return Spans(tracer_provider=provider)


def model_call(depth: int = 0, error: str | None = None) -> events.ModelCalled:
    return events.ModelCalled(depth=depth, model="m", purpose="turn", seconds=1.5, usage=USAGE, error=error)


def cell(result: REPLResult) -> events.CellCompleted:
    return events.CellCompleted(depth=0, number=1, index=1, block=CodeBlock(PRIVATE, result))


def by_name(finished: InMemorySpanExporter) -> dict[str, ReadableSpan]:
    return {span.name: span for span in finished.get_finished_spans()}


def run(spans: Spans) -> None:
    spans(events.RunStarted(depth=0, model="m", environment="local"))
    spans(events.TurnStarted(depth=0, number=1, limit=30))
    spans(model_call())
    spans(events.CellStarted(depth=0, number=1, index=1, code=PRIVATE))
    # A child runs in a thread of its own, with a copy of this context.
    child = contextvars.copy_context()
    thread = threading.Thread(target=child.run, args=(run_child, spans))
    thread.start()
    thread.join()
    spans(cell(REPLResult(PRIVATE, "", {})))
    spans(events.Violation(depth=0, rule="model-allowlist", message=PRIVATE))
    spans(events.AnswerReady(depth=0, answer=PRIVATE, source="cell"))
    spans(events.RunCompleted(depth=0, completion=DONE, error=None))


def run_child(spans: Spans) -> None:
    spans(events.RunStarted(depth=1, model="small", environment=None))
    spans(model_call(1, "ProviderError: " + PRIVATE))
    spans(events.RunCompleted(depth=1, completion=None, error="ProviderError"))


def test_a_tool_of_an_agent_is_a_span_without_content(spans: Spans, finished: InMemorySpanExporter) -> None:
    spans(events.RunStarted(depth=0, model="m", environment="local"))
    spans(events.ToolCalled(depth=0, number=2, tool="add", seconds=0.5, error=None))
    spans(events.ToolCalled(depth=0, number=3, tool="look", seconds=0.5, error=f"{PRIVATE}: {PRIVATE}"))
    spans(events.RunCompleted(depth=0, completion=DONE, error=None))
    named = by_name(finished)
    add, look, root = (named[name] for name in ("execute_tool add", "execute_tool look", "invoke_agent rlm_secure"))
    assert add.parent.span_id == look.parent.span_id == root.context.span_id
    assert (add.attributes["gen_ai.tool.name"], add.attributes["rlm_secure.turn"]) == ("add", 2)
    assert look.attributes["error.type"] == "tool_error"
    assert PRIVATE not in "".join(span.to_json() for span in finished.get_finished_spans())


def test_runs_calls_and_cells_nest(spans: Spans, finished: InMemorySpanExporter) -> None:
    run(spans)
    root, child = sorted(
        (span for span in finished.get_finished_spans() if span.name == "invoke_agent rlm_secure"),
        key=lambda span: span.attributes["rlm_secure.depth"],
    )
    repl = by_name(finished)["execute_tool repl"]
    calls = {span.parent.span_id for span in finished.get_finished_spans() if span.name == "chat m"}
    assert root.parent is None
    assert repl.parent.span_id == root.context.span_id
    assert child.parent.span_id == repl.context.span_id
    assert calls == {root.context.span_id, child.context.span_id}


def test_names_and_counts(spans: Spans, finished: InMemorySpanExporter) -> None:
    spans(events.RunStarted(depth=0, model="m", environment="local"))
    spans(model_call())
    spans(events.RunCompleted(depth=0, completion=DONE, error=None))
    found = by_name(finished)
    assert dict(found["chat m"].attributes) == {
        "gen_ai.operation.name": "chat",
        "gen_ai.request.model": "m",
        "rlm_secure.purpose": "turn",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 7,
    }
    assert found["chat m"].end_time - found["chat m"].start_time == 1_500_000_000
    assert dict(found["invoke_agent rlm_secure"].attributes) == {
        "gen_ai.operation.name": "invoke_agent",
        "gen_ai.agent.name": "rlm_secure",
        "gen_ai.request.model": "m",
        "rlm_secure.depth": 0,
        "rlm_secure.environment": "local",
        "gen_ai.usage.input_tokens": 120,
        "gen_ai.usage.output_tokens": 7,
    }


def test_no_content_is_captured(spans: Spans, finished: InMemorySpanExporter) -> None:
    run(spans)
    for span in finished.get_finished_spans():
        assert PRIVATE not in span.to_json()


def test_failures_are_named(spans: Spans, finished: InMemorySpanExporter) -> None:
    spans(events.CellStarted(depth=0, number=1, index=1, code="x"))
    spans(cell(REPLResult("", "", {}, error=CellTimeout(PRIVATE))))
    span = by_name(finished)["execute_tool repl"]
    assert span.attributes["error.type"] == "CellTimeout"
    assert span.status.status_code is StatusCode.ERROR


def test_what_happened_on_the_way_is_marked(spans: Spans, finished: InMemorySpanExporter) -> None:
    spans(events.RunStarted(depth=0, model="m", environment="local"))
    spans(events.Violation(depth=0, rule="model-allowlist", message=PRIVATE))
    spans(events.LimitReached(depth=0, limit="tokens", message=PRIVATE))
    spans(events.Compacted(depth=0, count=1))
    spans(events.AnswerRejected(depth=0, problem=PRIVATE))
    spans(events.RunCompleted(depth=0, completion=None, error="TokenLimitExceededError"))
    (span,) = finished.get_finished_spans()
    assert [(event.name, dict(event.attributes)) for event in span.events] == [
        ("rlm_secure.violation", {"rule": "model-allowlist"}),
        ("rlm_secure.limit", {"limit": "tokens"}),
        ("rlm_secure.compacted", {"count": 1}),
        ("rlm_secure.answer_rejected", {}),
    ]


def test_a_cell_that_never_completes_ends_with_its_run(spans: Spans, finished: InMemorySpanExporter) -> None:
    spans(events.RunStarted(depth=0, model="m", environment="local"))
    spans(events.CellStarted(depth=0, number=1, index=1, code="x"))
    spans(events.RunCompleted(depth=0, completion=None, error="CancellationError"))
    assert [span.name for span in finished.get_finished_spans()] == ["execute_tool repl", "invoke_agent rlm_secure"]
    run(spans)  # and leaves nothing open
    assert finished.get_finished_spans()[-1].parent is None


def test_without_the_api_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.trace", None)
    with pytest.raises(MissingExtra, match=r"pip install 'rlm-secure\[otel\]'"):
        Spans()
