"""str.format for cells: the same output, but it only reads attributes that the cell could read after a dot.

A template such as "{0.__class__}" reads attributes by string. The names in it are checked as if they were written
after a dot, and the real str.format does the rest. A formatting function (a bound method, str.format itself,
UserString's) is recognised by its identity and type, not by the way it was reached.
"""

from __future__ import annotations

import collections
import string
import types
from collections.abc import Callable
from typing import Any

from . import names
from .registry import derives, is_class, is_instance, title
from .violations import RuleViolation

_NAMES = frozenset({"format", "format_map"})
_USER_STRING = (collections.UserString.format, collections.UserString.format_map)
_FORMATTER = tuple(function for function in vars(string.Formatter).values() if type(function) is types.FunctionType)


def contained(found: Any) -> Any:
    """`found`, an attribute named `format` or similar; replaced by a checked function if it formats templates."""
    kind = type(found)
    if kind is types.BuiltinMethodType:
        if found.__name__ in _NAMES and is_instance(found.__self__, str):
            return _bound(str.__str__(found.__self__), found.__name__)
    elif kind is types.MethodDescriptorType:
        if found.__name__ in _NAMES and found.__objclass__ is str:
            return _unbound(found.__name__)
    elif kind is types.FunctionType or kind is types.MethodType:
        function = found.__func__ if kind is types.MethodType else found
        if any(function is each for each in _FORMATTER):
            raise _closed()
        if any(function is each for each in _USER_STRING):
            name = function.__name__
            return _unbound(name) if kind is types.FunctionType else _bound(_template(found.__self__, name), name)
    elif is_class(found) and derives(found, string.Formatter):
        raise _closed()
    return found


def _closed() -> RuleViolation:
    return RuleViolation("format-attribute", "string.Formatter is closed to cells; use str.format() or an f-string")


def _bound(template: str, name: str) -> Callable[..., str]:
    if name == "format":

        def format(*values: Any, **named: Any) -> str:  # noqa: A001 - stands in for the method
            _check(template)
            return template.format(*values, **named)

        return format

    def format_map(mapping: Any, /) -> str:
        _check(template)
        return template.format_map(mapping)

    return format_map


def _unbound(name: str) -> Callable[..., str]:
    def method(template: Any, /, *values: Any, **named: Any) -> str:
        return _bound(_template(template, name), name)(*values, **named)

    return method


def _template(value: Any, name: str) -> str:
    """The exact text of `value`, which is what the C code formats. Raises TypeError."""
    kind = type(value)
    if derives(kind, collections.UserString):
        value = value.data
        kind = type(value)
    if derives(kind, str):
        return str.__str__(value)
    raise TypeError(f"{name} needs a string, not {title(kind)}")


def _check(template: str) -> None:
    for name in names.format_walks(template):
        if not names.is_public(name) or name in names.OF_CONTEXTS:
            raise RuleViolation(
                "format-attribute",
                f"a format string cannot read the attribute {names.shown(name)}; pass the value itself as an argument",
            )
