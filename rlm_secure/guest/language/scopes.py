"""The scopes of a cell that the transformer walks: bodies, lambdas and comprehensions."""

from __future__ import annotations

import ast
from typing import Any

MODULE, CLASS, FUNCTION = "module", "class", "function"


class Scope:
    """A body to walk: its remaining nodes, its kind, the class that mangles its names, and its function.

    Lambdas and comprehensions are scopes of their own, by the rules of the scope around them. `bound` are the names
    that the scope binds, besides `own`, its own parameters; `local` tells whether these are local variables. `again`
    are those that it binds more than once, `assigned` those that a statement outside of any loop assigns. `outer` is
    the scope around a comprehension that is evaluated at once, which waits meanwhile.

    `holds` tells whether the transformer may bind variables of its own there: only where they are local variables that
    no other code shares. One bound in a comprehension would be of the scope around it. `lambdas_hold` tells the same of
    lambdas in the scope: Python binds nothing in what a comprehension iterates over, nor in annotations. `returned` is
    the statement that a lambda stands for.
    """

    __slots__ = (
        "again", "assigned", "bound", "function", "holds", "is_comprehension", "kind", "lambdas_hold", "local",
        "outer", "own", "owner", "parameters", "returned", "stack",
    )  # fmt: skip

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
        self.own = self.parameters
        self.bound: set[str] = set()
        self.again: set[str] = set()
        self.assigned: dict[str, ast.Assign] = {}
        self.holds = self.local = kind == FUNCTION
        self.lambdas_hold = True
        self.is_comprehension = False
        self.returned: ast.Return | None = None
        self.outer: Scope | None = None

    def part(self, node: ast.AST) -> Scope:
        """The scope of `node`, an annotation or what a comprehension iterates over: this one, but it holds nothing."""
        made = self._like([node])
        made.again = self.again
        made.own, made.bound, made.local, made.outer = self.own, self.bound, self.local, self.outer
        made.is_comprehension, made.returned = self.is_comprehension, self.returned
        made.lambdas_hold = False
        return made

    def inner(self, stack: list[Any], *, at_once: bool) -> Scope:
        """The scope of a comprehension of the nodes `stack`, which is evaluated `at_once`, or later as a generator."""
        made = self._like(stack)
        made.local = made.is_comprehension = True
        made.outer = self if at_once else None
        return made

    def of_lambda(self, node: ast.Lambda) -> Scope:
        """The scope of the body of `node`."""
        made = self._like([node.body])
        made.own = parameters(node)
        made.local, made.holds = True, self.lambdas_hold
        made.returned = ast.Return(node.body)
        return made

    def _like(self, stack: list[Any]) -> Scope:
        made = Scope(stack, self.kind, self.owner, None)
        made.function, made.parameters = self.function, self.parameters
        made.own, made.holds, made.lambdas_hold = frozenset(), False, self.lambdas_hold
        return made

    def bind(self, name: str) -> None:
        """Note that the scope binds `name`."""
        if name in self.bound:
            self.again.add(name)
        self.bound.add(name)

    def of_variable(self, name: str) -> Scope | None:
        """This scope or one that waits for it, if it binds `name`."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.bound or name in scope.own:
                return scope
            scope = scope.outer
        return None

    @property
    def is_body(self) -> bool:
        """Whether it is the body of a function, or a part of that: no lambda, and no comprehension."""
        return self.kind == FUNCTION and self.returned is None and not self.is_comprehension


def parameters(node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> frozenset[str]:
    """The names of a function's parameters, of all kinds."""
    args = node.args
    variadic = [each for each in (args.vararg, args.kwarg) if each is not None]
    return frozenset(each.arg for each in (*args.posonlyargs, *args.args, *args.kwonlyargs, *variadic))
