"""Builds the syntax nodes that the transformer inserts into a cell's tree."""

from __future__ import annotations

import ast
from typing import Any

from . import names


class Guard(ast.Name):
    """The name of a guard in the tree. The transformer inserted it, so it does not check it."""


def placed(node: Any, where: Any) -> Any:
    """`node` with the position of `where`, for tracebacks."""
    node.lineno = where.lineno
    node.col_offset = where.col_offset
    node.end_lineno = where.end_lineno
    node.end_col_offset = where.end_col_offset
    return node


def guard(name: str, where: ast.AST) -> ast.expr:
    """A load of the guard `name`."""
    made: ast.expr = placed(Guard(name, ast.Load()), where)
    return made


def constant(value: str | bool | int | None, where: ast.AST) -> ast.expr:
    """A literal."""
    made: ast.expr = placed(ast.Constant(value), where)
    return made


def call(name: str, where: ast.AST, *arguments: ast.expr) -> ast.Call:
    """A call of the guard `name`."""
    made: ast.Call = placed(ast.Call(guard(name, where), list(arguments), []), where)
    return made


def known(value: ast.Name, kinds: str = names.CLASSES) -> ast.expr:
    """A test: is the object that `value` names an instance of a class in the set `kinds`, by default the cell's own?"""
    made: ast.expr = placed(
        ast.Compare(call(names.TYPE, value, value), [ast.In()], [guard(kinds, value)]), value
    )
    return made


def likely(test: ast.expr, value: ast.expr, otherwise: ast.expr) -> ast.expr:
    """`otherwise if not test else value`: code goes on behind `value`, which is the frequent one, without a jump."""
    made: ast.expr = placed(ast.IfExp(placed(ast.UnaryOp(ast.Not(), test), test), otherwise, value), otherwise)
    return made


def bind(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, name: str, value: ast.expr) -> None:
    """Insert `name = value` before the first statement of `scope`."""
    insert(scope, placed(ast.Assign([placed(ast.Name(name, ast.Store()), value)], value), value))


def insert(scope: ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef, statement: ast.stmt) -> None:
    """Insert `statement` before the first statement of `scope`, but after its docstring."""
    scope.body.insert(int(is_docstring(scope.body[0])), statement)


def is_docstring(first: ast.stmt) -> bool:
    """Whether `first`, the first statement of a body, is its documentation."""
    text = first.value if isinstance(first, ast.Expr) else None
    return isinstance(text, ast.Constant) and isinstance(text.value, str)


def become(node: Any, kind: type[ast.AST], **fields: Any) -> None:
    """Turn `node` into another kind of node in place, so that its parent need not be known."""
    node.__class__ = kind
    for field, value in fields.items():
        setattr(node, field, value)
