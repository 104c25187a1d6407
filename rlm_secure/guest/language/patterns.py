"""Checks match statements: attributes that a pattern names, and those that a class lists in `__match_args__`."""

from __future__ import annotations

import ast
from typing import Any, ClassVar, Protocol

from . import names, nodes


class Screen(Protocol):
    """What the check of a match statement needs from the transformer."""

    asks_always: ClassVar[bool]
    """Whether every load of an attribute has a guard, which a pattern cannot have."""

    @property
    def in_class_body(self) -> bool:
        """Whether the statement is directly in the body of a class."""
        ...

    def refuse(self, node: ast.AST, rule: str, message: str) -> None:
        """Record a broken rule."""

    def refuse_unknown(self, node: ast.AST) -> None:
        """Record a node type that was not reviewed."""

    def bind(self, node: ast.AST, name: str | None) -> None:
        """Check a name that the cell binds."""

    def walk(self, node: ast.AST) -> None:
        """Check `node` and its children later."""


def screen_match(screen: Screen, statement: ast.Match) -> None:
    """Check the patterns of `statement`; class patterns with positional parts go through a guard.

    A positional part reads the attributes that the class lists in `__match_args__`, as strings. The class is looked
    up and checked once, before the subject, and the pattern then uses that same object. Otherwise the name could be
    bound to another class while the cases are tried. In a class body the namespace of a `__prepare__` could replace the
    object when it is stored, so such patterns are refused there.
    """
    checked: list[ast.expr] = []
    todo: list[Any] = [case.pattern for case in statement.cases]
    while todo:
        pattern = todo.pop()
        kind = pattern.__class__
        if kind is ast.MatchClass:
            for name in pattern.kwd_attrs:
                _attribute(screen, pattern, name)
            if screen.asks_always and (pattern.kwd_attrs or pattern.patterns):
                screen.refuse(
                    pattern, "pattern-attribute", "class patterns read no attributes in this session; use isinstance()"
                )
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
            elif screen.asks_always and isinstance(pattern.cls, ast.Attribute):
                pattern.cls = _read_before(screen, pattern.cls, checked)
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
            pattern.keys = [_attribute_of(screen, key, checked) for key in pattern.keys]
            todo += pattern.patterns
        elif kind is ast.MatchSequence or kind is ast.MatchOr:
            todo += pattern.patterns
        elif kind is ast.MatchValue:
            _value(screen, pattern.value)
            pattern.value = _attribute_of(screen, pattern.value, checked)
        elif kind is not ast.MatchSingleton:
            screen.refuse_unknown(pattern)
    if checked:
        # match (<classes>..., subject)[-1]: the classes are stored under names that are no identifiers.
        subject = statement.subject
        parts = nodes.placed(ast.Tuple([*checked, subject], ast.Load()), subject)
        statement.subject = nodes.placed(ast.Subscript(parts, nodes.constant(-1, subject), ast.Load()), subject)


def _attribute_of(screen: Screen, value: ast.expr, checked: list[ast.expr]) -> ast.expr:
    """`value`, or where it is an attribute that has a guard, one of what holds it: a pattern takes no call or name."""
    if not (screen.asks_always and isinstance(value, ast.Attribute)):
        return value
    held = _read_before(screen, value, checked, names.PATTERN_VALUE)
    read: ast.expr = nodes.placed(ast.Attribute(held, "value", ast.Load()), value)
    return read


def _read_before(screen: Screen, value: ast.Attribute, checked: list[ast.expr], guard: str = "") -> ast.expr:
    """A load of `value`, which is read before the subject, with its guard: the grammar allows no call in a pattern."""
    if screen.in_class_body:
        screen.refuse(
            value, "pattern-attribute", "a match in the body of a class reads no attributes here; use a function"
        )
    name = f"<pattern {len(checked)}>"
    target = nodes.placed(ast.Name(name, ast.Store()), value)
    kept = ast.NamedExpr(target, nodes.call(guard, value, value) if guard else value)
    checked.append(nodes.placed(kept, value))
    return nodes.guard(name, value)


def _attribute(screen: Screen, node: ast.AST, name: str) -> None:
    if not names.is_positional(name):
        screen.refuse(
            node,
            "pattern-attribute",
            f"the attribute {names.shown(name)} cannot stand in a pattern; read it in an `if` instead",
        )


def _value(screen: Screen, node: ast.expr) -> None:
    """Check a name or dotted name in a pattern. The grammar allows no guard call there, so only public names pass."""
    base = node
    while isinstance(base, ast.Attribute):
        _attribute(screen, base, base.attr)
        base = base.value
    if not (isinstance(base, ast.Name) and base.id in names.ABSENT):
        screen.walk(node)
