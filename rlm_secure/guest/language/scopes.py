"""The scopes of a cell that the transformer walks: module, class and function bodies."""

from __future__ import annotations

import ast
from typing import Any

MODULE, CLASS, FUNCTION = "module", "class", "function"


class Scope:
    """A body to walk: its remaining nodes, its kind, the class that mangles its names, and its function."""

    __slots__ = ("function", "kind", "owner", "parameters", "stack")

    def __init__(
        self,
        stack: list[Any],
        kind: str,
        owner: str | None,
        function: ast.FunctionDef | ast.AsyncFunctionDef | None,
    ) -> None:
        self.stack = stack
        self.kind = kind
        self.owner = owner
        self.function = function
        self.parameters = parameters(function) if function else frozenset()


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The names of a function's parameters, of all kinds."""
    args = node.args
    variadic = [each for each in (args.vararg, args.kwarg) if each is not None]
    return frozenset(each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs, *variadic))
