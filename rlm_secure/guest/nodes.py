"""Syntax nodes that the transformer puts into a cell's tree."""

from __future__ import annotations

import ast
from typing import Any


class Guard(ast.Name):
    """A guard's name in the tree. The walk passes over it: it was put there by the walk."""


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


def constant(value: str | bool | int, where: ast.AST) -> ast.expr:
    """A literal."""
    made: ast.expr = placed(ast.Constant(value), where)
    return made


def call(name: str, where: ast.AST, *arguments: ast.expr) -> ast.Call:
    """A call of the guard `name`."""
    made: ast.Call = placed(ast.Call(guard(name, where), list(arguments), []), where)
    return made


def become(node: Any, kind: type[ast.AST], **fields: Any) -> None:
    """Turn `node` into another kind of node where it stands, whatever holds it."""
    node.__class__ = kind
    for field, value in fields.items():
        setattr(node, field, value)
