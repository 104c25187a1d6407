"""All changes of one file, tried in two ways.

The quick way collects the tests once, and gives the functions of the module the code of the changed one. It runs the tests
that run a line of the changed statement: those first that noticed changes near it, then the quickest. It is not for lines
that an import or the collection runs.

The slow way collects the tests after the module was changed: nothing survives but by the slow way. It runs all tests where
an import or the collection runs the line, and otherwise those that run it, because no other can notice. A test that fails
must fail alone as well, the first in its process, and pass alone without a change: then it noticed.
"""

from __future__ import annotations

import importlib
import json
import sys
import time
from collections.abc import Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import coverage
import pytest

from tests.mutation.changes import Mutant, mutants
from tests.mutation.collected import (
    ENDED_WELL,
    FAILED,
    NOT_IN_PLACE,
    UNDECIDED,
    Code,
    Runner,
    collect,
    ended,
    failed,
    fork,
)
from tests.mutation.record import ROOT

#: Seconds of processor time in which a changed module is imported by its tests, or never.
_COLLECTION = 120.0


@dataclass
class Measured:
    """What the tests do where nothing is changed."""

    early: set[int] = field(default_factory=set)
    """Lines that an import or the collection runs."""
    lines: dict[str, set[int]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    modules: list[str] = field(default_factory=list)
    """Modules of others that are imported."""


@dataclass
class Verdict:
    """What became of one change: FAILED is what it shall be."""

    status: int
    test: str = ""
    seconds: float = 0.0


class Trial:
    """The changes of the file `name`, whose tests are `tests`; `scratch` is for files between processes."""

    def __init__(self, name: str, tests: Sequence[str], scratch: Path) -> None:
        self._name, self._tests, self._scratch = name, tests, scratch
        self._path = str(ROOT / name)
        self.mutants = mutants((ROOT / name).read_text(encoding="utf-8"))
        self._unchanged = self.mutants[0].tree.code(self._path)
        self._measured = Measured()

    def prepare(self) -> None:
        """Find out which tests run which lines. Raises RuntimeError where a test fails without any change."""
        self._ends_well(self._forked(self._measure))
        told = json.loads(self._file("measured").read_text(encoding="utf-8"))
        lines = {test: set(numbers) for test, numbers in told["lines"].items()}
        self._measured = Measured(set(told["early"]), lines, told["seconds"], told["modules"])
        for module in self._measured.modules:  # once, for all processes from now on
            with suppress(Exception):
                importlib.import_module(module)

    def run(self, chosen: Sequence[Mutant], jobs: int, until: float, *, again: bool = True) -> dict[Mutant, Verdict]:
        """What became of each that could be tried before `until`. Raises RuntimeError where that is worth nothing.

        `again`: what survives the quick way is tried the slow way.
        """
        quickly = [mutant for mutant in chosen if not self._is_early(mutant)]
        found = self._quick_way(quickly, jobs, until)
        left = [
            mutant for mutant in chosen if mutant not in found or (again and found[mutant].status != FAILED)
            or found[mutant].status == NOT_IN_PLACE
        ]  # fmt: skip
        slowly = self._slow_way(left, jobs, until)
        if noticing := {verdict.test for verdict in slowly.values() if verdict.test}:
            alone = lambda: collect(  # noqa: E731
                self._name, self._unchanged, self._tests, lambda items: self._each_alone(items, noticing)
            )
            self._ends_well(self._forked(alone))
        return found | slowly

    def _file(self, name: str) -> Path:
        return self._scratch / name

    def _forked(self, work: Callable[[], int]) -> tuple[int, Path]:
        """A process that does `work`, and what it says."""
        log = self._file(f"log-{len(list(self._scratch.glob('log-*')))}")
        with log.open("wb") as said:
            return fork(work, said=said.fileno()), log

    def _ends_well(self, process: tuple[int, Path]) -> None:
        pid, log = process
        if ended(pid) != ENDED_WELL:
            text = log.read_text(encoding="utf-8", errors="replace")
            raise RuntimeError(f"the tests of {self._name} fail without any change:\n{text[-8000:]}")

    def _measure(self) -> int:
        tracer = coverage.Coverage(data_file=None, include=[self._path], config_file=False)
        seconds: dict[str, float] = {}

        def work(items: list[pytest.Item]) -> int:
            status = ENDED_WELL
            for item, following in zip(items, [*items[1:], None], strict=True):
                tracer.switch_context(item.nodeid)
                begun = time.monotonic()
                if failed(item, following):
                    print(f"failed: {item.nodeid}")
                    status = FAILED
                seconds[item.nodeid] = time.monotonic() - begun
            tracer.stop()
            lines: dict[str, list[int]] = {test: [] for test in ("", *seconds)}
            for line, tests in tracer.get_data().contexts_by_lineno(self._path).items():
                for test in tests:
                    lines[test].append(line)
            ours = ("rlm_secure", "tests", "__")
            modules = [each for each in sys.modules if not each.startswith(ours)]
            told = {"early": lines.pop(""), "lines": lines, "seconds": seconds, "modules": modules}
            self._file("measured").write_text(json.dumps(told), encoding="utf-8")
            return status

        tracer.start()
        return collect(self._name, self._unchanged, self._tests, work)

    def _quick_way(self, chosen: list[Mutant], jobs: int, until: float) -> dict[Mutant, Verdict]:
        running = []
        for number in range(jobs):
            own, file = chosen[number::jobs], self._file(f"quick-{number}")
            if own:
                running.append((self._forked(lambda own=own, file=file: self._quickly(own, file, until)), own, file))
        found: dict[Mutant, Verdict] = {}
        for process, own, file in running:
            self._ends_well(process)
            for line in file.read_text(encoding="utf-8").splitlines():
                index, *verdict = json.loads(line)
                found[own[index]] = Verdict(*verdict)
        return found

    def _quickly(self, own: list[Mutant], file: Path, until: float) -> int:
        """Try these, and tell in `file`. FAILED where a test fails that should not."""

        def work(items: list[pytest.Item]) -> int:
            code, runner = Code.of(self._name), Runner(self._measured.seconds)
            items.sort(key=lambda item: self._measured.seconds.get(item.nodeid, 0.0))
            # All of them in this order, with the unchanged module put in place as a changed one is.
            status, at = runner.first_failure(items, lambda: code.replace(self._unchanged))
            if status != ENDED_WELL:
                print(f"ended with {status}, in the order of the quick way: {items[at].nodeid}")
                return FAILED
            noticing: dict[str, int] = {}
            with file.open("w", encoding="utf-8") as told:
                for index, mutant in enumerate(own):
                    begun = time.monotonic()
                    if begun > until:
                        break
                    put = lambda mutant=mutant: code.replace(mutant.code(self._path))  # noqa: E731
                    # Those first that have noticed one of the last changes, which were near.
                    order = sorted(self._concerned(items, mutant), key=lambda item: -noticing.get(item.nodeid, -1))
                    status, test = runner.noticed(order, put)
                    noticing[test] = index
                    told.write(json.dumps([index, status, test, time.monotonic() - begun]) + "\n")
                    told.flush()
            return self._each_alone(items, noticing)

        return collect(self._name, self._unchanged, self._tests, work)

    def _each_alone(self, items: list[pytest.Item], tests: Collection[str]) -> int:
        """FAILED where one of the tests fails alone, without any change: it noticed nothing then."""
        runner, status = Runner(self._measured.seconds), ENDED_WELL
        for item in items:
            if item.nodeid in tests and runner.first_failure([item], lambda: True)[0] != ENDED_WELL:
                print(f"fails alone: {item.nodeid}")
                status = FAILED
        return status

    def _slow_way(self, chosen: list[Mutant], jobs: int, until: float) -> dict[Mutant, Verdict]:
        found: dict[Mutant, Verdict] = {}
        for begin in range(0, len(chosen), jobs):
            begun = time.monotonic()
            if begun > until:
                break
            running = []
            for number, mutant in enumerate(chosen[begin : begin + jobs]):
                file = self._file(f"slow-{number}")
                file.write_text("", encoding="utf-8")
                running.append((fork(lambda mutant=mutant, file=file: self._slowly(mutant, file)), mutant, file))
            for pid, mutant, file in running:
                status = ended(pid, seconds=_COLLECTION, still=_COLLECTION)
                status = FAILED if status not in (ENDED_WELL, UNDECIDED) else status
                found[mutant] = Verdict(status, file.read_text(encoding="utf-8"), time.monotonic() - begun)
        return found

    def _slowly(self, mutant: Mutant, file: Path) -> int:
        def work(items: list[pytest.Item]) -> int:
            items.sort(key=lambda item: self._measured.seconds.get(item.nodeid, 0.0))
            concerned = self._concerned(items, mutant)
            if self._is_early(mutant):
                concerned += [item for item in items if item not in concerned]
            status, test = Runner(self._measured.seconds).noticed(concerned, lambda: True)
            file.write_text(test, encoding="utf-8")
            return status

        return collect(self._name, mutant.code(self._path), self._tests, work)

    def _is_early(self, mutant: Mutant) -> bool:
        return bool(self._measured.early.intersection(mutant.lines))

    def _concerned(self, items: list[pytest.Item], mutant: Mutant) -> list[pytest.Item]:
        """Those that run a line of it."""
        lines = set(mutant.lines)
        return [item for item in items if lines & self._measured.lines.get(item.nodeid, set())]
