"""Every small change of a module."""

from __future__ import annotations

import ast
import copy
import types
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property

_COMPARED: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt, ast.Eq: ast.NotEq, ast.NotEq: ast.Eq,
    ast.Is: ast.IsNot, ast.IsNot: ast.Is, ast.In: ast.NotIn, ast.NotIn: ast.In,
}  # fmt: skip
_OPERATED: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Add, ast.Div: ast.Mult, ast.FloorDiv: ast.Mult, ast.BitOr: ast.BitAnd
}  # fmt: skip


class Tree:
    """A module's syntax tree, in which one node at a time may stand for another."""

    def __init__(self, source: str) -> None:
        self.root = ast.parse(source)
        self.text = source.splitlines()
        self._places: dict[ast.AST, tuple[ast.AST, str, int | None]] = {}
        for node in ast.walk(self.root):
            for name, value in ast.iter_fields(node):
                for index, each in enumerate(value) if isinstance(value, list) else [(None, value)]:
                    if isinstance(each, ast.AST):
                        self._places[each] = (node, name, index)

    def code(self, path: str, old: ast.AST | None = None, new: ast.AST | None = None) -> types.CodeType:
        """The module as the code of the file `path`, with `new` in the place of `old`, and everything in its line."""
        if old is None or new is None:
            return compile(self.root, path, "exec", dont_inherit=True)
        self._put(old, new)
        try:
            return compile(self.root, path, "exec", dont_inherit=True)
        finally:
            self._put(old, old)

    def _put(self, old: ast.AST, new: ast.AST) -> None:
        node, name, index = self._places[old]
        if index is None:
            setattr(node, name, new)
        else:
            getattr(node, name)[index] = new

    def around(self, node: ast.AST) -> Iterator[ast.AST]:
        """The node and all in which it stands, from the inside."""
        yield node
        while node in self._places:
            node = self._places[node][0]
            yield node


@dataclass(frozen=True)
class Mutant:
    """One change of a module."""

    tree: Tree
    old: ast.AST
    new: ast.AST
    named: bool = False
    """Whether the key begins with the name of the function: the same change of the same text is made elsewhere as well."""

    @property
    def line(self) -> int:
        return self.old.lineno  # type: ignore[attr-defined]

    @cached_property
    def key(self) -> str:
        """What names it in a table, wherever its line moves to."""
        _, within, *_ = self.tree.around(self.old)
        named = f"{within.arg}=" if isinstance(within, ast.keyword) else ""
        functions = [each.name for each in self.tree.around(self.old) if isinstance(each, ast.FunctionDef)]
        where = f"{functions[0]}: " if self.named and functions else ""
        return f"{where}{self.tree.text[self.line - 1].strip()}: {named}{_short(self.old)} -> {named}{_short(self.new)}"

    @property
    def lines(self) -> range:
        """The lines of its statement; of one with others in it, those before the first of them."""
        node = next(each for each in self.tree.around(self.old) if isinstance(each, ast.stmt | ast.ExceptHandler))
        body = getattr(node, "body", None)
        last = max(node.lineno, body[0].lineno - 1) if isinstance(body, list) else node.end_lineno
        return range(node.lineno, last + 1)

    def code(self, path: str) -> types.CodeType:
        """The changed module, as the code of the file `path`."""
        return self.tree.code(path, self.old, self.new)


def mutants(source: str) -> list[Mutant]:
    """Every mutant of a module, in the order of its lines. What is only a message, or a type, is left alone."""
    tree = Tree(source)
    silent = {inner for node in ast.walk(tree.root) for part in _silent(node) for inner in ast.walk(part)}
    found = [
        Mutant(tree, node, _placed(other, node))
        for node in ast.walk(tree.root)
        if node not in silent and hasattr(node, "lineno")
        for other in _changed(node)
    ]
    often = Counter(mutant.key for mutant in found)
    found = [replace(mutant, named=True) if often[mutant.key] > 1 else mutant for mutant in found]
    return sorted(found, key=lambda mutant: (mutant.line, mutant.key))


def _changed(node: ast.AST) -> Iterator[ast.AST]:
    """Every small change of a node."""
    if isinstance(node, ast.Compare):
        for index, operator in enumerate(node.ops):
            other = copy.deepcopy(node)
            other.ops[index] = _COMPARED[type(operator)]()
            yield other
    elif isinstance(node, ast.BoolOp):
        yield ast.BoolOp(ast.And() if isinstance(node.op, ast.Or) else ast.Or(), node.values)
        for index in range(len(node.values)):
            rest = [value for at, value in enumerate(node.values) if at != index]
            yield rest[0] if len(rest) == 1 else ast.BoolOp(node.op, rest)
    elif isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        yield node.operand
    elif isinstance(node, ast.BinOp) and type(node.op) in _OPERATED:
        yield ast.BinOp(node.left, _OPERATED[type(node.op)](), node.right)
    elif isinstance(node, ast.Constant) and type(node.value) in (int, float):
        yield ast.Constant(node.value + 1)
    elif isinstance(node, ast.Constant) and isinstance(node.value, bool):
        yield ast.Constant(not node.value)
    elif isinstance(node, ast.If | ast.While | ast.IfExp):
        for value in (True, False):
            if not (isinstance(node, ast.While) and value):
                other = copy.copy(node)
                other.test = ast.Constant(value)
                yield other
    elif isinstance(node, ast.Raise | ast.Expr | ast.Assign | ast.AugAssign | ast.Delete | ast.Continue | ast.Break):
        if not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)):  # a docstring
            yield ast.Pass()
    elif isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
        yield ast.Return(ast.Constant(None))
    elif isinstance(node, ast.ExceptHandler) and isinstance(node.type, ast.Tuple):
        for index in range(len(node.type.elts)):
            other = copy.copy(node)
            other.type = ast.Tuple([each for at, each in enumerate(node.type.elts) if at != index], ast.Load())
            yield other


def _placed(other: ast.AST, node: ast.AST) -> ast.AST:
    """`other` with the line of `node`, where it is no part of the tree that has one."""
    return ast.fix_missing_locations(other if hasattr(other, "lineno") else ast.copy_location(other, node))


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _silent(node: ast.AST) -> list[ast.AST]:
    """Parts of a node that only say something: texts of messages, annotations, decorators."""
    if isinstance(node, ast.JoinedStr | ast.arguments):
        return [node]
    if isinstance(node, ast.AnnAssign):
        return [node.annotation]
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
        return [node]
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return [*node.decorator_list, *([node.returns] if isinstance(node, ast.FunctionDef) and node.returns else [])]
    return []


def _short(node: ast.AST) -> str:
    return " ".join(("nothing" if isinstance(node, ast.Pass) else ast.unparse(node)).split())[:100]
