"""Converts values of cells to JSON without running any code of the cell: exact built-in types only."""

from __future__ import annotations

import math
import types
from typing import Any

from ..language.registry import order_of, title
from . import tagged

_NODES = 256
_DEPTH = 8
_ITEMS = 8
_TEXT = 200
_STRING = 2000
_BRACKETS: dict[type, Any] = {list: "[]", tuple: "()", set: "{}", dict: "{}", frozenset: ("frozenset({", "})")}
_NAMES = {int: "int", str: "str", float: "float", bool: "bool", type(None): "NoneType"}
_SMALL_INT = 1 << 200
#: Most bytes of one variable in a description of all of them.
_BYTES = 65_536


def describe(value: Any, value_bytes: int, nodes: int = _NODES) -> dict[str, Any]:
    """`{"type", "value"?, "repr"?}` for a variable: the value where it is small JSON, otherwise a bounded repr.

    The value has `nodes` items at most, and _NODES.
    """
    kind = type(value)
    if kind in _NAMES and value_bytes >= 100 and is_small(value, kind):
        return {"type": _NAMES[kind], "value": value}
    name = name_of(value)
    value = tagged.simplified(value)
    kind = type(value)
    value_bytes = min(value_bytes, _BYTES)
    if kind is str and len(value) <= min(value_bytes // 6, _STRING):
        return {"type": name, "value": value}
    if kind in (bool, type(None)) or (kind is float and math.isfinite(value)):
        return {"type": name, "value": value}
    if kind is int and value.bit_length() <= 4096:
        return {"type": name, "value": value}
    if kind in (list, dict, tuple):
        plain = jsonable(value, value_bytes, min(nodes, _NODES))
        if plain is not None:
            # JSON has no tuples: where there is one, the text says so.
            text = {} if plain[0] == value else {"repr": shown(value)[: value_bytes // 6]}
            return {"type": name, "value": plain[0], **text}
    return {"type": name, "repr": shown(value)[: value_bytes // 6]}


def is_small(value: Any, kind: type) -> bool:
    """Whether `value`, of a class of _NAMES, takes at most 100 bytes of JSON, as what it is."""
    if kind is int:
        return bool(-_SMALL_INT < value < _SMALL_INT)
    if kind is str:
        return len(value) <= 16
    return kind is not float or math.isfinite(value)


def name_of(value: Any) -> str:
    """The name of the class of `value`, for a frame."""
    return title(type(value)).encode("utf-8", "backslashreplace").decode()[:128]


def length(value: Any) -> int:
    """How many items a plain container holds; 0 for anything else."""
    return len(value) if type(value) in (list, tuple, set, frozenset, dict) else 0


def size(value: Any) -> int:
    """The brackets and commas of JSON that `jsonable` has made, as many at most."""
    if type(value) is list:
        return 2 + sum(map(size, value))
    return 2 + sum(map(size, value.values())) if type(value) is dict else 1


def whole(value: Any, limit: int, nodes: int) -> tuple[dict[str, Any], int, int]:
    """`({"whole": JSON}, bytes, nodes)`, see tagged.py; with `size` instead of what is too large, `why` of no data.

    Runs no code of the cell.
    """
    if (kind := type(value)) in _NAMES and limit >= 100 and nodes > 0 and is_small(value, kind):
        return {"whole": value}, 100, 1
    try:
        made = tagged.tag(value, limit, nodes)
    except tagged.TooLarge as large:
        return {"size": large.size}, 0, 0
    except tagged.NotPlain as refused:
        return {"why": why(refused)}, 0, 0
    return {"whole": made.json}, made.most, made.nodes


def why(refused: tagged.NotPlain) -> str:
    """What is no plain data, for a frame."""
    return str(refused).encode("utf-8", "backslashreplace").decode()[:200]


def jsonable(value: Any, limit: int, nodes: int = _NODES) -> tuple[Any] | None:
    """`(copy,)` when `value` is JSON of exact built-in types within `limit` bytes, else None."""
    budget = [nodes, limit]
    try:
        return (_copy(value, _DEPTH, budget),)
    except _TooMuch:
        return None


class _TooMuch(Exception):
    pass


def _copy(value: Any, depth: int, budget: list[int]) -> Any:
    budget[0] -= 1
    value = tagged.simplified(value)
    kind = type(value)
    if kind is str:
        budget[1] -= 6 * len(value) + 2
    elif kind is int:
        budget[1] -= value.bit_length() // 3 + 2
    else:
        budget[1] -= 24
    if depth < 0 or min(budget) < 0:
        raise _TooMuch
    if kind in (str, bool, type(None)):
        return value
    if kind is int and value.bit_length() <= 4096:
        return value
    if kind is float and math.isfinite(value):
        return value
    if kind in (list, tuple, dict) and len(value) > budget[0]:
        raise _TooMuch  # before anything is copied
    if kind in (list, tuple):
        return [_copy(item, depth - 1, budget) for item in value]
    if kind is dict:
        if not all(type(key) is str for key in value) or tagged.alike(value):
            raise _TooMuch
        return {_copy(key, 0, budget): _copy(item, depth - 1, budget) for key, item in value.items()}
    raise _TooMuch


def shown(value: Any, depth: int = 3) -> str:
    """A repr of a few hundred characters at most. Runs no code of the value's class."""
    kind = type(value)
    if kind in (str, bytes):
        return repr(value) if len(value) <= _TEXT else repr(value[:_TEXT]) + f"... [{len(value)} long]"
    if kind is int:
        return repr(value) if value.bit_length() <= 4096 else f"<int of {value.bit_length()} bits>"
    if kind in (float, complex, bool, type(None)):
        return repr(value)
    if kind is range:
        parts = (value.start, value.stop) if value.step == 1 else (value.start, value.stop, value.step)
        return f"range({', '.join(map(shown, parts))})"
    if kind in (list, tuple, set, frozenset, dict):
        return _container(value, kind, depth)
    if type in order_of(kind):
        return f"<class {title(value)}>"
    if kind in (types.FunctionType, types.BuiltinFunctionType):
        return f"<function {str.__str__(value.__name__)[:100]}>"
    return f"<{title(kind)} object>"


def _container(value: Any, kind: type, depth: int) -> str:
    if not value:
        return repr(kind())
    if depth == 0:
        return f"<{kind.__name__} of {len(value)}>"
    rest = f", ... [{len(value)} in all]" if len(value) > _ITEMS else ""
    parts = []
    # Iterating over a dict or set runs no code of its keys; a look-up would call `__hash__` and `__eq__`.
    for index, item in enumerate(value.items() if kind is dict else value):
        if index == _ITEMS:
            break
        pair = item if kind is dict else (item,)
        parts.append(": ".join(shown(part, depth - 1) for part in pair))
    opening, closing = _BRACKETS[kind]
    comma = "," if kind is tuple and len(value) == 1 else ""
    return f"{opening}{', '.join(parts)}{rest}{comma}{closing}"


def plain(value: Any, limit: int, nodes: int) -> Any:
    """`value` as JSON for a host call. Raises TypeError for a value that cannot be sent."""
    copied = jsonable(value, limit, nodes)
    if copied is None:
        most = f"at most {limit} bytes and {nodes} values"
        raise TypeError(f"only JSON of {most} can cross the wall, not {shown(value)[:80]}")
    return copied[0]
