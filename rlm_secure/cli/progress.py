"""Shows the progress of a run on stderr: a status line on a terminal, one line per turn elsewhere."""

from __future__ import annotations

import threading
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.status import Status
from rich.text import Text

from rlm_secure import events
from rlm_secure.cli.terminal import inert
from rlm_secure.inert import excerpt
from rlm_secure.plural import counted

_SHOWN = 2_000


class Progress:
    """A listener for `on_event` of an RLM or an agent. Counts turns; use as a context manager around each run.

    `unfounded`: the last run's answer is plain text after turns in which nothing was run.
    """

    def __init__(self, console: Console, *, verbose: bool = False) -> None:
        self.turns = 0
        self.unfounded = False
        self._console = console
        self._verbose = verbose
        self._calls = 0
        self._refused = ""
        self._stage = ""
        self._lock = threading.Lock()
        self._status: Status | None = None

    def __enter__(self) -> Self:
        self.turns = self._calls = 0
        self.unfounded = False
        if self._console.is_terminal:
            self._status = self._console.status("starting")
            self._status.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        if self._status:
            self._status.stop()

    def __call__(self, event: events.Event) -> None:
        """Show one event. Called from any thread of the run."""
        with self._lock:
            self._show(event)

    def _show(self, event: events.Event) -> None:
        indent = "  " * event.depth
        match event:
            case events.TurnStarted(depth=0):
                self.turns = event.number
                self._now(f"turn {event.number} of at most {event.limit}")
            case events.TurnStarted():
                self._now(f"turn {self.turns}, child at depth {event.depth}: turn {event.number}")
            case events.ModelCalled():
                self._calls += 1
                self._now(f"turn {self.turns} · {counted(self._calls, 'model call')}")
                if event.error and event.error != "cancelled":  # which the user did
                    self._line(f"{indent}a model call failed: {event.error}", "yellow")
            case events.TurnCompleted(depth=0):
                if self._stage and event.error:
                    last = event.error.rstrip().rpartition("\n")[2]  # of a traceback, what was raised
                    self._line(f"turn {event.number} · {self._stage} failed: {excerpt(last)}", "yellow")
                if not self._console.is_terminal or self._verbose:
                    calls = counted(self._calls, "model call")
                    self._line(f"turn {event.number} · {calls} · {event.seconds:.1f} s", "dim")
            case events.CellCompleted() if self._verbose:
                self._cell(event, indent)
            case events.Noticed(depth=0, kind="nothing-ran"):
                self.unfounded = True
            case events.StageStarted():
                self._stage = event.stage
                because = f": {excerpt(event.reason)}" if event.reason else ""
                self._now(f"turn {event.number} · {event.stage}{because}")
                if not self._console.is_terminal or self._verbose:
                    self._line(f"turn {event.number} · {event.stage}{because}", "dim")
            case events.ToolCalled():
                self._tool(event)
            case events.Violation():
                self._refused = event.message
                self._line(f"{indent}refused by {event.rule}: {event.message}", "yellow")
            case events.LimitReached():
                self._line(f"{indent}limit reached: {event.message}", "yellow")
            case events.AnswerRejected() if self._verbose:
                self._line(f"{indent}answer not accepted: {event.problem}", "yellow")
            case _:
                pass

    def _tool(self, event: events.ToolCalled) -> None:
        """One line of a call. The model wrote the tool's name; a call that was refused has its line already."""
        name = excerpt(event.tool)
        self._now(f"turn {event.number} · {name}")
        if event.error is not None and event.error != self._refused:
            self._line(f"turn {event.number} · {name} failed: {excerpt(event.error)}", "yellow")
        elif event.error is None and (not self._console.is_terminal or self._verbose):
            self._line(f"turn {event.number} · {name} · {event.seconds:.1f} s", "dim")

    def _cell(self, event: events.CellCompleted, indent: str) -> None:
        result = event.block.result
        self._line(f"{indent}--- cell {event.number}.{event.index}", "bold")
        for text, style in ((event.block.code, "cyan"), (result.stdout, ""), (result.stderr, "yellow")):
            if text:
                more = len(text) - _SHOWN
                short = text if more <= 0 else f"{text[:_SHOWN]}\n... {counted(more, 'more character')}"
                self._line("\n".join(indent + line for line in short.rstrip().split("\n")), style)

    def _now(self, message: str) -> None:
        if self._status:
            self._status.update(Text(inert(message)))

    def _line(self, message: str, style: str) -> None:
        self._console.print(Text(inert(message), style=style))
