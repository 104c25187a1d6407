"""The shared harness: collects the benchmarks of this folder, runs their cases in turn, prints ratios.

A benchmark is a generator that sets up, yields its cases (the others are compared with the first), and cleans up:

    @benchmark("warm-cell", "one cell in a session that is already there")
    def warm_cell():
        with Sandbox() as sandbox:
            yield [Case("exec in this process", ...), Case("Sandbox.run", lambda: sandbox.run("1 + 1"))]

The cases take turns, so that a temporary slowdown of the machine affects all of them. Absolute figures of one machine
mean little; compare the ratios.
"""

from __future__ import annotations

import argparse
import importlib
import json
import pkgutil
import statistics
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import benchmarks

SECONDS = 4.0
"""The time for which a case is measured, in seconds; it ends earlier after ROUNDS runs."""
SLOW_SECONDS = 30.0
"""The same for a slow case."""
ROUNDS = 300
SMOKE_ROUNDS = 2
SMOKE_SECONDS = 0.1
"""Where cases only have to be seen to work: how long the first run of one may take that runs a second time."""


@dataclass(frozen=True)
class Case:
    """One thing to time. `units` is the number of operations in one call of `action`; `before` runs untimed.

    `value` returns the figure if it is not the duration of `action`; `unit` is its unit. What is `slow` is not warmed
    up, and runs once where it only has to be seen to work; then `small` runs in place of a case that has one.
    """

    name: str
    action: Callable[[], Any]
    units: int = 1
    before: Callable[[], Any] | None = None
    value: Callable[[], float] | None = None
    slow: bool = False
    small: Callable[[], Any] | None = None
    unit: str = "s"


Cases: TypeAlias = Callable[[], Iterator[Sequence[Case]]]


@dataclass(frozen=True)
class Benchmark:
    """A named table of cases."""

    name: str
    title: str
    cases: Cases


@dataclass(frozen=True)
class Line:
    """The result of one case: the figure for one operation, and the ratio to the table's first case."""

    case: str
    median: float
    p90: float
    rounds: int
    ratio: float
    unit: str = "s"


REGISTRY: dict[str, Benchmark] = {}


def benchmark(name: str, title: str) -> Callable[[Cases], Cases]:
    """Register the decorated generator function as the benchmark `name`."""

    def register(cases: Cases) -> Cases:
        REGISTRY[name] = Benchmark(name, title, cases)
        return cases

    return register


def collect() -> dict[str, Benchmark]:
    """Every benchmark of this folder, by name."""
    for module in pkgutil.iter_modules(benchmarks.__path__):
        if not module.name.startswith("_") and module.name != "runner":
            importlib.import_module(f"benchmarks.{module.name}")
    return dict(sorted(REGISTRY.items()))


def measure(
    chosen: Benchmark, *, smoke: bool = False, seconds: float = SECONDS, slow_seconds: float = SLOW_SECONDS
) -> list[Line]:
    """Run a benchmark's cases in turn, each for `seconds`, or `slow_seconds` where it is slow.

    With `smoke` only SMOKE_ROUNDS times at most, to check that they work.
    """
    with contextmanager(chosen.cases)() as cases:
        samples: list[list[float]] = [[] for _ in cases]
        spent = [0.0] * len(cases)
        for case in cases:
            if not case.slow and not smoke:
                run(case)  # warm-up: costs of the first run are not measured
        for number in range(SMOKE_ROUNDS if smoke else ROUNDS):
            for index, case in enumerate(cases):
                if spent[index] > (slow_seconds if case.slow else SMOKE_SECONDS if smoke else seconds):
                    continue
                if smoke and case.slow and number:
                    continue
                begun = time.perf_counter()
                shown = replace(case, action=case.small) if smoke and case.small else case
                samples[index].append(run(shown) / case.units)
                spent[index] += time.perf_counter() - begun
    first = statistics.median(samples[0])
    return [
        Line(
            case.name,
            statistics.median(taken),
            sorted(taken)[int(len(taken) * 0.9)],
            len(taken),
            statistics.median(taken) / first,
            case.unit,
        )
        for case, taken in zip(cases, samples, strict=True)
    ]


def run(case: Case) -> float:
    """One round: seconds of the action, or the case's own figure."""
    if case.before is not None:
        case.before()
    start = time.perf_counter()
    case.action()
    seconds = time.perf_counter() - start
    return seconds if case.value is None else case.value()


def show(chosen: Benchmark, lines: Sequence[Line]) -> str:
    """A table for people."""
    width = max(len(line.case) for line in lines)
    rows = [
        f"  {line.case:<{width}}  {figure(line.median, line.unit):>10}  {figure(line.p90, line.unit):>10}"
        + (f"  {line.ratio:>10.2f}x" if line.unit == "s" else "")
        for line in lines
    ]
    head = f"  {'':<{width}}  {'median':>10}  {'p90':>10}  {'ratio':>11}"
    return "\n".join([f"{chosen.name}: {chosen.title}", head, *rows, ""])


def figure(value: float, unit: str) -> str:
    """Format a figure: seconds as a duration, anything else as a number."""
    return duration(value) if unit == "s" else f"{value:.2f} {unit}"


def duration(seconds: float) -> str:
    """Format seconds with a suitable unit."""
    for factor, unit in ((1.0, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.2f} {unit}"
    return f"{seconds * 1e9:.0f} ns"


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the named benchmarks, or all. Returns 0, 1 if one failed, 2 for an unknown name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description="Measure, and print ratios.")
    parser.add_argument("names", nargs="*", metavar="NAME", help="which ones (default: all)")
    parser.add_argument("--smoke", action="store_true", help="run each case twice, only to see that it works")
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    chosen = parser.parse_args(arguments)
    known = collect()
    unknown = [name for name in chosen.names if name not in known]
    if unknown:
        print(f"no benchmark called {unknown[0]!r}; there are: {', '.join(known)}", file=sys.stderr)
        return 2
    results: dict[str, list[Line]] = {}
    failed = False
    for name in chosen.names or known:
        try:
            results[name] = measure(known[name], smoke=chosen.smoke)
        except Exception as error:
            print(f"{name}: FAILED: {type(error).__name__}: {error}", file=sys.stderr)
            failed = True
            continue
        if not chosen.json:
            print(show(known[name], results[name]), flush=True)
    if chosen.json:
        print(json.dumps({name: [vars(line) for line in lines] for name, lines in results.items()}, indent=2))
    return 1 if failed else 0
