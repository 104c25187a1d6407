"""str.format for cells: the same output, but it only reads attributes that the cell could read after a dot.

A template such as "{0.__class__}" reads attributes by string. The names in it are checked as if they were written
after a dot. If all are public, the real str.format does the rest; otherwise each is read by the guard. A formatting
function (a bound method, str.format itself, UserString's) is recognised by its identity and type, not by the way it was
reached.
"""

from __future__ import annotations

import _string  # type: ignore[import-not-found]  # what string.Formatter parses with; typeshed has no stub
import collections
import string
import types
from collections.abc import Callable
from typing import Any

from . import names
from .registry import derives, is_class, is_instance, title
from .violations import AttributeRefused, RuleViolation

_NAMES = frozenset({"format", "format_map"})
_USER_STRING = (collections.UserString.format, collections.UserString.format_map)
_FORMATTER = tuple(function for function in vars(string.Formatter).values() if type(function) is types.FunctionType)


#: Whether every attribute is read by the guard: where there are objects of third-party packages.
walks_nothing = False

#: The guard that reads an attribute of a value.
Read = Callable[[Any, str], Any]


def contained(found: Any, read: Read) -> Any:
    """`found`, an attribute named `format` or similar; replaced by a checked function if it formats templates.

    Attributes that are not public are read by `read`.
    """
    kind = type(found)
    if kind is types.BuiltinMethodType:
        if found.__name__ in _NAMES and is_instance(found.__self__, str):
            return _bound(str.__str__(found.__self__), found.__name__, read)
    elif kind is types.MethodDescriptorType:
        if found.__name__ in _NAMES and found.__objclass__ is str:
            return _unbound(found.__name__, read)
    elif kind is types.FunctionType or kind is types.MethodType:
        function = found.__func__ if kind is types.MethodType else found
        if any(function is each for each in _FORMATTER):
            raise _closed()
        if any(function is each for each in _USER_STRING):
            name = function.__name__
            if kind is types.FunctionType:
                return _unbound(name, read)
            return _bound(_template(found.__self__, name), name, read)
    elif is_class(found) and derives(found, string.Formatter):
        raise _closed()
    return found


def _closed() -> RuleViolation:
    return RuleViolation("format-attribute", "string.Formatter is closed to cells; use str.format() or an f-string")


def _bound(template: str, name: str, read: Read) -> Callable[..., str]:
    if name == "format":

        def format(*values: Any, **named: Any) -> str:  # noqa: A001 - stands in for the method
            if _is_public(template):
                return template.format(*values, **named)
            return _formatted(template, values, named, read, [])

        return format

    def format_map(mapping: Any, /) -> str:
        if _is_public(template):
            return template.format_map(mapping)
        return _formatted(template, None, mapping, read, [])

    return format_map


def _unbound(name: str, read: Read) -> Callable[..., str]:
    def method(template: Any, /, *values: Any, **named: Any) -> str:
        return _bound(_template(template, name), name, read)(*values, **named)

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


#: Attributes that are not public, and that a template may read where the guard allows it.
_READABLE = names.TEXTS | names.OF_CLASSES | {"__dict__"}


#: Templates that only read public attributes, and need no guard. Few and short, so that their memory is bounded.
public_templates: set[str] = set()
_MOST_TEMPLATES = 256
_LONGEST_TEMPLATE = 2_000


def is_known_public(template: str) -> bool:
    """Whether `template` was found to read public attributes only, in a session without packages."""
    return template in public_templates and not walks_nothing


def _is_public(template: str) -> bool:
    """Whether `template` only reads public attributes. Raises RuleViolation if it reads a closed one."""
    if is_known_public(template):
        return True
    found = _reads_public(template)
    if found and len(template) <= _LONGEST_TEMPLATE:
        if len(public_templates) >= _MOST_TEMPLATES:
            public_templates.clear()
        public_templates.add(template)
    return found


def _reads_public(template: str) -> bool:
    public = True
    for name in names.format_walks(template):
        if names.is_private(name) and (name in _READABLE or not names.is_dunder(name)):
            public = False
        elif not names.is_public(name) or name in names.OF_CONTEXTS:
            raise AttributeRefused(
                "format-attribute",
                f"a format string cannot read the attribute {names.shown(name)}; pass the value itself as an argument",
            )
        elif walks_nothing:
            public = False
    return public


def _formatted(template: str, values: Any, named: Any, read: Read, counted: list[str]) -> str:
    """What str.format() returns for a `template` whose names were checked; `values` are None for str.format_map().

    `counted` are the positional fields so far: "" for one without a number.
    """
    parts = []
    for literal, field, spec, conversion in _string.formatter_parser(template):
        parts.append(literal)
        if field is None:
            continue
        first, path = _string.formatter_field_name_split(field)
        value = _argument(first, values, named, counted)
        for is_attribute, name in path:
            value = read(value, name) if is_attribute else value[name]
        if conversion is not None:
            if conversion not in _CONVERSIONS:
                raise ValueError(f"Unknown conversion specifier {conversion}")
            value = _CONVERSIONS[conversion](value)
        if "{" in spec:
            spec = _formatted(spec, values, named, read, counted)
        parts.append(format(value, spec))
    return "".join(parts)


_CONVERSIONS: dict[str, Callable[[Any], str]] = {"r": repr, "s": str, "a": ascii}


def _argument(key: Any, values: Any, named: Any, counted: list[str]) -> Any:
    if key != "" and type(key) is str:
        return named[key]
    if values is None:
        raise ValueError("Format string contains positional fields")
    way = "" if key == "" else "numbered"
    if counted and counted[0] != way:
        ways = ["automatic field numbering", "manual field specification"]
        first, then = ways if way else ways[::-1]
        raise ValueError(f"cannot switch from {first} to {then}")
    if key == "":
        key = len(counted)
    counted.append(way)
    if key >= len(values):
        raise IndexError(f"Replacement index {key} out of range for positional args tuple")
    return values[key]
