"""Every regular expression of the package, and texts on which it would take long if it could.

The list is made from the source: each use of `re`, with its text where that stands there or in the module. The texts
are made from the expression itself: for each part that repeats, what leads there, a long run of what it takes, and an
end that does not fit; and long runs of what begins a match.
"""

from __future__ import annotations

import ast
import importlib
import re
import re._compiler as compiler  # what `re` itself compiles trees with
import re._parser as parser  # what `re` itself parses with
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import rlm_secure

PACKAGE = Path(rlm_secure.__file__).parent
#: Functions of `re` that take an expression first.
TAKE = frozenset({"compile", "match", "fullmatch", "search", "sub", "subn", "split", "findall", "finditer"})
#: How a compiled expression is used.
USES = TAKE - {"compile"}
#: What one part of an expression is tried with, at most; and one expression.
_UNITS, _TEXTS = 12, 900
_REPEATS = (parser.MAX_REPEAT, parser.MIN_REPEAT, parser.POSSESSIVE_REPEAT)
_ORDINARY = "aA0 \t\n\r_-.:/\\\"'`~([{<=,;!#|+*@$\x00\x1b\x7f\u00e9"


@dataclass(frozen=True)
class Found:
    """One expression: where it is used, its text where the source says it, and how it is used."""

    place: str
    line: int
    text: str | bytes | None
    flags: int = 0
    uses: frozenset[str] = field(default_factory=frozenset)

    def compiled(self) -> re.Pattern[Any]:
        """It, compiled."""
        assert self.text is not None
        return re.compile(self.text, self.flags)


def sources() -> Iterator[tuple[str, str]]:
    """The path of every module within the package, and its text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")


def module_of(path: str) -> Any:
    """The module at a path within the package."""
    name = f"rlm_secure.{path.removesuffix('.py').replace('/', '.')}".removesuffix(".__init__")
    return importlib.import_module(name)


def enclosing(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Every node with the name of the function and class that it is in."""

    def walk(node: ast.AST, name: str) -> Iterator[tuple[str, ast.AST]]:
        for child in ast.iter_child_nodes(node):
            inner = name
            if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                inner = f"{name}.{child.name}" if name else child.name
            yield inner, child
            yield from walk(child, inner)

    yield from walk(tree, "")


def found(path: str, source: str) -> Iterator[Found]:
    """Every use of `re` in a module."""
    tree = ast.parse(source)
    names = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.Import)
        for alias in node.names
        if alias.name == "re"
    }
    direct = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "re"
        for alias in node.names
    }
    kept = {}  # the compiling call, and the name that it gets
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if targets and isinstance(targets[0], ast.Name):
            kept[id(node.value)] = targets[0].id
    for where, node in enclosing(tree):
        if not isinstance(node, ast.Call) or not node.args:
            continue
        function = node.func
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id in names:
            called = function.attr
        elif isinstance(function, ast.Name) and function.id in direct:
            called = direct[function.id]
        else:
            continue
        if called not in TAKE:
            continue
        name = kept.get(id(node), "")
        uses = frozenset({called}) if called != "compile" else frozenset(_uses(tree, name)) if name else frozenset()
        uses = uses & USES or frozenset({"search", "fullmatch"})  # kept, and used where the source does not tell
        place = f"{path}:{name or where or 'module'}"
        text, flags = _said(node, path)
        yield Found(place, node.lineno, text, flags, uses)


def _uses(tree: ast.Module, name: str) -> Iterator[str]:
    """How an expression that has a name in its module is used there, by functions that it is handed to as well."""
    called = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == name:
            called.add(id(node.value))
            if node.attr in USES:
                yield node.attr
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id == name and isinstance(node.ctx, ast.Load) and id(node) not in called:
            yield from _uses_of_parameters(tree)


def _uses_of_parameters(tree: ast.Module) -> Iterator[str]:
    """How functions use the expressions that they are given."""
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef):
            taken = {
                each.arg for each in function.args.args if each.annotation and "Pattern" in ast.unparse(each.annotation)
            }
            for node in ast.walk(function):
                if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in taken:
                    yield node.attr


def _said(call: ast.Call, path: str) -> tuple[str | bytes | None, int]:
    """The text and flags of an expression, where constants of the module say them."""
    flag = [each.value for each in call.keywords if each.arg == "flags"]
    if call.func.attr == "compile" if isinstance(call.func, ast.Attribute) else True:
        flag += call.args[1:2]
    elif isinstance(call.func, ast.Attribute):
        flag += call.args[{"sub": 4, "subn": 4, "split": 3}.get(call.func.attr, 2) :][:1]
    try:
        text = ast.literal_eval(call.args[0])
    except ValueError:
        text = _evaluated(call.args[0], path)
    flags = _evaluated(flag[0], path) if flag else 0
    return (text if isinstance(text, str | bytes) else None), int(flags or 0)


def _evaluated(node: ast.expr, path: str) -> Any:
    code = compile(ast.Expression(node), path, "eval")
    try:
        return eval(code, {"re": re, **vars(module_of(path))})  # our own source, and only what a module says of itself
    except NameError:
        return None  # made of what a function is given


# -- texts ---------------------------------------------------------------------------------------


def hostile(text: str | bytes, flags: int = 0) -> Iterator[Callable[[int], str | bytes]]:
    """For an expression: functions that make a text of about that many characters."""
    raw = isinstance(text, bytes)
    plain = text.decode("latin-1") if isinstance(text, bytes) else text
    tree = parser.parse(plain, flags & ~re.ASCII if raw else flags)
    literals = "".join(dict.fromkeys(_literals(tree)))
    alphabet = "".join(dict.fromkeys(literals + _ORDINARY))
    seen = set()
    for lead, unit, tails in islice(_runs(tree, alphabet), _TEXTS):
        for tail in tails:
            if unit and (lead, unit, tail) not in seen:
                seen.add((lead, unit, tail))
                yield _maker(lead, unit, tail, raw)


def _maker(lead: str, unit: str, tail: str, raw: bool) -> Callable[[int], str | bytes]:
    def make(size: int) -> str | bytes:
        text = lead + unit * max(size // len(unit), 1) + tail
        return text.encode("latin-1", "replace") if raw else text

    make.__doc__ = f"{lead!r} + {unit!r} * n + {tail!r}"
    return make


def _literals(tree: Any) -> Iterator[str]:
    for op, given in tree:
        if op in (parser.LITERAL, parser.NOT_LITERAL):
            yield chr(given)
        elif op is parser.RANGE:
            yield from map(chr, given)
        elif op is parser.IN:
            yield from _literals(given)
        else:
            for part in _parts(op, given):
                yield from _literals(part)


def _parts(op: Any, given: Any) -> Iterable[Any]:
    """The trees within a node."""
    if op is parser.BRANCH:
        return given[1]
    if op is parser.SUBPATTERN:
        return (given[3],)
    if op in _REPEATS:
        return (given[2],)
    if op is parser.ATOMIC_GROUP:
        return (given,)
    if op in (parser.ASSERT, parser.ASSERT_NOT):
        return (given[1],)
    if op is parser.GROUPREF_EXISTS:
        return [each for each in given[1:] if each]
    return ()


def _taken(state: Any, item: Any, alphabet: str) -> str:
    """The characters of `alphabet` that one item takes."""
    one = compiler.compile(parser.SubPattern(state, [item]), 0)
    return "".join(each for each in alphabet if one.fullmatch(each))


def _sample(tree: Any, alphabet: str) -> str:
    """A short text that it takes, as far as that can be told without trying."""
    said = ""
    for op, given in tree:
        if op is parser.LITERAL:
            said += chr(given)
        elif op in (parser.IN, parser.NOT_LITERAL, parser.ANY):
            said += _taken(tree.state, (op, given), alphabet)[:1]
        elif op in _REPEATS:
            said += _sample(given[2], alphabet) * min(given[0], 64)
        elif op not in (parser.ASSERT, parser.ASSERT_NOT):
            said += next((_sample(part, alphabet) for part in _parts(op, given)), "")
    return said


def _units(tree: Any, alphabet: str) -> Iterator[str]:
    """Short texts that it takes, different ways through it."""
    if len(tree) == 1 and tree[0][0] in (parser.IN, parser.NOT_LITERAL, parser.ANY, parser.LITERAL):
        yield from _taken(tree.state, tree[0], alphabet)
        return
    yield _sample(tree, alphabet)
    for index, (op, given) in enumerate(tree):
        before, after = _sample(tree[:index], alphabet), _sample(tree[index + 1 :], alphabet)
        if op is parser.IN:
            for each in _taken(tree.state, (op, given), alphabet)[:3]:
                yield before + each + after
        for part in _parts(op, given):
            for each in islice(_units(part, alphabet), 4):
                yield before + each * (max(given[0], 1) if op in _REPEATS else 1) + after


def _runs(tree: Any, alphabet: str, lead: str = "", first: bool = True) -> Iterator[tuple[str, str, tuple[str, ...]]]:
    """What leads to each part that repeats, what the part takes, and ends that do not fit."""
    ends = ("", "\x00", "\n", "!", "\r\x00", "\n\x00")
    begins = lead
    for op, given in tree:
        if op in _REPEATS and given[1] > 64:
            taken = [*dict.fromkeys(islice(_units(given[2], alphabet), 4 * _UNITS))]
            outside = [each for each in alphabet if not any(each in unit for unit in taken)][:3]
            for unit in taken[:_UNITS]:
                yield begins, unit, tuple(dict.fromkeys((*ends, *outside)))
                yield "", begins + unit, ("", "\x00")  # every repetition looks like a beginning
        for part in _parts(op, given):
            yield from _runs(part, alphabet, begins, False)
        begins += _sample(parser.SubPattern(tree.state, [(op, given)]), alphabet)
        if first and begins:
            yield "", begins, ("", "\x00")
