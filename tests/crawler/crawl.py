"""One crawl: a world for the modules of a policy, then session after session until the count or the time is used up."""

from __future__ import annotations

import builtins
import io
import random
import signal
import sys
import time
import tomllib
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from rlm_secure import resources
from rlm_secure.guest.language import facades
from rlm_secure.policy.model import PACKAGES

from . import engine, holes, packages
from .engine import Figures, Found, Reach, Session, Step, World, _tuples, in_fork
from .kinds import State, sealed
from .replay import Replay

FOCUS = 120  # callables of one session: its fork, and the look at what it changed, take as long as 150 calls


def policies() -> dict[str, frozenset[str]]:
    """Each shipped policy, with the modules that its cells may import."""
    rows = {name: tomllib.loads(resources.policy_file(name).read_text(encoding="utf-8")) for name in resources.policy_names()}
    return {name: frozenset(row["language"]["modules"]) for name, row in rows.items()}


def _step(row: dict[str, Any]) -> Step:
    return Step(**{name: _tuples(value) for name, value in row.items()})


class Crawl:
    """Everything that cells with these `modules` can reach."""

    def __init__(self, modules: frozenset[str], seed: int, planted: dict[str, Any] | None = None, say: Callable[[str], None] = print, *, apart: bool = True, thorough: bool = False) -> None:
        """`thorough` is passed to Reach. `apart`: a process that may end first finds what ends the interpreter, so that this one leaves it out."""
        if modules & set(PACKAGES) and not packages.active():
            packages.load()
        facades.preload()
        signal.signal(signal.SIGALRM, engine.out_of_time)
        self.seed, self.say = seed, say
        sys.stdout = io.StringIO()  # as in a worker: what library code prints is a cell's output
        self.world = World(modules, planted)
        self.found: dict[str, Found] = {}
        crashing: set[str] = set()
        while apart and (ended := in_fork(lambda: bool(Reach(self.world, frozenset(crashing))))) is not True:
            words = engine.last_words()
            if ended is None or words in crashing:
                raise RuntimeError(f"what is within reach could not be listed: {ended} at {words}")
            crashing.add(words)
            self._add(Found(f"the interpreter ended with signal {ended}", words, []))
        self.reach = Reach(self.world, frozenset(crashing), thorough=thorough)
        for value in self.reach.pool.values():
            self.world.described(value)
        for each in self.reach.findings:
            self._add(each)
        for what, where in self.world.complaints:
            self._add(Found(what, where, []))
        self.world.complaints.clear()
        self.canaries = [(name, value, before) for name, value in self.reach.pool.items() if (before := sealed(value)) is not None]
        self.state = State(self.world.space)
        self.figures = Figures(reached=len(self.reach.functions), refused=len(self.world.refused))
        self.corpus: dict[str, list[Step]] = {}
        self.only: str | tuple[str, ...] = ""
        self._called: set[str] = set()
        self._kinds: set[str] = set()
        dice = random.Random(seed)
        self.slices: list[list[str]] = []
        groups: dict[str, list[str]] = {}
        for name in sorted(self.reach.functions):
            groups.setdefault(name.partition("(")[0].partition(".")[0], []).append(name)
        rest: list[str] = []
        for _, group in sorted(groups.items()):
            dice.shuffle(group)
            whole = len(group) - len(group) % FOCUS if len(group) > 12 else 0
            self.slices += [group[at : at + FOCUS] for at in range(0, whole, FOCUS)]
            left = group[whole:]
            if len(left) > 12:
                self.slices.append(left)
            else:
                rest += left
        self.slices += [rest[at : at + FOCUS] for at in range(0, len(rest), FOCUS)]
        forms = sorted(name for name in self.world.space if name.startswith("op_"))
        self.slices += [forms[at : at + FOCUS // 2] for at in range(0, len(forms), FOCUS // 2)]
        dice.shuffle(self.slices)
        if planted:
            self.slices = [sorted(planted)]

    def _add(self, found: Found, where: str = "") -> None:
        key = found.what
        if key.startswith("the interpreter ended"):
            key += f": {found.where}"
        if key not in self.found:
            self.found[key] = found
            self.say(f"FOUND: {found.what} ({found.where}){where}")

    def run(self, sessions: int | None = None, seconds: float | None = None, steps: int = engine.STEPS) -> None:
        """Go on for so many sessions, or so many seconds."""
        begun, number = time.monotonic(), 0
        while (sessions is None or number < sessions) and (seconds is None or time.monotonic() - begun < seconds):
            self.session(number, steps)
            number += 1
            if number % 50 == 0:
                self.say(f"{time.monotonic() - begun:.0f} s: {self.figures}")

    def focus(self, number: int) -> list[str]:
        """What session `number` calls most: everything in turn, and every other time what led furthest."""
        if number < len(self.slices) or number % 3 == 0:
            return self.slices[number % len(self.slices)]
        dice = random.Random(f"{self.seed}:{number}")
        ranked = sorted((name for name in self.corpus if name.startswith(self.only)), key=lambda name: (-len(self.corpus[name]), name))
        return dice.sample(ranked[:150], min(12, len(ranked)))

    def session(self, number: int, steps: int) -> None:
        focus = self.focus(number)
        kept = [step for name in focus for step in self.corpus.get(name, ())[-40:]]

        def work() -> dict[str, Any]:
            session = Session(self.reach, f"{self.seed}:{number}", focus, kept)
            session.go(steps, self.state, self.canaries)
            return {
                "found": [asdict(each) for each in session.found],
                "fresh": [asdict(each) for each in session.fresh],
                "calls": len(session.steps),
                "given": self.world.given,
                "called": sorted(session.called),
                "kinds": sorted(f"{kind.__module__}.{kind.__qualname__}" for kind in self.world.seen_kinds if not engine.is_own(kind)),
            }

        told = in_fork(work)
        self.figures.sessions += 1
        if type(told) is int:
            found = engine.from_crumbs()
            found.what = f"the interpreter ended with signal {told}"
            self._add(found, f" in session {number}")
        if type(told) is not dict or "broken" in told:
            self.figures.lost += 1
            self.say(told["broken"] if type(told) is dict else f"session {number} was lost {engine.lost_by if told is None else f'by signal {told}'} at {engine.last_words()[:300]}")
            return
        self._called |= set(told["called"])
        self._kinds |= set(told["kinds"])
        self.figures.called = len(self._called & set(self.reach.functions))
        self.figures.kinds = len(self._kinds)
        self.figures.calls += told["calls"]
        self.figures.given += told["given"]
        for row in told["fresh"]:
            step = _step(row)
            if step.function[0] == "n":
                self.corpus.setdefault(step.function[1], []).append(step)
        for row in told["found"]:
            steps_ = [_step(each) for each in row["steps"]]
            found = Found(row["what"], row["where"], steps_, [[tuple(pick) for pick in each] for each in row["picks"]])
            self._add(found, f", after {len(found.steps)} calls in session {number}")

    def programs(self, seconds: float = 60.0) -> dict[str, str]:
        """The shortest cell for each finding that was found in time."""
        replay = Replay(self.world, self.reach)
        return {what: replay.shortest(found, seconds) for what, found in self.found.items()}


def main(arguments: list[str] | None = None) -> int:
    """The command line; 1 where something was found."""
    import argparse

    parser = argparse.ArgumentParser(prog="python -m tests.crawler", description=__doc__)
    parser.add_argument("--policy", action="append", help="a shipped policy (default: each)")
    parser.add_argument("--seconds", type=float, help="in all (default: until the sessions are done)")
    parser.add_argument("--sessions", type=int, help="for each policy")
    parser.add_argument("--steps", type=int, default=engine.STEPS, help="calls in a session")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shrink", type=float, default=30.0, help="seconds to spend on each finding's program")
    parser.add_argument("--planted", nargs="+", default=[], help="call these functions of holes.py alone, without modules: they must be found")
    parser.add_argument("--at-once", action="store_true", help="start in half the time; what ends the interpreter at the start ends the crawl")
    parser.add_argument("--only", help="callables whose expression starts so; `packages`: those of numpy, pandas and matplotlib")
    parser.add_argument("--thorough", action="store_true", help="beside packages: look at what more calls give")
    parser.add_argument("--refused", action="store_true", help="also say which recorders no cell can make")
    parser.add_argument("--save", type=Path, help="a directory for the programs")
    options = parser.parse_args(arguments)
    chosen = {name: modules for name, modules in policies().items() if not options.policy or name in options.policy}
    failed = False

    def print(*values: Any) -> None:  # noqa: A001 - library code writes to the other one
        builtins.print(*values, file=sys.__stdout__, flush=True)

    for name, modules in chosen.items():
        begun = time.monotonic()
        planted = {name: holes.HOLES[name][0] for name in options.planted}
        if options.only == "packages":
            modules &= {*PACKAGES, "io"}
        crawl = Crawl(frozenset() if planted else modules, options.seed, planted, say=print, apart=not options.at_once, thorough=options.thorough)
        if only := packages.ONLY if options.only == "packages" else options.only:
            crawl.slices = [some for each in crawl.slices if (some := [name for name in each if name.startswith(only)])]
            crawl.only = only
        print(f"{name} on Python {sys.version.split()[0]}: {len(crawl.slices)} slices, {crawl.figures}")
        for refused in crawl.world.refused if options.refused else ():
            print(f"  refused: {refused}")
        seconds = options.seconds / len(chosen) if options.seconds else None
        if options.only != "packages":  # their C code does not survive recorders
            crawl.run(options.sessions if options.sessions or seconds else len(crawl.slices), seconds, options.steps)
        print(f"{name}: {crawl.figures}; {time.monotonic() - begun:.0f} s; {len(crawl.found)} findings")
        failed = failed or bool(crawl.found)
        for what, program in crawl.programs(options.shrink).items() if options.shrink else ():
            print(f"---- {what} ({crawl.found[what].where})\n{program}\n")
            if options.save:
                options.save.mkdir(parents=True, exist_ok=True)
                title = "".join(char if char.isalnum() else "-" for char in what)[:60]
                (options.save / f"{name}-{title}.py").write_text(f"# {what}\n# {crawl.found[what].where}\n{program}\n")
    return int(failed)
