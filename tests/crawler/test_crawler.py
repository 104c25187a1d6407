"""The crawler in CI: it finds what was planted, and nothing in the tree, under every shipped policy."""

from __future__ import annotations

import collections
import io
import itertools
import os
import re
import signal
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.policy.model import PACKAGES, Policy
from tests.guest.cells import Session
from tests.share import turn

from . import VERSIONS, crawl, engine, holes, kinds, replay

ROOT = Path(__file__).parents[2]
SEED = 20261122
#: The policy with all modules of the others: on the main Python every callable that it gives is called each night. A push
#: calls a sample, as all other policies have: `python -m tests.crawler --policy NAME` calls the whole of one.
WHOLE = "research"
MAIN = sys.version_info[:2] == (3, 11)
SAMPLE = 2  # sessions; WHOLE, which has more packages, four times as many
STEPS = 5 * crawl.FOCUS  # calls of one session
PROGRAMS = 100 if MAIN and os.environ.get("RLM_SECURE_EXHAUSTIVE") == "1" else 60
#: Those whose modules differ from WHOLE's as well.
POLICIES = sorted(
    name for name, modules in crawl.policies().items() if name == WHOLE or (MAIN and modules - set(PACKAGES) != crawl.policies()[WHOLE])
)


def run(*arguments: str, module: str = "tests.crawler") -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", module, *arguments]
    return subprocess.run(command, cwd=ROOT, env={"PYTHONHASHSEED": "0", "PATH": ""}, capture_output=True, text=True, timeout=900)


@pytest.mark.timeout(1000)
@pytest.mark.parametrize("policy", POLICIES)
def test_nothing_that_no_cell_may_hold_is_within_reach(policy: str) -> None:
    whole = MAIN and policy == WHOLE and turn() is None
    count = SAMPLE * (4 if policy == WHOLE else 1)
    sample = () if whole else ("--sessions", str(count))
    done = run("--policy", policy, "--at-once", "--steps", str(STEPS), "--seed", str(SEED), "--shrink", "20", *sample)
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    figures = done.stdout.splitlines()[-1]
    counts = (r"(\d+) callables", r"(\d+) of them called", r"(\d+) sessions", r"(\d+) of them lost")
    reached, called, sessions, lost = (int(re.search(count, figures)[1]) for count in counts)  # type: ignore[index]
    assert reached > 3000 and lost <= 1 + sessions // 50, figures
    assert called >= (reached - lost * crawl.FOCUS if whole else crawl.FOCUS // 2 * count), figures


def test_one_policy_has_the_modules_of_all() -> None:
    modules = {name: set(Policy.load(name).language.modules) - set(PACKAGES) for name in crawl.policies()}
    assert all(each <= modules[WHOLE] for each in modules.values())


@pytest.mark.timeout(600)
def test_what_is_planted_is_found() -> None:
    """The control: without it, a crawler that has gone blind would pass."""
    done = run("--planted", *sorted(holes.HOLES), "--policy", "strict", "--sessions", "4", "--seed", str(SEED), "--shrink", "0")
    assert done.returncode == 1, done.stdout[-4000:] + done.stderr[-2000:]
    missed = [name for name, (_, what) in holes.HOLES.items() if not re.search(rf"FOUND: {what}", done.stdout)]
    assert missed == [], done.stdout[-4000:]


@pytest.mark.timeout(600)
def test_a_finding_comes_with_a_short_cell() -> None:
    done = run("--planted", "hands_out_type", "--policy", "strict", "--at-once", "--sessions", "4", "--seed", str(SEED), "--shrink", "20")
    program = done.stdout.partition("---- is type")[2]
    assert "hands_out_type" in program and len(program.splitlines()) < 60, done.stdout[-4000:]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("policy", POLICIES)
def test_no_random_program_gets_hold_of_anything(policy: str) -> None:
    done = run("--policy", policy, "--count", str(PROGRAMS), "--seed", str(SEED), module="tests.crawler.programs")
    assert done.returncode == 0, done.stdout[-20_000:] + done.stderr[-2000:]
    ran = int(re.search(r"(\d+) cells ran", done.stdout)[1])  # type: ignore[index]
    assert ran >= PROGRAMS - 5, done.stdout


def test_the_judge_of_programs_sees_what_they_leave() -> None:
    """The control: each of these is wrong, and said to be."""
    for source, what in {
        "LOOT = [hole(Hook())]\nclass Hook: pass": "ended: NameError",
        "class Hook:\n    def hook(self, value): LOOT.append(value)\nLOOT = []\nhands_out_type(Hook())": "is type",
        "shares_a_table('y', 1)": "shared state was changed",
        "opens('x')": "the interpreter was made to open",
        "class Text:\n    def __str__(self): return '1): pass\\nTRIPWIRE()\\ndef f(x=1'\ntrusts_names(Text())": "code of a hook ran inside generated code",
    }.items():
        told = engine.in_fork(lambda source=source: replay.judged(frozenset(), source, {name: hole for name, (hole, _) in holes.HOLES.items()}))
        assert any(each.startswith(what) for each in told), (what, told)


class Shares:
    """What `State` looks at, in the shapes that it may have."""

    table: dict[str, int] = {"a": 1}


def shares(value: int = 1) -> int:
    return value


TABLE, ROWS, NUMBERS, NAMES, BYTES = {"a": 1}, [object()], collections.deque((1, 2)), {"a"}, bytearray(b"ab")
#: Each change, and what the picture calls it.
CHANGES: dict[str, Callable[[], object]] = {
    "sys.crawled": lambda: setattr(sys, "crawled", 1),
    "sys.modules": lambda: sys.modules.pop("tomllib"),
    "crawler.holes.Shares.table": lambda: Shares.table.update(a=2),
    "crawler.holes.Shares.other": lambda: setattr(Shares, "other", 1),
    "crawler.holes.shares.__dict__": lambda: vars(shares).update(a=1),
    "crawler.holes.shares.__code__": lambda: setattr(shares, "__defaults__", (2,)),
    "crawler.holes.TABLE": lambda: TABLE.update({"b": TABLE.pop("a")}),
    "crawler.holes.ROWS": lambda: ROWS.__setitem__(0, object()),
    "crawler.holes.NUMBERS": lambda: NUMBERS.rotate(),
    "crawler.holes.NAMES": lambda: NAMES.add("b"),
    "crawler.holes.BYTES": lambda: BYTES.reverse(),
}


@pytest.mark.parametrize("name", CHANGES)
def test_the_picture_shows_each_change_and_no_other(name: str) -> None:
    def work() -> list[list[str]]:
        for value in (Shares, shares):
            value.__module__ = holes.__name__
        vars(holes).update(Shares=Shares, shares=shares, TABLE=TABLE, ROWS=ROWS, NUMBERS=NUMBERS, NAMES=NAMES, BYTES=BYTES)
        state = kinds.State({})
        vars(holes)["TABLE"] = vars(holes).pop("TABLE")  # the same, elsewhere
        vars(holes)["_cache"] = 1
        before = state.changes()
        CHANGES[name]()
        return [before, state.changes()]

    assert engine.in_fork(work) == [[], [name.replace("crawler.holes", holes.__name__)]]


def test_a_machine_that_stands_still_loses_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """The wait is over then, and the other process had no time either."""
    reader, writer = os.pipe()
    select = engine.select.select

    def stands_still(*given: Any) -> Any:
        monkeypatch.setattr(engine.select, "select", select)
        os.write(writer, b"x")  # what the other process waits for
        return [], [], []

    monkeypatch.setattr(engine.select, "select", stands_still)
    assert engine.in_fork(lambda: os.read(reader, 1).decode()) == "x"


class _Unraisable:
    def __del__(self) -> None:
        raise ValueError


def test_the_alarm_makes_the_interpreter_open_nothing() -> None:
    """What is raised in an audit hook, or while an exception is ignored, is quoted, from its source."""

    def ring(number: int, frame: Any) -> None:
        try:
            engine.out_of_time(number, frame)
        except engine.OutOfTime:
            engine._ringing = False  # once is enough
            raise

    engine.UNDISTURBED.add(ring.__code__)

    def work() -> list[str]:
        world = engine.World(frozenset())
        sys.stderr = io.StringIO()  # what pytest puts there cannot be written to
        signal.signal(signal.SIGALRM, ring)
        signal.setitimer(signal.ITIMER_REAL, 0.0001, 0.00007)
        rung = 0
        for _ in range(2000):
            try:
                engine._ringing = world.running = True
                for _ in range(100):
                    _Unraisable()
                engine._ringing = False
            except (engine.OutOfTime, engine.Tripped):
                rung += 1
            world.running = False
        signal.setitimer(signal.ITIMER_REAL, 0)
        return [*{what for what, _ in world.complaints}, "rung" if rung > 100 else "silent"]

    assert engine.in_fork(work) == ["rung"]


def test_what_never_ends_is_lost_and_said_to_be(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine, "PATIENCE", 1)
    assert engine.in_fork(lambda: time.sleep(60)) is None and engine.lost_by == "after 1 s"
    monkeypatch.setattr(engine, "PATIENCE", 60)
    assert engine.in_fork(lambda: os._exit(1)) is None and engine.lost_by == "without a word"
    monkeypatch.setattr(engine, "MEMORY", 50 << 20)
    assert engine.in_fork(lambda: [bytearray(1 << 20) for _ in itertools.count()]) is None
    assert engine.lost_by == "with 50 MiB more than it began with"
    held = bytearray(100 << 20)  # what there is already is not what the process is given
    assert engine.in_fork(lambda: len(bytearray(30 << 20) + held[:10])) == (30 << 20) + 10
    monkeypatch.setattr(engine, "SESSION_SECONDS", 1)
    assert engine.in_fork(lambda: all(itertools.repeat(1))) is None and engine.lost_by == "after 1 s of the processor"


def test_what_enum_keeps_on_a_cells_class_is_closed() -> None:
    """What the crawler met on 3.13: a private function of enum, which reads what its argument says are its fields."""
    session = Session()
    session.run("import dataclasses, enum\n@dataclasses.dataclass\nclass D:\n    x: int = 1\nclass E(D, enum.Enum):\n    A = 1")
    assert session.outcome("E._value_repr_") == session.outcome("getattr(E, '_value_repr_')") == "private-attribute"
    assert "_value_repr_" not in session.run("print(*vars(E))")


def test_python_is_allowed_up_to_the_last_version_that_was_crawled() -> None:
    project: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (first, *_, last) = VERSIONS
    assert project["requires-python"] == f">={first[0]}.{first[1]},<{last[0]}.{last[1] + 1}"
    prefix = "Programming Language :: Python :: 3."
    assert [int(each.removeprefix(prefix)) for each in project["classifiers"] if each.startswith(prefix)] == [minor for _, minor in VERSIONS]
    assert sys.version_info[:2] in VERSIONS
    ci = (ROOT / ".ci" / "run").read_text(encoding="utf-8") if (ROOT / ".ci").is_dir() else ""
    for major, minor in VERSIONS if ci else ():
        assert f"$(python {major}.{minor})" in ci, "this version is not crawled in CI"
