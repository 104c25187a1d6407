"""Shows a run on the terminal while it happens, for `RLM(verbose=True)`.

All text that a model, a cell or a user wrote is made inert and shown as text, never as markup.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cached_property
from typing import Any, Final

from rich.console import Console, Group
from rich.panel import Panel
from rich.rule import Rule
from rich.text import Text

from rlm_secure.inert import inert, inert_line
from rlm_secure.logger.redact import Redactor
from rlm_secure.loggers import logger
from rlm_secure.plural import counted
from rlm_secure.types import CodeBlock, RLMIteration, RLMMetadata, UsageSummary, json_safe

#: Characters of one text that are shown, and calls of one cell.
_SHOWN: Final = 4_000
_CALLS: Final = 50
#: Characters of one text that is shown on one line.
_LINE: Final = 400

_log = logger("rlm_secure")


class VerbosePrinter:
    """Prints to `console`, standard error by default; does nothing unless `enabled`. Thread-safe.

    A console that cannot be written to (a full disk, a closed pipe) is no longer used: a display must not end a run.
    """

    def __init__(self, enabled: bool = True, *, console: Console | None = None) -> None:
        self.enabled = enabled
        self.console = (console or Console(stderr=True)) if enabled else None

    def print_header(
        self,
        backend: str,
        model: str,
        environment: str,
        max_iterations: int,
        max_depth: int,
        other_backends: list[str] | None = None,
    ) -> None:
        """Print what the run is: once, before its first turn."""
        facts: dict[str, Any] = {"model": f"{model} ({backend})", "environment": environment}
        facts |= {"turns": f"at most {max_iterations}", "depth": f"at most {max_depth}"}
        if other_backends:
            facts["sub-calls"] = ", ".join(map(str, other_backends))
        self._panel("rlm_secure", self._facts(facts), "cyan")

    @cached_property
    def _redactor(self) -> Redactor:
        return Redactor()

    def print_metadata(self, metadata: RLMMetadata) -> None:
        """Print how the run is configured, without its secrets."""
        if not self.console:
            return
        self._redactor.configuration(metadata.to_dict())  # learns what must not be shown later
        self.print_header(
            metadata.backend,
            metadata.root_model,
            metadata.environment_type,
            metadata.max_iterations,
            metadata.max_depth,
            metadata.other_backends,
        )

    def print_iteration_start(self, iteration: int) -> None:
        """Print the start of a turn."""
        if self.console:
            self._print(Rule(Text(f"turn {iteration}"), style="dim"))

    def print_completion(self, response: Any, iteration_time: float | None = None) -> None:
        """Print the model's reply."""
        self._panel("reply", self._text(response), "blue", iteration_time)

    def print_code_execution(self, code_block: CodeBlock) -> None:
        """Print a cell, its output, and its calls of models."""
        result = code_block.result
        parts = [self._text(code_block.code, "cyan")]
        parts += [self._text(text.rstrip("\n"), style) for text, style in self._outputs(result) if text]
        self._panel("cell", Group(*parts), "red" if result.error else "green", result.execution_time)
        for call in result.rlm_calls[:_CALLS]:
            self.print_subcall(call.root_model, str(call.prompt), call.response, call.execution_time, call.metadata)
        more = max(0, len(result.rlm_calls) - _CALLS) + result.dropped_calls
        if more and self.console:
            self._print(Text(f"... and {counted(more, 'more call')}", style="dim"))

    def print_subcall(
        self,
        model: str,
        prompt_preview: str,
        response_preview: str,
        execution_time: float | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> None:
        """Print a cell's call of a model or (with `metadata`, its trajectory) of a child run."""
        turns = len(metadata.get("iterations") or ()) if isinstance(metadata, Mapping) else 0
        title = f"{'child' if metadata else 'call'} {model}" + (f", {counted(turns, 'turn')}" if turns else "")
        shown = Group(self._line(prompt_preview, "dim"), self._line(response_preview))
        self._panel(title, shown, "magenta", execution_time)

    def print_iteration(self, iteration: RLMIteration, iteration_num: int) -> None:
        """Print a whole turn: the reply and its cells."""
        if not self.console:
            return
        self.print_iteration_start(iteration_num)
        self.print_completion(iteration.response, iteration.iteration_time)
        for block in iteration.code_blocks:
            self.print_code_execution(block)

    def print_budget_exceeded(self, spent: float, budget: float) -> None:
        """Print that the run ends because it cost too much."""
        self.print_limit_exceeded("budget", f"${spent:.6f} spent of ${budget:.6f}")

    def print_limit_exceeded(self, limit_type: str, details: str) -> None:
        """Print that the run ends at a limit."""
        self._panel(f"limit reached: {limit_type}", self._text(details), "yellow")

    def print_compaction_status(self, current_tokens: int, threshold_tokens: int, max_tokens: int) -> None:
        """Print how full the conversation is."""
        if self.console:
            share = current_tokens / threshold_tokens if threshold_tokens else 1.0
            told = (
                f"conversation: {current_tokens:,} tokens, {share:.0%} of the {threshold_tokens:,} at which it is cut"
            )
            self._print(Text(f"{told} (the model reads {max_tokens:,})", style="dim"))

    def print_compaction(self) -> None:
        """Print that the conversation was summarised."""
        if self.console:
            self._print(Text("the conversation was replaced by a summary", style="yellow"))

    def print_final_answer(self, answer: Any) -> None:
        """Print the answer."""
        self._panel("answer", self._text(answer), "bold green")

    def print_summary(
        self,
        total_iterations: int,
        total_time: float,
        usage_summary: UsageSummary | Mapping[str, Any] | None = None,
    ) -> None:
        """Print what the run took: once, after its answer. `total_time` is in seconds."""
        facts: dict[str, Any] = {"turns": total_iterations, "time": f"{total_time:.1f} s"}
        if usage_summary is not None:
            usage = usage_summary if isinstance(usage_summary, UsageSummary) else UsageSummary.from_dict(usage_summary)
            facts["calls"] = f"{usage.total_calls:,}"
            facts["tokens"] = f"{usage.total_input_tokens:,} read, {usage.total_output_tokens:,} written"
            if usage.total_cost is not None:
                facts["cost"] = f"${usage.total_cost:.6f}"
        self._panel("done", self._facts(facts), "cyan")

    def _print(self, shown: Any) -> None:
        if self.console is None:
            return
        try:
            self.console.print(shown)
        except (OSError, ValueError) as error:  # ValueError: the file is closed
            self.console = None
            _log.warning("the run is no longer shown: its console cannot be written to (%s)", type(error).__name__)

    def _outputs(self, result: Any) -> list[tuple[str, str]]:
        error = "" if result.error is None or str(result.error) in result.stderr else str(result.error)
        written = "\n".join(f"file {inert_line(name)}: {len(data):,} bytes" for name, data in result.files.items())
        return [(result.stdout, ""), (result.stderr, "yellow"), (error, "red"), (written, "dim")]

    def _panel(self, title: str, content: Any, style: str, seconds: float | None = None) -> None:
        if self.console:
            timed = f"{title} ({seconds:.1f} s)" if seconds is not None else title
            self._print(Panel(content, title=self._line(timed), title_align="left", border_style=style))

    def _facts(self, facts: Mapping[str, Any]) -> Text:
        return self._text("\n".join(f"{name:<12} {value}" for name, value in facts.items()))

    def _text(self, value: Any, style: str = "") -> Text:
        """Untrusted text, made harmless: short, without secrets or control characters."""
        if self.console is None:
            return Text()
        # Redact first: half a secret, at the end of the shown text, would not be recognized.
        plain = value if isinstance(value, str) else json.dumps(json_safe(value), ensure_ascii=False)
        text = self._redactor.beginning(plain, _SHOWN)
        if len(text) > _SHOWN:
            text = f"{text[:_SHOWN]}... + [{len(plain) - _SHOWN} chars...]"
        return Text(inert(text), style=style)

    def _line(self, text: str, style: str = "") -> Text:
        """The beginning of a text, on one line."""
        text = self._redactor.beginning(text, _LINE)
        return self._text(" ".join(text[:_LINE].split()) + ("..." if len(text) > _LINE else ""), style)
