"""The cost of the language layer: the same code with plain `exec`, in a cell, and in other executors, in one run.

`python -m benchmarks.language` prints the matrix of ratios and their geometric means; the single tables are ordinary
benchmarks. Stock RestrictedPython runs with the permissive guards that its documentation suggests (identity for items,
iteration and writes, safer_getattr for attributes). smolagents' executor and pydantic-monty are measured if they are
installed: `pip install smolagents pydantic-monty`. An executor that cannot run a piece of code has no figure for it.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import importlib.util
import io
import math
import operator
import sys
import textwrap
import time
import warnings
from collections.abc import Callable, Collection, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import RestrictedPython
from RestrictedPython import Guards as stock_guards

from benchmarks import runner
from benchmarks.runner import Case, benchmark
from rlm_secure.guest.language import compiler, facades, guards

PLAIN = "plain exec"
MODULES = ("collections", "dataclasses", "json", "math", "re")
CORPUS = Path(__file__).parents[1] / "tests" / "corpus" / "benign"

#: Each defines what it needs and then works for about one or two milliseconds in plain Python.
MICRO = {
    "arithmetic": """
total = 0
for i in range(30_000):
    total = total + i * 3 % 7
""",
    "augmented": """
def go(n):
    total = 0
    for i in range(n):
        total += i
    return total
go(40_000)
""",
    "attributes": """
class Point:
    def __init__(self, x, y):
        self.x = x
        self.y = y
def go(n):
    point = Point(1, 2)
    for i in range(n):
        point.x = point.y + i
        point.y = point.x - i
    return point.x
go(12_000)
""",
    "private-attributes": """
class Stack:
    def __init__(self):
        self._items = []
        self._size = 0
    def push(self, x):
        self._items.append(x)
        self._size += 1
    def pop(self):
        self._size -= 1
        return self._items.pop()
def go(n):
    stack = Stack()
    for i in range(n):
        stack.push(i)
        stack.pop()
go(4_000)
""",
    "items": """
def go(n):
    table = {}
    row = [0] * 16
    for i in range(n):
        row[i % 16] = i
        table[i % 100] = row[i % 7]
    return table[3]
go(12_000)
""",
    "counting": """
def go(n):
    seen = {}
    for i in range(n):
        seen[i % 50] = seen.get(i % 50, 0) + 1
    return seen
go(15_000)
""",
    "comprehensions": """
for i in range(60):
    squares = [x * x for x in range(500) if x % 2]
    table = {x: y for x, y in enumerate(squares)}
""",
    "calls": """
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
fib(18)
""",
    "methods": """
class Counter:
    def __init__(self):
        self.n = 0
    def hit(self, by):
        self.n = self.n + by
        return self
def go(n):
    counter = Counter()
    for i in range(n):
        counter.hit(i).hit(1)
go(6_000)
""",
    "strings": """
def go(n):
    out = []
    for i in range(n):
        word = 'Item %d' % i
        out.append(word.lower().replace('item', 'x').strip())
    return ' '.join(out).split()
go(5_000)
""",
    "formatting": """
def go(n):
    for i in range(n):
        text = f'{i:>6} {i / 3:.2f}'
        text = '{} {:>5}'.format(text, i)
go(3_000)
""",
    "unpacking": """
def go(n):
    a, b = 0, 1
    for i, (x, y) in enumerate([(1, 2)] * n):
        a, b = b, a + x - y
    return a
go(12_000)
""",
    "exceptions": """
def go(n):
    bad = 0
    for i in range(n):
        try:
            int('x' if i % 2 else '1')
        except ValueError:
            bad = bad + 1
    return bad
go(3_000)
""",
    "printing": """
for i in range(800):
    print('line', i)
""",
    "sorting": """
def go(n):
    pairs = [(i * 7919 % 1000, str(i)) for i in range(n)]
    for _ in range(8):
        best = sorted(pairs, key=lambda pair: (-pair[0], pair[1]))
    return best[:3]
go(300)
""",
    "generators": """
def evens(n):
    for i in range(n):
        if i % 2 == 0:
            yield i
def go(n):
    return sum(x * x for x in evens(n))
go(15_000)
""",
    "closures": """
def counter():
    count = 0
    def step(by):
        nonlocal count
        count += by
        return count
    return step
def go(n):
    step = counter()
    for i in range(n):
        step(i)
    return step(0)
go(15_000)
""",
}
#: Whole cells, as models write them; the context is a log of a thousand lines.
CELLS = {
    "cell-log-analysis": """
import re
from collections import Counter
pattern = re.compile(r'user=(\\w+) action=(\\w+) status=(\\d+)')
users = Counter()
errors = []
for number, line in enumerate(context.splitlines()):
    match = pattern.search(line)
    if not match:
        continue
    user, action, status = match.groups()
    users[user] += 1
    if int(status) >= 400:
        errors.append((number, user, action))
top = sorted(users.items(), key=lambda pair: (-pair[1], pair[0]))
print(top[:3], len(errors))
""",
    "cell-chunking": """
def chunk(text, size, overlap):
    chunks = []
    start = 0
    while start < len(text):
        chunks.append(text[start:start + size])
        start += size - overlap
    return chunks
scores = {}
for index, part in enumerate(chunk(context, 400, 50)):
    words = part.lower().split()
    scores[index] = sum(1 for word in words if word.startswith('user='))
best = max(scores, key=lambda index: scores[index])
print(best, scores[best])
""",
    "cell-records": """
from dataclasses import dataclass, field

@dataclass
class Session:
    user: str
    events: list = field(default_factory=list)
    _bytes: int = 0

    def add(self, action, size):
        self.events.append(action)
        self._bytes += size

    @property
    def mean(self):
        return self._bytes / max(1, len(self.events))

sessions = {}
for line in context.splitlines():
    fields = dict(part.split('=') for part in line.split() if '=' in part)
    user = fields['user']
    if user not in sessions:
        sessions[user] = Session(user)
    sessions[user].add(fields['action'], int(fields['bytes']))
for session in sorted(sessions.values(), key=lambda s: s.user):
    print(f'{session.user:<8} {len(session.events):>5} {session.mean:8.2f}')
""",
}
#: Work on many small objects.
KERNELS = {
    "linked-list": """
class Node:
    def __init__(self, value):
        self.value = value
        self.next = None
class List:
    def __init__(self):
        self.head = None
        self.tail = None
        self.size = 0
    def add(self, value):
        node = Node(value)
        if self.tail is None:
            self.head = node
        else:
            self.tail.next = node
        self.tail = node
        self.size += 1
    def reverse(self):
        before, node = None, self.head
        while node is not None:
            after = node.next
            node.next = before
            before, node = node, after
        self.head, self.tail = self.tail, self.head
def go(n):
    values = List()
    for i in range(n):
        values.add(i)
    values.reverse()
    total, node = 0, values.head
    while node is not None:
        total += node.value
        node = node.next
    return total
go(1_500)
""",
    "tree-insert": """
class Tree:
    def __init__(self, key):
        self.key = key
        self.left = None
        self.right = None
        self.count = 1
def insert(root, key):
    node = root
    while True:
        node.count += 1
        if key < node.key:
            if node.left is None:
                node.left = Tree(key)
                return
            node = node.left
        else:
            if node.right is None:
                node.right = Tree(key)
                return
            node = node.right
def go(n):
    root = Tree(n // 2)
    for i in range(n):
        insert(root, i * 7919 % n)
    return root.count
go(500)
""",
    "matrix-of-objects": """
class Cell:
    def __init__(self, value):
        self.value = value
        self.seen = False
def go(n):
    grid = [[Cell(x * y) for x in range(n)] for y in range(n)]
    for _ in range(3):
        for y in range(1, n):
            for x in range(1, n):
                grid[y][x].value = (grid[y - 1][x].value + grid[y][x - 1].value) % 1009
                grid[y][x].seen = True
    return sum(cell.value for row in grid for cell in row)
go(30)
""",
    "union-find": """
class Item:
    def __init__(self, name):
        self.name = name
        self.parent = self
        self.rank = 0
def find(item):
    while item.parent is not item:
        item.parent = item.parent.parent
        item = item.parent
    return item
def union(a, b):
    a, b = find(a), find(b)
    if a is b:
        return
    if a.rank < b.rank:
        a, b = b, a
    b.parent = a
    if a.rank == b.rank:
        a.rank += 1
def go(n):
    items = [Item(i) for i in range(n)]
    for i in range(2 * n):
        union(items[i * 31 % n], items[i * 17 % n])
    return len({find(item).name for item in items})
go(800)
""",
    "state-machine": """
class Machine:
    def __init__(self):
        self.state = 'idle'
        self.count = 0
        self.log = {}
    def step(self, event):
        if self.state == 'idle':
            if event == 0:
                self.state = 'run'
        elif self.state == 'run':
            self.count += 1
            if event > 5:
                self.state = 'stop'
        else:
            self.state = 'idle'
        self.log[self.state] = self.log.get(self.state, 0) + 1
def go(n):
    machine = Machine()
    for i in range(n):
        machine.step(i % 8)
    return machine.count, machine.log
go(5_000)
""",
    "particles": """
class Particle:
    def __init__(self, x, speed):
        self.x = x
        self.speed = speed
        self._hits = 0
    def move(self, by):
        self.x += self.speed * by
        if self.x > 100:
            self.x -= 100
            self._hits += 1
def go(n):
    particles = [Particle(i, i % 7 + 1) for i in range(50)]
    for _ in range(n):
        for particle in particles:
            particle.move(0.5)
            particle.speed = particle.speed * 0.99 + 0.01
    return sum(particle._hits for particle in particles)
go(80)
""",
}
#: Statements on attributes and names of types, each measured at the top of a cell and in a function.
CONSTRUCTS = {
    "store": "p.x = i",
    "store-add": "p.x += 1",
    "store-path": "a.b.x = i",
    "store-item": "ps[0].x = i",
    "store-self": "p.put(i)",
    "private": "p._y",
    "private-path": "a.b._y",
    "type": "type(p)",
    "type-path": "type(a.b)",
    "class-name": "p.__class__.__name__",
    "type-name": "type(p).__name__",
    "types-in-comprehension": "[type(q).__name__ for q in ps]",
    "getattr": "getattr(p, 'x')",
    "getattr-default": "getattr(p, 'z', 1)",
    "getattr-variable": "getattr(p, name)",
    "setattr": "setattr(p, 'x', i)",
    "hasattr": "hasattr(p, 'x')",
    "format": "template.format(i, i)",
    "instance": "P()",
}
_CONSTRUCT = """
class P:
    def __init__(self):
        self.x = 1
        self._y = 2
    def put(self, value):
        self.x = value
"""
_HELD = """
p, a, ps, name, template = P(), P(), [P(), P()], 'x', '{} {:>3}'
a.b = P()
"""


def _construct(statement: str, *, in_function: bool) -> str:
    loop = f"for i in range(2_000):\n    {statement}\n"
    if not in_function:
        return _CONSTRUCT + _HELD + loop
    return _CONSTRUCT + "def go():\n" + textwrap.indent(_HELD + loop, "    ") + "go()\n"


#: The statement, and the loop around it, as in the cells above.
AT_TOP = {f"{name}-at-top": _construct(each, in_function=False) for name, each in CONSTRUCTS.items()}
IN_FUNCTION = {f"{name}-in-function": _construct(each, in_function=True) for name, each in CONSTRUCTS.items()}
SOURCES = {**MICRO, **CELLS}
ALL = {**SOURCES, **KERNELS, **IN_FUNCTION, **AT_TOP}
CONTEXT = "\n".join(
    f"10:{i % 60:02d} user=u{i * 7 % 13} action=a{i % 5} status={200 + 200 * (i % 11 == 0)} bytes={i * 37 % 4096}"
    for i in range(1_000)
)
TWENTY_LINES = (CORPUS / "log_sessions.py").read_text(encoding="utf-8")

Run = Callable[[], Any]


class Timed:
    """Runs code and keeps the CPU seconds of the last run, which exclude other work of the machine."""

    def __init__(self, run: Run) -> None:
        self.run = run
        self.seconds = 0.0

    def __call__(self) -> None:
        begun = time.process_time()
        self.run()
        self.seconds = time.process_time() - begun

    def case(self, name: str, units: int = 1) -> Case:
        return Case(name, self, units, value=lambda: self.seconds)


def plain(source: str) -> Run:
    """A function that runs the compiled code in a namespace of its own, with every builtin."""
    code = compile(source, "<cell>", "exec", dont_inherit=True)
    space = {"__name__": "__main__", "context": CONTEXT, "print": partial(print, file=io.StringIO())}
    return lambda: exec(code, space)


class _OneTest(ast.NodeTransformer):
    """Puts one test of the object's class before each store to an attribute."""

    def visit_Assign(self, node: ast.Assign) -> Any:
        return self._tested(node, node.targets)

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        return self._tested(node, [node.target])

    def _tested(self, node: ast.stmt, targets: Sequence[ast.expr]) -> Any:
        before: list[ast.stmt] = []
        for target in targets:
            if isinstance(target, ast.Attribute):
                kept = f"_object{len(before)}"
                before += ast.parse(f"if ({kept} := {ast.unparse(target.value)}).__class__ is None: pass").body
                target.value = ast.Name(kept, ast.Load())
        return [*before, node]


def tested(source: str) -> Run:
    """Plain Python with one test of a class before each store to an attribute: no guard of stores can cost less."""
    tree = ast.fix_missing_locations(_OneTest().visit(ast.parse(source)))
    return plain(ast.unparse(tree))


def cell(source: str) -> Run:
    """A function that runs the code, compiled by the language layer, in a session's namespace."""
    code = compiler.compile_cell(source, source_bytes=1 << 20, ast_nodes=1 << 20)
    space = guards.build_globals(frozenset(MODULES), print)
    space["context"] = CONTEXT
    sink = io.StringIO()

    def run() -> None:
        with contextlib.redirect_stdout(sink):
            compiler.run(code, space)

    return run


def stock(source: str) -> Run | None:
    """A function that runs the code in unmodified RestrictedPython; None if it refuses the code."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        result = RestrictedPython.compile_restricted_exec(source)
    if result.code is None:
        return None

    class Printer:
        def __init__(self, _getattr: object = None) -> None:
            self._sink = io.StringIO()

        def _call_print(self, *values: object, **options: Any) -> None:
            print(*values, file=self._sink, **options)

    more = (all, any, dict, enumerate, iter, list, map, max, min, next, set, sorted, sum, tuple, zip)
    table = {**RestrictedPython.safe_builtins, **{each.__name__: each for each in more}, "__import__": __import__}
    space = {
        "__builtins__": table,
        "__name__": "__main__",
        "__metaclass__": type,
        "_getattr_": stock_guards.safer_getattr,
        "_getitem_": operator.getitem,
        "_getiter_": iter,
        "_write_": lambda value: value,
        "_inplacevar_": lambda op, left, right: {"+=": operator.iadd, "-=": operator.isub}[op](left, right),
        "_unpack_sequence_": stock_guards.guarded_unpack_sequence,
        "_iter_unpack_sequence_": stock_guards.guarded_iter_unpack_sequence,
        "_apply_": lambda function, *values, **options: function(*values, **options),
        "_print_": Printer,
        "context": CONTEXT,
    }
    return lambda: exec(result.code, space)


def smolagents(source: str) -> Run | None:
    """A function that runs the code in smolagents' syntax tree interpreter, which parses it at every run."""
    if importlib.util.find_spec("smolagents") is None:
        return None
    from smolagents.local_python_executor import LocalPythonExecutor

    executor = LocalPythonExecutor(list(MODULES), max_print_outputs_length=1_000, timeout_seconds=None)
    executor.send_variables({"context": CONTEXT})
    executor.send_tools({})
    return lambda: executor(source)


def monty(source: str) -> Run | None:
    """A function that runs the code in pydantic-monty's interpreter, which has its own process."""
    if importlib.util.find_spec("pydantic_monty") is None:
        return None
    import pydantic_monty

    session = pydantic_monty.Monty().__enter__().checkout().__enter__()
    session.feed_run("context = text", inputs={"text": CONTEXT})
    return lambda: session.feed_run(source, print_callback=lambda *_: None)


EXECUTORS: dict[str, Callable[[str], Run | None]] = {
    PLAIN: plain,
    "one class test a store": tested,
    "cell": cell,
    "stock RestrictedPython": stock,
    "smolagents": smolagents,
    "pydantic-monty": monty,
}


def cases(source: str, executors: Collection[str] = EXECUTORS.keys()) -> Iterator[Sequence[Case]]:
    """One case for each of these executors that can run `source`."""
    made = []
    for name, executor in EXECUTORS.items():
        if name not in executors:
            continue
        try:
            run = executor(source)
            if run is not None:
                run()
        except Exception as error:
            if executor in (plain, tested, cell):
                raise
            print(f"  {name} cannot run this: {type(error).__name__}: {str(error)[:100]}", file=sys.stderr)
            continue
        if run is not None:
            # monty computes in its own process, so its wall-clock time is measured instead of our CPU time.
            made.append(Case(name, run) if executor is monty else Timed(run).case(name))
    yield made


for _name, _source in ALL.items():
    benchmark(f"language-{_name}", "run time of the language layer")(partial(cases, _source))


@benchmark("language-compile", f"compile a cell of {TWENTY_LINES.count(chr(10))} lines")
def compile_time() -> Iterator[Sequence[Case]]:
    def builtin() -> None:
        for _ in range(20):
            compile(TWENTY_LINES, "<cell>", "exec", dont_inherit=True)

    def ours() -> None:
        for _ in range(20):
            compiler.compile_cell(TWENTY_LINES, source_bytes=1 << 20, ast_nodes=1 << 20)

    # RestrictedPython refuses parts of this cell, which takes no longer than accepting them.
    def restricted() -> None:
        for _ in range(20):
            RestrictedPython.compile_restricted_exec(TWENTY_LINES)

    yield [
        Timed(builtin).case("the builtin compiler", 20),
        Timed(ours).case("cell", 20),
        Timed(restricted).case("stock RestrictedPython", 20),
    ]


def geometric_mean(values: Sequence[float]) -> float:
    """exp of the mean logarithm."""
    return math.exp(sum(map(math.log, values)) / len(values))


def main(arguments: Sequence[str] | None = None) -> int:
    """Print ratios to plain exec, one row for each piece of code, and geometric means."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.language", description=main.__doc__)
    parser.add_argument("--smoke", action="store_true", help="run each case twice, only to see that it works")
    smoke = parser.parse_args(arguments).smoke
    facades.preload()
    ratios: dict[str, dict[str, float]] = {}
    for name, source in ALL.items():
        chosen = runner.Benchmark(name, "", partial(cases, source))
        ratios[name] = {line.case: line.ratio for line in runner.measure(chosen, smoke=smoke)}
    others = [name for name in EXECUTORS if name != PLAIN and any(name in row for row in ratios.values())]
    print(f"{'x plain exec':<32}" + "".join(f"{name:>24}" for name in others))
    for name, row in ratios.items():
        figures = [f"{row[each]:.2f}" if each in row else "-" for each in others]
        print(f"{name:<32}" + "".join(f"{figure:>24}" for figure in figures))
    groups = {
        "micro": MICRO, "cells": CELLS, "micro and cells": SOURCES, "kernels": KERNELS,
        "in a function": IN_FUNCTION, "at the top": AT_TOP,
    }  # fmt: skip
    for title, group in groups.items():
        means = [
            geometric_mean([ratios[name][each] for name in group if each in ratios[name]] or [math.nan])
            for each in others
        ]
        print(f"{'geomean, ' + title:<32}" + "".join(f"{mean:>24.2f}" for mean in means))
    compiled = runner.measure(runner.REGISTRY["language-compile"], smoke=smoke)
    print(runner.show(runner.REGISTRY["language-compile"], compiled))
    return 0


if __name__ == "__main__":
    sys.exit(main())
