"""Match statements: what a pattern reads by name, and what by a class's own list of names."""

from __future__ import annotations

import ast
from typing import Any, Protocol

from . import names, nodes


class Screen(Protocol):
    """What the check of a match statement needs of the walk around it."""

    @property
    def in_class_body(self) -> bool:
        """Whether the statement stands directly in the body of a class."""

    def refuse(self, node: ast.AST, rule: str, message: str) -> None:
        """Record a broken rule."""

    def refuse_unknown(self, node: ast.AST) -> None:
        """Record a node type that nobody reviewed."""

    def bind(self, node: ast.AST, name: str | None) -> None:
        """Check a name that the cell binds."""

    def walk(self, node: ast.AST) -> None:
        """Check `node` and what is in it, later."""


def screen_match(screen: Screen, statement: ast.Match) -> None:
    """Check the patterns of `statement`; class patterns with positional parts go through a guard.

    A positional part reads the attributes that the class lists in `__match_args__`, as strings. The class is looked
    up and checked once, before the subject, and the pattern then uses that very object: a class that is rebound
    while the cases are tried is not the one that was checked. Nor is one that a `__prepare__` unwraps when it is kept,
    so that a class body has no such patterns.
    """
    checked: list[ast.expr] = []
    todo: list[Any] = [case.pattern for case in statement.cases]
    while todo:
        pattern = todo.pop()
        kind = pattern.__class__
        if kind is ast.MatchClass:
            for name in pattern.kwd_attrs:
                _attribute(screen, pattern, name)
            _value(screen, pattern.cls)
            if pattern.patterns and screen.in_class_body:
                screen.refuse(
                    pattern,
                    "pattern-attribute",
                    "in the body of a class a class pattern names its attributes; write C(x=...), or use a function",
                )
            elif pattern.patterns:
                name = f"<pattern {len(checked)}>"
                target = nodes.placed(ast.Name(name, ast.Store()), pattern)
                kept = ast.NamedExpr(target, nodes.call(names.PATTERN, pattern, pattern.cls))
                checked.append(nodes.placed(kept, pattern))
                pattern.cls = nodes.guard(name, pattern)
            todo += pattern.patterns
            todo += pattern.kwd_patterns
        elif kind is ast.MatchAs:
            screen.bind(pattern, pattern.name)
            if pattern.pattern is not None:
                todo.append(pattern.pattern)
        elif kind is ast.MatchStar:
            screen.bind(pattern, pattern.name)
        elif kind is ast.MatchMapping:
            screen.bind(pattern, pattern.rest)
            for key in pattern.keys:
                _value(screen, key)
            todo += pattern.patterns
        elif kind is ast.MatchSequence or kind is ast.MatchOr:
            todo += pattern.patterns
        elif kind is ast.MatchValue:
            _value(screen, pattern.value)
        elif kind is not ast.MatchSingleton:
            screen.refuse_unknown(pattern)
    if checked:
        # match (<classes>..., subject)[-1]: the classes are held in names that no cell can spell.
        subject = statement.subject
        parts = nodes.placed(ast.Tuple([*checked, subject], ast.Load()), subject)
        statement.subject = nodes.placed(ast.Subscript(parts, nodes.constant(-1, subject), ast.Load()), subject)


def _attribute(screen: Screen, node: ast.AST, name: str) -> None:
    if not names.is_positional(name):
        screen.refuse(
            node,
            "pattern-attribute",
            f"the attribute {names.shown(name)} cannot stand in a pattern; read it in an `if` instead",
        )


def _value(screen: Screen, node: ast.expr) -> None:
    """Names and dotted names in a pattern: the grammar has no room for a guard, so only public ones pass."""
    base = node
    while isinstance(base, ast.Attribute):
        _attribute(screen, base, base.attr)
        base = base.value
    if not (isinstance(base, ast.Name) and base.id in names.REMOVED_BUILTINS):
        screen.walk(node)
