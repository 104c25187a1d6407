"""What speed was promised, what is measured, and the floor beside it: `python -m benchmarks.goals [--write]`.

All of it is one run of a quarter of an hour. The cases of a row take turns, so that a slow minute of the machine is
everybody's, and a floor is measured in the same turns as what stands on it. A goal in milliseconds was set on another
day; where it is missed, the page says what the least is that this machine allows, and what was tried.
"""

from __future__ import annotations

import argparse
import functools
import os
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from benchmarks import language, long_runs, runner
from benchmarks.peers.report import machine
from benchmarks.runner import Benchmark, Line
from rlm_secure.guest.language import facades

PAGE = Path(__file__).with_name("GOALS.md")
#: Seconds for which each case of a row is measured.
SECONDS, SLOW_SECONDS, LANGUAGE_SECONDS = 4.0, 8.0, 1.0
RESTING_SECONDS = 12.0  # of a case that rests nearly all of the time
#: Row -> case -> what was measured.
Measured = Mapping[str, Mapping[str, Line]]
_EXECUTORS = (language.PLAIN, "one class test a store", "cell")
_OURS, _TESTED = "cell", "one class test a store"


@dataclass(frozen=True)
class Floor:
    """What ours cannot go below here, as it is built; measured in the same row."""

    what: str
    value: Callable[[Measured], float]


@dataclass(frozen=True)
class Goal:
    """A figure that is to be `most` at most. `tried` says what was done about one that is missed."""

    part: str
    what: str
    most: float
    unit: str
    value: Callable[[Measured], float]
    floor: Floor | None = None
    tried: str = ""


def _median(row: str, case: str, factor: float = 1.0) -> Callable[[Measured], float]:
    return lambda measured: measured[row][case].median * factor


def _ratio(row: str, case: str, to: str) -> Callable[[Measured], float]:
    return lambda measured: measured[row][case].median / measured[row][to].median


def _largest(*values: Callable[[Measured], float]) -> Callable[[Measured], float]:
    return lambda measured: max(value(measured) for value in values)


def _language(names: Iterable[str], case: str, of: Callable[[Sequence[float]], float]) -> Callable[[Measured], float]:
    rows = [f"language-{name}" for name in names]
    return lambda measured: of([measured[row][case].ratio for row in rows])


_MEAN = language.geometric_mean
_HELD = ("20 lists of 1,000 dicts", "255 ints", "400,000 dicts", "a context of 2,000 dicts")
_CHECKPOINTS = ("checkpoints-empty", "checkpoints-10mb", "checkpoints-400000-dicts")
_BATCHES = ("batch-16-at-1", "batch-64-at-4", "batch-64-at-16", "batch-64-at-64")
_BARE = "a session whose process has no walls"
_NOTHING = "python -c pass"
_IMPORTS = "a plain child process with the policy's modules"
GOALS = (
    Goal(
        "Held state", "`x = 1` with anything held, beside the same in an empty session", 1.3, "x",
        _largest(*(_ratio("held-state", f"{each} held", "nothing held") for each in _HELD)),
    ),
    Goal(
        "Held state", "`x = 1` in a session that is there, wall time", 0.08, "ms",
        _median("held-state", "nothing held", 1e3),
        Floor(
            "a process without walls, limits, turns and descriptions, which is asked and answers in our protocol",
            _median("held-state", "a plain process with our protocol", 1e3),
        ),
        "Only what changed is described; a request is sent before the worker wakes; no decisions or context managers in"
        " each cell; no object for output that nobody listens to. The host looks for an answer before it sleeps, which"
        " took a third off. What is left is interpreted code, two thirds of it the host's, and flat: no call takes"
        " 5 us; 15 in 100 bytecodes less, and waking the worker before the request is made, brought 2 to 4 in 100 each,"
        " which is within what two measurements differ by.",
    ),
    Goal(
        "Checkpoints", "a cell that walks through what is held, with checkpoints, beside without", 1.05, "x",
        _largest(*(_ratio(row, "with checkpoints", "without checkpoints") for row in _CHECKPOINTS)),
        Floor(
            "the same sessions without checkpoints twice, one half beside the other",
            _largest(*(_ratio(row, "others without", "without checkpoints") for row in _CHECKPOINTS)),
        ),
    ),
    Goal(
        "First start", "`import rlm_secure`, above the interpreter alone", 20, "ms",
        lambda measured: 1e3 * (measured["start"]["import rlm_secure"].median - measured["start"][_NOTHING].median),
    ),
    Goal(
        "First start", "from the start of a program to the first result of `Sandbox().run`", 150, "ms",
        _median("first-result", "Sandbox().run", 1e3),
        Floor("a plain program whose child imports what cells may use", _median("first-result", _IMPORTS, 1e3)),
        "The process that sessions are forked from starts before the host imports what talks to it, and imports while"
        " the host does; shipped policies need no pydantic. Reading 600 zone files takes it 3 ms.",
    ),
    Goal(
        "First start", "the same of `rlm-secure exec -c`", 90, "ms", _median("first-result", "rlm-secure exec -c", 1e3),
        Floor("the same start of a session without a wall and a command", _median("first-result", _BARE, 1e3)),
        "As above; the command starts that process before its own parser is imported, and the first session seals"
        " itself and joins its cgroup, which the kernel lets wait, while the walls are tested. Half of the time is the"
        " imports of what cells may use and of their language layer: all is imported before the walls, because nothing"
        " can be opened behind them. They come from one file, not from a zip and 230 more, and the trial session that"
        " warms up later ones waits until the first cell has run.",
    ),
    Goal(
        "Sessions", "processor time of a session with every wall: its start, one cell, its end", 3, "ms",
        _median("session-cpu", "a session", 1e3),
        Floor("the same session without a wall", _median("session-cpu", _BARE, 1e3)),
        "A session copies some 600 pages, half of them because references in them were counted and counted back, which"
        " CPython does up to 3.11 even for None. Pages pinned so that the fork copies them, huge pages and"
        " MADV_COLLAPSE for the heap, code objects next to each other, the order of imports, malloc_trim and libc's"
        " fork brought nothing.",
    ),
    Goal(
        "Sessions", "processor time of a completion of one turn, with its session", 5, "ms",
        _median("run-cpu", "a run, with its worker", 1e3),
        Floor(
            "a session with its context and cell, and a call on an event loop, without a run",
            _median("run-cpu", "a session and a call, with its worker", 1e3),
        ),
        "One thread and one event loop for all runs; connections are kept. A run sends its context as a request of its"
        " own, before the first cell.",
    ),
    Goal(
        "Sessions", "a batch of calls, beside the time that the calls take", 1.3, "x",
        _largest(*(_ratio(row, "rlm_secure", "ideal") for row in _BATCHES)),
        Floor(
            "asyncio.gather with the same client",
            _largest(*(_ratio(row, "asyncio.gather", "ideal") for row in _BATCHES)),
        ),
    ),
    Goal(
        "Language", "any construct on attributes and names of types, in a function, beside plain Python", 2, "x",
        _language(language.IN_FUNCTION, _OURS, max),
        None,
        "Tests compiled in line: a loop does not repeat them for what passed last, finds guards as local variables, and"
        " goes on behind them without a jump.",
    ),
    Goal(
        "Language", "20 pieces of ordinary code, geometric mean", 1.05, "x", _language(language.SOURCES, _OURS, _MEAN)
    ),
    Goal(
        "Language", "work on many small objects, geometric mean", 1.05, "x", _language(language.KERNELS, _OURS, _MEAN),
        Floor("plain Python with one test of a class before each store", _language(language.KERNELS, _TESTED, _MEAN)),
        "Guards compiled in line behind a test of the exact class, which takes 15 to 25 ns beside a store of 1 to 4;"
        " a walrus temporary before it, and an identity cache before the set.",
    ),
    Goal(
        "Long runs", "bytes of the log for a turn, at turn 2,000 beside turn 50", 1.05, "x",
        _ratio("long-bytes", "2,000 turns", "50 turns"),
    ),
    Goal(
        "Long runs", "processor time of a turn, in a run of 2,000 turns beside one of 500", 1.1, "x",
        _ratio("long-turns", "2,000 turns", "500 turns"),
    ),
    Goal(
        "Long runs", "the same with compaction", 1.1, "x",
        _ratio("long-turns", "2,000 turns, compaction", "500 turns, compaction"),
        Floor(
            "encoding what has to be sent, in the same runs",
            _ratio("long-turns", "2,000 turns, compaction, sent", "500 turns, compaction, sent"),
        ),
        "Messages are made once and shared; each compaction sends the session the whole history, which grows.",
    ),
)  # fmt: skip

_HOW = """\
The cases of a row take turns. A floor is measured in the same turns as what stands on it; what each one is, and why
ours cannot go below it as it is built, is said under the table. Figures are medians. Goals in milliseconds are of
another day."""


def rows() -> dict[str, tuple[Benchmark, float]]:
    """What is measured, by name, and for how many seconds each case is."""
    known = runner.collect()
    named = ("held-state", *_CHECKPOINTS, "start", "first-result", "session-cpu", "run-cpu", *_BATCHES)
    made = {name: (known[name], RESTING_SECONDS if name in _CHECKPOINTS else SECONDS) for name in named}
    for name, source in {**language.IN_FUNCTION, **language.SOURCES, **language.KERNELS}.items():
        cases = functools.partial(language.cases, source, _EXECUTORS)
        made[f"language-{name}"] = Benchmark(f"language-{name}", "", cases), LANGUAGE_SECONDS
    size = functools.partial(long_runs.cases, lambda run: run.bytes / 1e9, long_runs.PLAIN)
    turn = functools.partial(long_runs.cases, lambda run: run.seconds, long_runs.PLAIN, long_runs.SENT)
    made["long-bytes"] = Benchmark("long-bytes", "", size), SECONDS
    made["long-turns"] = Benchmark("long-turns", "", turn), SECONDS
    return made


def measure(*, smoke: bool = False) -> dict[str, dict[str, Line]]:
    """All rows, one after the other. Progress goes to standard error."""
    found: dict[str, dict[str, Line]] = {}
    chosen = rows()
    facades.preload()  # as a session has them
    for number, (name, (row, seconds)) in enumerate(chosen.items(), start=1):
        print(f"{number} of {len(chosen)}: {name}", file=sys.stderr, flush=True)
        lines = runner.measure(row, smoke=smoke, seconds=seconds, slow_seconds=SLOW_SECONDS)
        found[name] = {line.case: line for line in lines}
    return found


def verdict(goal: Goal, measured: Measured) -> str:
    """How far a goal is met, and whether its floor allows that."""
    if goal.value(measured) <= goal.most:
        return "met"
    if goal.floor is not None and goal.floor.value(measured) > goal.most:
        return "missed; the floor forbids it here"
    return "missed"


def page(measured: Measured, load: float, ci: float | None) -> str:
    """The page."""
    about = machine()
    where = f"{about['cpu']}, {about['cores']} cores, {about['kernel']}, CPython {about['python']}"
    how = f"by `python -m benchmarks.goals --write`, in one run, as {about['user']}, on {where}."
    lines = [
        "# What speed was promised, and what is measured",
        "",
        f"Measured on {about['date']} {how} Other programs kept {load:.1f} processors busy when it began.",
        *("", _HOW, ""),
        "| part | what | goal | measured | floor | verdict |",
        "| --- | --- | ---: | ---: | ---: | --- |",
    ]
    for goal in GOALS:
        floor = "" if goal.floor is None else shown(goal.floor.value(measured), goal.unit)
        value = shown(goal.value(measured), goal.unit)
        lines.append(
            f"| {goal.part} | {goal.what} | {goal.most:g} {goal.unit} | {value} | {floor} | {verdict(goal, measured)} |"
        )
    if ci is not None:
        said = "met" if ci <= 480 else "missed"
        lines.append(f"| CI | `.ci/run` of one push, two idle cores | 480 s | {ci:.0f} s | | {said} |")
    lines += ["", "Floors, and what was tried where a goal is missed:", ""]
    for goal in GOALS:
        floor = "" if goal.floor is None else f" Floor: {goal.floor.what}."
        if floor or goal.tried:
            lines.append(f"- **{goal.part}, {goal.what}.**{floor} {goal.tried}".rstrip())
    lines += ["", "Ours beside other sandboxes: [RESULTS.md](RESULTS.md).", ""]
    return "\n".join(lines)


def shown(value: float, unit: str) -> str:
    """A figure with three digits."""
    return f"{value:.2f} {unit}" if value < 10 else f"{value:.0f} {unit}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and print the page or write it. Returns 0."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.goals", description="What is promised, and measured.")
    parser.add_argument("--write", action="store_true", help=f"write {PAGE.name} beside this program, do not print")
    parser.add_argument("--smoke", action="store_true", help="run each case once or twice, only to see that it works")
    parser.add_argument("--ci", type=float, metavar="SECONDS", help="how long `.ci/run` took here, with nothing beside")
    chosen = parser.parse_args(arguments)
    load, began = os.getloadavg()[0], time.monotonic()
    text = page(measure(smoke=chosen.smoke), load, chosen.ci)
    if chosen.write:
        PAGE.write_text(text, encoding="utf-8")
        print(f"{PAGE} after {time.monotonic() - began:.0f} s")
    else:
        print(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())
