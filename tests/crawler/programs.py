"""Whole cells at random: pieces of known attacks and of honest cells, and statements from a grammar, cut and spliced.

    python -m tests.crawler.programs --seconds 3600 --save DIRECTORY

Each runs in a session of its own, in a fork, through the real compiler and guards, and everything that it leaves is
judged as the crawler judges: what no cell may hold, shared state, code that ran while the result was built, an
interpreter that died, an exception of the guards that no cell should see.
"""

from __future__ import annotations

import argparse
import ast
import builtins
import copy
import io
import random
import signal
import sys
import time
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

from rlm_secure.guest.language import facades, guards, imports, library, names
from tests.bypasses import corpus
from tests.guest.attacks import ATTACKS
from tests.guest.honest import HONEST

from . import crawl, engine, recorders, replay
from .engine import in_fork
from .kinds import State

#: Cells that run in one fork: a session that was broken by one is not the next one's.
BATCH = 20
#: Words that attacks are made of.
WORDS = (
    *sorted(names.DEFINABLE), *recorders.POSED, "gi_frame", "f_globals", "tb_frame", "mro", "obj", "format", "maps", "args",
    "func", "register", "new_child", "copy", "default_factory", "_convert_", "_missing_", "_fields", "_make", "x", "value",
)  # fmt: skip
#: What an honest cell and an attack both reach for.
VALUES = (
    "rec", "Rec", "Rec()", "int", "type", "object", "1", "None", "'x'", "'__class__'", "[Rec]", "[rec, 1]", "(Rec, rec)",
    "{'x': rec}", "lambda *a, **k: Rec", "type(rec)", "super", "iter([rec])", "record", "helper", "type(record)", "vars(rec)",
    "collections.ChainMap", "collections.ChainMap(rec)", "collections.Counter", "types.MappingProxyType(Rec())", "typing.Type[int]",
    "enum.Enum", "dataclasses.dataclass", "functools.partial(Rec)", "operator.attrgetter('public')", "json.JSONEncoder",
    "dataclasses.field(default=1)", "answer", "property(helper)", "abc.ABC", "typing.NamedTuple", "typing.Generic", "statistics.mean",
)  # fmt: skip


@cache
def _members(name: str) -> tuple[str, ...]:
    if name in facades.NAMES:
        return facades.members(facades.load(name))
    return facades.members(library.load(name, guards.build_globals(imports.NAMES, print)))


class Grammar:
    """Random statements of cells."""

    def __init__(self, dice: random.Random, modules: list[str]) -> None:
        self.dice = dice
        self.modules = modules
        self.members = [f"{name}.{word}" for name in modules for word in _members(name)]

    def word(self) -> str:
        return self.dice.choice(WORDS)

    def value(self, depth: int = 0) -> str:
        dice = self.dice
        roll = dice.random()
        if roll < 0.45 or depth > 2:
            return dice.choice(VALUES)
        if roll < 0.6:
            return dice.choice(self.members)
        if roll < 0.75:
            return f"{dice.choice(self.members)}({self.values(depth)})"
        if roll < 0.8:
            return f"{self.value(depth + 1)}[{self.value(depth + 1)}]"
        if roll < 0.88:
            return f"getattr({self.value(depth + 1)}, {self.word()!r})"
        if roll < 0.92:
            return f"{self.value(depth + 1)} {dice.choice('+ - * / // % @ & | ^ == < in'.split())} {self.value(depth + 1)}"
        if roll < 0.96:
            return f"[x for x in {self.value(depth + 1)}][:3]"
        return f"'{{0.x}} {{0!r:>{{1}}}}'.format({self.values(depth)})"

    def values(self, depth: int = 0) -> str:
        return ", ".join(self.value(depth + 1) for _ in range(self.dice.choice((0, 1, 1, 1, 2, 2, 3))))

    def body(self, name: str) -> str:
        kept = "given[:2]" if name == "__exit__" else "given"  # without the traceback, which is closed as it is
        result = self.dice.choice((self.value(), "rec", "self", "given", "given[0]", f"keep({kept})", "super()." + name + "(*given)"))
        return f"    def {name}(self, *given, **named):\n        keep(('hook', (self, *given), named))\n        return {result}"

    def statement(self) -> str:
        dice = self.dice
        kind = dice.randrange(14)
        if kind == 0:
            bases = ", ".join(self.value(2) for _ in range(dice.choice((0, 1, 1, 2))))
            lines = [self.body(dice.choice(sorted(names.DEFINABLE))) for _ in range(dice.choice((1, 2, 4)))]
            lines += [f"    {dice.choice(('x', 'A', '_x', '__slots__', '__match_args__', self.word()))} = {self.value(2)}" for _ in range(dice.choice((0, 1, 2)))]
            lines += [f"    {dice.choice(('x', 'y', '_y'))}: {self.value(2)} = {self.value(2)}"] * dice.choice((0, 1))
            dice.shuffle(lines)
            decorator = f"@{dice.choice(('dataclasses.dataclass', 'functools.total_ordering', 'enum.unique', 'Rec', 'keep', 'dataclasses.dataclass(slots=True, frozen=True)'))}\n" if dice.random() < 0.4 else ""
            return f"{decorator}class C({bases}):\n" + "\n".join(lines) + "\nkeep(C)\nc = C()\nkeep(c)"
        if kind == 1:
            return f"match {self.value()}:\n    case {dice.choice(('C', 'Rec', 'object', 'dict', 'int'))}({dice.choice(('x', 'x, y', 'x=x', ''))}) as z:\n        keep(z)\n    case {{'x': q, **rest}}:\n        keep((q, rest))\n    case [p, *r]:\n        keep((p, r))"
        if kind == 2:
            return f"with {self.value()} as w:\n    keep(w)\n    raise ValueError({self.value()})"
        if kind == 3:
            return f"for i in {self.value()}:\n    keep(i)\n    break"
        if kind == 4:
            return f"del {dice.choice(('rec', 'answer', 'c'))}[{self.value()}]"
        if kind == 5:
            return f"setattr({self.value()}, {self.word()!r}, {self.value()})"
        if kind == 6:
            return f"answer['content'] = {self.value()}\nanswer['ready'] = {self.value()}"
        if kind == 7:
            return f"answer = {self.value()}"
        if kind == 8:
            return f"g = (keep(x) for x in {self.value()})\nkeep(g.{dice.choice(('send(None)', 'throw(ValueError)', 'close()'))})"
        if kind == 9:
            return f"x, *y = {self.value()}\nkeep((x, y))"
        if kind == 10:
            return f"@{self.value()}\ndef f(x: {self.value()} = {self.value()}) -> {self.value()}:\n    return x\nkeep(f)\nkeep(f({self.values()}))"
        return f"r = {self.value()}\nkeep(r)\nkeep([getattr(r, n, None) for n in ('args', 'name', 'value', 'func', 'default_factory', 'maps')])"

    def program(self) -> str:
        hooks = self.dice.sample(sorted(names.DEFINABLE - {"__new__", "__init__", "__setattr__", "__delattr__", "__init_subclass__", "__set_name__", "__class_getitem__"}), 12)
        head = "\n".join(f"import {name}" for name in self.modules)
        recorder = "class Rec:\n" + "\n".join(self.body(name).replace("super()." + name + "(*given)", "Rec") for name in hooks)
        lines = [_tried(self.statement()) for _ in range(self.dice.randint(2, 7))]
        return f"{head}\nLOOT = []\ndef keep(value=None):\n    if len(LOOT) < 200: LOOT.append(value)\n    return value\n{recorder}\nrec = Rec()\n" + "\n".join(lines)


def _tried(source: str) -> str:
    body = "\n".join(f"    {line}" for line in source.split("\n"))
    return f"try:\n{body}\nexcept Exception as error:\n    keep(error.args)"


class Programs:
    """Cells made of the grammar and of what is known."""

    def __init__(self, modules: frozenset[str], seed: int) -> None:
        self.modules = sorted(modules)
        self.seed = seed
        known = [*HONEST, *ATTACKS.values(), *(attack.source for attack in corpus.every())]
        self.trees = []
        for text in known:
            try:
                self.trees.append(ast.parse(text))
            except (SyntaxError, ValueError):
                continue
        self.statements = [statement for tree in self.trees for statement in tree.body]
        self.expressions = [
            node for tree in self.trees for node in ast.walk(tree)
            if isinstance(node, ast.Call | ast.Attribute | ast.Subscript | ast.Lambda | ast.GeneratorExp)
        ]  # fmt: skip

    def source(self, number: int) -> str:
        """The cell with that number: the same each time."""
        dice = random.Random(f"{self.seed}:{number}")
        grammar = Grammar(dice, self.modules)
        roll = dice.random()
        if roll < 0.45:
            return grammar.program()
        if roll < 0.75:
            tree = copy.deepcopy(dice.choice(self.trees))
            for _ in range(dice.choice((1, 2, 4))):
                self._mutate(dice, tree, grammar)
        else:  # one program with statements of others in it
            tree = copy.deepcopy(dice.choice(self.trees))
            if dice.random() < 0.5:
                try:
                    tree = ast.parse(grammar.program())
                except SyntaxError:
                    return grammar.program()
            for _ in range(dice.randint(1, 4)):
                tree.body.insert(dice.randrange(len(tree.body) + 1), copy.deepcopy(dice.choice(self.statements)))
        try:
            return ast.unparse(ast.fix_missing_locations(tree))
        except (ValueError, RecursionError, AttributeError):  # no tree of a program
            return "pass"

    def _mutate(self, dice: random.Random, tree: ast.Module, grammar: Grammar) -> None:
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.expr | ast.ClassDef | ast.FunctionDef)]
        if not nodes:
            return
        node: Any = dice.choice(nodes)
        if isinstance(node, ast.Attribute):
            node.attr = dice.choice(WORDS)
        elif isinstance(node, ast.Call) and node.args:
            node.args[dice.randrange(len(node.args))] = copy.deepcopy(dice.choice(self.expressions)) if dice.random() < 0.5 else _expression(grammar.value())
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            node.value = dice.choice(["", "{0.", "{x."]) + dice.choice(WORDS)
        elif isinstance(node, ast.ClassDef):
            node.bases = [*node.bases[:1], _expression(grammar.value(2))]
        elif isinstance(node, ast.FunctionDef):
            if dice.random() < 0.5:
                node.name = dice.choice(WORDS)
            else:
                node.body.append(ast.Return(_expression(grammar.value())))
        elif isinstance(node, ast.Subscript):
            node.slice = _expression(grammar.value())


def _expression(text: str) -> ast.expr:
    try:
        return ast.parse(text, mode="eval").body
    except SyntaxError:
        return ast.Constant(1)


class Fuzz:
    """Runs cells until the count or the time is used up."""

    def __init__(self, modules: frozenset[str], seed: int, say: Callable[[str], None]) -> None:
        facades.preload()
        library.read_all()
        signal.signal(signal.SIGALRM, engine.out_of_time)
        sys.unraisablehook = engine.unraisable
        sys.stdout = io.StringIO()
        self.modules, self.say = modules, say
        self.programs = Programs(modules, seed)
        self.found: dict[str, str] = {}
        self.ran = self.lost = 0
        self.ends: Counter[str] = Counter()

    def run(self, count: int | None, seconds: float | None) -> None:
        """Go on for so many cells, or so many seconds."""
        begun, number = time.monotonic(), 0
        while (count is None or number < count) and (seconds is None or time.monotonic() - begun < seconds):
            self.batch(range(number, number + BATCH))
            number += BATCH

    def batch(self, numbers: range) -> None:
        """Some cells, one after the other in one process; each alone where something was wrong that all may have done."""

        def work() -> list[Any]:
            told = []
            for number in numbers:
                engine.drop(f"{number}")
                told.append([number, *replay.judged(self.modules, self.programs.source(number), {}, alone=len(numbers) == 1)])
            return [told, state.changes() if len(numbers) > 1 else []]

        state = State({})
        engine.drop(f"{numbers[0]}", first=True)
        told = in_fork(work)
        if isinstance(told, list):
            rows, changed = told
            for number, *wrong in rows:
                self.ran += 1
                self._judge(number, wrong)
            if changed and any(f"shared state was changed: {name}" not in self.found for name in changed):
                for number in numbers:
                    self.batch(range(number, number + 1))
            return
        number = int(engine.last_words())
        self.lost += 1
        if isinstance(told, int):
            self._tell(number, f"the interpreter ended with signal {told}")
        elif isinstance(told, dict):
            self._tell(number, f"the judge failed: {told['broken'][-300:]}")
        if len(numbers) > 1:
            for each in numbers:
                if each != number:
                    self.batch(range(each, each + 1))

    def _judge(self, number: int, wrong: list[str]) -> None:
        for what in wrong:
            if not what.startswith("ended: "):
                self._tell(number, what)
                continue
            self.ends[what.split(":")[1].strip()] += 1
            if "SystemError" in what or ("InternalError" in what):
                self._tell(number, what)

    def _tell(self, number: int, what: str) -> None:
        if what not in self.found:
            self.found[what] = self.programs.source(number)
            self.say(f"FOUND: {what} (cell {number})")

    def shortest(self, what: str, seconds: float) -> str:
        """The cell without what it does not need."""
        begun = time.monotonic()
        died = "ended with signal" in what

        def wins(source: str) -> bool:
            if time.monotonic() - begun > seconds:
                raise TimeoutError
            told = in_fork(lambda: replay.judged(self.modules, source, {}, alone=True))
            return isinstance(told, int) if died else isinstance(told, list) and what in told

        source = self.found[what]
        return replay.shortened(source, wins) if wins(source) else f"# not seen again alone\n{source}"

    def __str__(self) -> str:
        return f"{self.ran} cells ran, {self.lost} batches lost, {len(self.found)} findings; ended by {dict(self.ends.most_common(8))}"


def main() -> int:
    """The command line; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.crawler.programs", description=__doc__)
    parser.add_argument("--policy", action="append", help="a shipped policy (default: each)")
    parser.add_argument("--seconds", type=float, help="in all")
    parser.add_argument("--count", type=int, default=None, help="cells for each policy (default: 2000, or until the time is up)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--shrink", type=float, default=20.0, help="seconds to spend on each finding's program")
    parser.add_argument("--save", type=Path, help="a directory for the programs")
    options = parser.parse_args()
    chosen = {name: modules for name, modules in crawl.policies().items() if not options.policy or name in options.policy}
    failed = False

    def say(text: str) -> None:
        builtins.print(text, file=sys.__stdout__, flush=True)

    for name, modules in chosen.items():
        fuzz = Fuzz(modules, options.seed, say)
        seconds = options.seconds / len(chosen) if options.seconds else None
        fuzz.run(options.count or (None if seconds else 2000), seconds)
        say(f"{name} on Python {sys.version.split()[0]}: {fuzz}")
        for what in fuzz.found if options.shrink else ():
            program = fuzz.shortest(what, options.shrink)
            say(f"---- {what}\n{program}\n")
            if options.save:
                options.save.mkdir(parents=True, exist_ok=True)
                title = "".join(char if char.isalnum() else "-" for char in what)[:60]
                (options.save / f"program-{name}-{title}.py").write_text(f"# {what}\n{program}\n")
        failed = failed or bool(fuzz.found)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
