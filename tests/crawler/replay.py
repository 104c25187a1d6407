"""From a finding to a cell that anybody can run: its calls written out, and everything taken away that it does not need."""

from __future__ import annotations

import ast
import sys
import time
from collections.abc import Callable, Iterable
from typing import Any

from rlm_secure.guest.language import compiler, facades, guards, names
from tests.bypasses import host

from . import engine, recorders
from .engine import Found, Reach, World, in_fork, write
from .kinds import Kinds, State

HEAD = """
LOOT = []
def note(*given):
    LOOT.append(given)
picks = []
def pick(hook, given, named):
    LOOT.append((hook, given, named))
    if picks:
        return picks.pop(0)(given)
    return FIT.get(hook, ANY)[0](given)
def go(thunk, *answers):
    picks[:] = answers
    try:
        result = thunk()
        LOOT.append(result)
        try:
            is_iterator = result.__next__
        except Exception:
            is_iterator = None
        if hasattr(result, "__next__"):
            LOOT.append(drain(result))
    except Exception as error:
        result = error
        LOOT.append(error.args)
    picks[:] = []
    return result
"""


class Replay:
    """Programs for findings in one world."""

    def __init__(self, world: World, reach: Reach) -> None:
        self._world, self._reach = world, reach
        self._tables = _tables()
        self._cells = [*world.preamble]

    def program(self, found: Found, wanted: Iterable[int], *, lean: bool = False) -> str:
        """A cell that makes the calls `wanted` of those that led to `found`; `lean` without what they do not name."""
        lines = []
        for number in wanted:
            step = found.steps[number]
            picks = found.picks[number] if number < len(found.picks) else []
            args = [write(each) for each in step.args] + [f"{name}={write(each)}" for name, each in step.named]
            answers = [self._tables.get(hook, self._tables["ANY"])[index] for hook, index in picks]
            thunk = f"lambda: {write(step.function)}({', '.join(args)})"
            lines.append(f"v{number} = go({', '.join([thunk, *answers])})")
        cells, head = self._cells, HEAD
        if lean:
            head = HEAD.replace("FIT.get(hook, ANY)[0](given)", "None")
            cells = _used(cells, "\n".join([*lines, head]))
        return "\n".join([*cells, *([] if recorders.CORE in cells else [recorders.CORE]), head, *lines])

    def judge(self, source: str) -> list[str]:
        """What is wrong after `source` ran as a cell of a new session, in a process of its own."""
        told = in_fork(lambda: judged(self._world.modules, source, self._world.planted))
        return told if type(told) is list else [f"the interpreter ended with signal {told}"] if told else []

    def shortest(self, found: Found, seconds: float) -> str:
        """The shortest cell that still leads there, or the longest one with a remark when none was seen to."""
        begun = time.monotonic()
        key = found.what.partition("(")[0]

        def wins(source: str) -> bool:
            if time.monotonic() - begun > seconds:
                raise TimeoutError
            return any(each.partition("(")[0] == key for each in self.judge(source))

        if not found.steps:
            return f"# {found.where}"
        try:
            return self._shortest(found, wins)
        except TimeoutError:
            return f"# found after {len(found.steps)} calls; there was no time to find a short cell; the last call was:\n# {engine.line(found.steps[-1])}"

    def _shortest(self, found: Found, wins: Callable[[str], bool]) -> str:
        numbers = _needed(found, [len(found.steps) - 1])
        if wins(lean := self.program(found, numbers, lean=True)):
            return shortened(lean, wins)
        if not wins(self.program(found, numbers)):
            numbers = list(range(len(found.steps)))
            if not wins(self.program(found, numbers)):
                return "# not seen again when replayed\n" + self.program(found, [len(found.steps) - 1]).split("\n")[-1]
            last = numbers[-1:]
            numbers = _fewer(numbers, lambda some: wins(self.program(found, _needed(found, some))))
            numbers = _needed(found, numbers) if numbers else last
        lean = self.program(found, numbers, lean=True)
        return shortened(lean if wins(lean) else self.program(found, numbers), wins)


_watched: list[World] = []


def _audit(event: str, args: tuple[Any, ...]) -> None:
    if _watched:
        _watched[-1]._audit(event, args)


engine.UNDISTURBED.add(_audit.__code__)


def judged(modules: frozenset[str], source: str, planted: dict[str, Any], *, alone: bool = True) -> list[str]:
    """Run `source` as a cell, and look at everything that it leaves; at shared state too, where it is `alone`."""
    world = World.__new__(World)
    world.out, world.complaints, world.running, world.building = None, [], False, False
    space = guards.build_globals(modules, lambda *values, **options: None)
    space.update(host.names(), **planted)
    for name in ("stop", "CANARY"):
        del space[name]
    world.space, world.kinds = space, Kinds(space)
    if not _watched:
        sys.addaudithook(_audit)
    _watched[:] = [world]
    before = State(space) if alone else None
    built: list[str] = []
    try:
        code = compiler.compile_cell(source, source_bytes=1 << 20, ast_nodes=200_000)
        world.running = True
        with engine.alarm(3):
            engine._ringing = True
            compiler.run(code, space)
    except BaseException as error:
        built.append(f"ended: {type(error).__name__}: {error}"[:200])
    finally:
        world.running = engine._ringing = False
    loot = space.get("LOOT", [])
    kinds = world.kinds
    found = [what for what, _ in world.complaints]
    guard = vars(space["__builtins__"])["getattr"]
    world.getattr = guard
    met: set[Any] = set()
    for name, value in list(space.items()):
        if guards.is_internal(name) or name == "LOOT":
            continue
        if why := kinds.complaint(value):
            found.append(why)
    loot = loot if type(loot) is list else [loot]
    for each in list(loot):
        if type(each) is tuple and len(each) == 3 and type(each[0]) is str and type(each[1]) is tuple and type(each[2]) is dict:
            if why := kinds.given(*each):
                found.append(why)
            inner = list(each[1])
        else:
            if why := kinds.complaint(each):
                found.append(why)
            inner = [each]
        for value in inner:
            kind = type(value)
            if kind in met or kind in engine._LEAVES:
                continue
            met.add(kind)
            for _, read in world.readable(value):
                if why := kinds.complaint(read, 2):
                    found.append(why)
    length = len(loot)
    for name, value in list(space.items()):
        if not guards.is_internal(name):
            world.building = False
            engine.World.described(world, value)
            if len(loot) > length:
                found.append(f"code of the cell ran while its result was built: {loot[-1][0] if type(loot[-1]) is tuple else '?'}")
                length = len(loot)
    if before is not None:
        found += [f"shared state was changed: {name}" for name in before.changes()]
    return found + built


def _used(cells: list[str], text: str) -> list[str]:
    """Those cells that bind what `text` names, or what they themselves name."""
    bound: list[set[str]] = []
    named: list[set[str]] = []
    for source in [*cells, text]:
        nodes = list(ast.walk(ast.parse(source)))
        bound.append(
            {node.name for node in nodes if isinstance(node, ast.ClassDef | ast.FunctionDef)}
            | {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
            | {alias.name.partition(".")[0] for node in nodes if isinstance(node, ast.Import) for alias in node.names}
        )
        named.append(
            {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)}
            | {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}
        )
    wanted, kept = named.pop(), [False] * len(cells)
    grown = True
    while grown:
        grown = False
        for at in range(len(cells)):
            if not kept[at] and bound[at] & wanted - {"each", "method"}:
                kept[at] = grown = True
                wanted |= named[at]
    return [source for source, keep in zip(cells, kept, strict=True) if keep]


def _needed(found: Found, numbers: list[int]) -> list[int]:
    """Those steps, and the ones whose results they use."""
    needed, todo = set(), list(numbers)

    def walk(spec: Any) -> None:
        if isinstance(spec, tuple):
            if len(spec) == 2 and spec[0] == "v" and isinstance(spec[1], int):
                todo.append(spec[1])
            for each in spec:
                walk(each)

    while todo:
        number = todo.pop()
        if number not in needed:
            needed.add(number)
            step = found.steps[number]
            walk((step.function, step.args, step.named))
    return sorted(needed)


def _fewer(items: list[Any], wins: Callable[[list[Any]], bool]) -> list[Any]:
    """The items without which `wins` fails, by halves (ddmin)."""
    size = max(len(items) // 2, 1)
    while True:
        at, shrunk = 0, False
        while at < len(items):
            fewer = items[:at] + items[at + size :]
            if len(fewer) < len(items) and wins(fewer):
                items, shrunk = fewer, True
            else:
                at += size
        if size == 1 and not shrunk:
            return items
        size = max(size // 2, 1)


def shortened(source: str, wins: Callable[[str], bool]) -> str:
    """`source` without the statements that `wins` can do without: of the cell, then of its classes and functions."""
    tree, best = ast.parse(source), [source]

    def still() -> bool:
        text = ast.unparse(ast.fix_missing_locations(tree))
        if won := wins(text):
            best[0] = text
        return won

    def attempt(holder: Any, name: str, first: int = 0) -> None:
        whole = list(getattr(holder, name))
        empty = [ast.Pass()] if name == "body" and holder is not tree else []

        def put(some: list[Any]) -> None:
            setattr(holder, name, [*whole[:first], *some] or empty)

        def holds(some: list[Any]) -> bool:
            put(some)
            return still()

        if whole[first:]:
            put(_fewer(whole[first:], holds))

    try:
        attempt(tree, "body")
        for node in list(ast.walk(tree)):
            if isinstance(node, ast.ClassDef) or (isinstance(node, ast.FunctionDef) and len(node.body) > 1):
                attempt(node, "body")
        for node in list(ast.walk(tree)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "go":
                attempt(node, "args", 1)
    except TimeoutError:
        pass
    return best[0]


def _tables() -> dict[str, list[str]]:
    """hook -> the source of each answer, as recorders.ANSWERS lists them."""
    named: dict[str, list[str]] = {}
    tables: dict[str, list[str]] = {}
    for statement in ast.parse(recorders.ANSWERS).body:
        assert isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name)
        title, value = statement.targets[0].id, statement.value
        if title == "FIT":
            assert isinstance(value, ast.Dict)
            for key, table in zip(value.keys, value.values, strict=True):
                assert isinstance(key, ast.Constant) and isinstance(table, ast.Name)
                tables[str(key.value)] = named[table.id]
        elif isinstance(value, ast.Tuple) and title != "WORDS":
            named[title] = [ast.unparse(each) for each in value.elts]
        elif title == "LOOKUPS":
            named[title] = ["lambda given: fail(AttributeError('x'))", *named["ANY"]]
        elif title == "TEXTS":
            words = next(
                ast.literal_eval(each.value)
                for each in ast.parse(recorders.ANSWERS).body
                if isinstance(each, ast.Assign) and isinstance(each.targets[0], ast.Name) and each.targets[0].id == "WORDS"
            )
            named[title] = [f"lambda given: {word!r}" for word in words] + ["lambda given: text", "lambda given: rec"]
    tables["ANY"] = named["ANY"]
    return tables


assert facades and names
