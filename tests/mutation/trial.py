"""All changes of one file, tried in two ways.

The quick way collects the tests once, and gives the functions of the module the code of the changed one. It runs the tests
that run a line of the changed statement, the quickest first. It is not for lines that an import or the collection runs.

The slow way collects the tests after the module was changed: nothing survives but by the slow way. It runs all tests where
an import or the collection runs the line, and otherwise those that run it, because no other can notice. A test that fails
must fail alone as well, and pass alone without a change: then it noticed.
"""

from __future__ import annotations

import importlib
import json
import sys
import threading
import time
import types
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

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
        self._in_a_process(self._measure)
        told = json.loads(self._file("measured").read_text(encoding="utf-8"))
        lines = {test: set(numbers) for test, numbers in told["lines"].items()}
        self._measured = Measured(set(told["early"]), lines, told["seconds"], told["modules"])
        for module in self._measured.modules:  # once, for all processes from now on
            with suppress(Exception):
                importlib.import_module(module)
        self._in_a_process(lambda: self._alone_together(sorted(lines, key=self._measured.seconds.__getitem__)))

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
        found.update(self._slow_way(left, jobs, until))
        noticing = sorted({verdict.test for verdict in found.values() if verdict.test})
        self._in_a_process(lambda: self._each_alone(noticing))
        return found

    def _file(self, name: str) -> Path:
        return self._scratch / name

    def _in_a_process(self, work: Callable[[], int]) -> None:
        log = self._file("log")
        with log.open("wb") as said:
            if ended(fork(work, said=said.fileno())) != ENDED_WELL:
                text = log.read_text(encoding="utf-8", errors="replace")
                raise RuntimeError(f"the tests of {self._name} fail without any change:\n{text[-8000:]}")

    def _measure(self) -> int:
        found = Measured()
        lines = found.early

        def of_frame(frame: types.FrameType, what: str, value: Any) -> Any:
            if what in ("line", "call"):
                lines.add(frame.f_lineno)
            return of_frame

        def of_call(frame: types.FrameType, what: str, value: Any) -> Any:
            return of_frame(frame, what, value) if frame.f_code.co_filename == self._path else None

        def work(items: list[pytest.Item]) -> int:
            nonlocal lines
            status = ENDED_WELL
            for index, item in enumerate(items):
                lines = found.lines[item.nodeid] = set()
                begun = time.monotonic()
                sys.settrace(of_call)  # a test may have taken it away
                if failed(item, items[index + 1] if index + 1 < len(items) else None):
                    print(f"failed: {item.nodeid}")
                    status = FAILED
                found.seconds[item.nodeid] = time.monotonic() - begun
            sys.settrace(None)
            ours = ("rlm_secure", "tests", "__")
            told = {
                "early": sorted(found.early), "lines": {test: sorted(each) for test, each in found.lines.items()},
                "seconds": found.seconds, "modules": [each for each in sys.modules if not each.startswith(ours)],
            }  # fmt: skip
            self._file("measured").write_text(json.dumps(told), encoding="utf-8")
            return status

        threading.settrace(of_call)
        sys.settrace(of_call)
        return collect(self._name, self._unchanged, self._tests, work)

    def _alone_together(self, order: list[str]) -> int:
        """All tests in this order, with the code of the unchanged module put in place as that of a changed one is."""

        def work(items: list[pytest.Item]) -> int:
            code, named = Code.of(self._name), {item.nodeid: item for item in items}
            chosen = [named[test] for test in order]
            status, at = Runner(self._measured.seconds).first_failure(chosen, lambda: code.replace(self._unchanged))
            if status != ENDED_WELL:
                print(f"ended with {status}, in the order of the quick way: {chosen[at].nodeid}")
            return status

        return collect(self._name, self._unchanged, self._tests, work)

    def _each_alone(self, tests: list[str]) -> int:
        def work(items: list[pytest.Item]) -> int:
            named = {item.nodeid: item for item in items}
            runner, status = Runner(self._measured.seconds), ENDED_WELL
            for test in tests:
                if test in named and runner.first_failure([named[test]], lambda: True)[0] != ENDED_WELL:
                    print(f"fails alone: {test}")
                    status = FAILED
            return status

        return collect(self._name, self._unchanged, self._tests, work)

    def _quick_way(self, chosen: list[Mutant], jobs: int, until: float) -> dict[Mutant, Verdict]:
        running = []
        for number in range(jobs):
            own, file = chosen[number::jobs], self._file(f"quick-{number}")
            if own:
                running.append((fork(lambda own=own, file=file: self._quickly(own, file, until)), own, file))
        found: dict[Mutant, Verdict] = {}
        for pid, own, file in running:
            if ended(pid) != ENDED_WELL:
                raise RuntimeError(f"the tests of {self._name} cannot be collected")
            for line in file.read_text(encoding="utf-8").splitlines():
                index, *verdict = json.loads(line)
                found[own[index]] = Verdict(*verdict)
        return found

    def _quickly(self, own: list[Mutant], file: Path, until: float) -> int:
        def work(items: list[pytest.Item]) -> int:
            code, runner = Code.of(self._name), Runner(self._measured.seconds)
            items.sort(key=lambda item: self._measured.seconds.get(item.nodeid, 0.0))
            with file.open("w", encoding="utf-8") as told:
                for index, mutant in enumerate(own):
                    begun = time.monotonic()
                    if begun > until:
                        break
                    concerned = self._concerned(items, mutant)
                    put = lambda mutant=mutant: code.replace(mutant.code(self._path))  # noqa: E731
                    verdict = runner.noticed(concerned, put)
                    told.write(json.dumps([index, *verdict, time.monotonic() - begun]) + "\n")
                    told.flush()
            return ENDED_WELL

        return collect(self._name, self._unchanged, self._tests, work)

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
