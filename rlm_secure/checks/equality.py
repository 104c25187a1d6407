"""Equality of JSON values: 1 and 1.0 are the same, at any depth; 1 and true are not."""

from __future__ import annotations

import json
from typing import Any, Final

from rlm_secure.checks.steps import Steps

#: Up to here, every whole number is exact as a float.
_EXACT: Final = 2**53
#: Characters that cost one step.
_CHARACTERS: Final = 256


def same_text(value: Any, steps: Steps) -> str:
    """One text for all JSON values that are the same as `value`. Takes a step for each value in it.

    Text, since strings are hashed with a random key: numbers can be chosen so that they all collide in a hash table.
    """
    parts: list[str] = []
    _write(value, parts, steps)
    return "".join(parts)


def _write(value: Any, parts: list[str], steps: Steps) -> None:
    steps.take()
    if isinstance(value, str):
        steps.take(len(value) // _CHARACTERS)
        parts.append(json.dumps(value))
    elif isinstance(value, list):
        parts.append("[")
        for item in value:
            _write(item, parts, steps)
            parts.append(",")
        parts.append("]")
    elif isinstance(value, dict):
        parts.append("{")
        # Sorting compares each name several more times.
        steps.take(len(value) + sum(map(len, value)) // _CHARACTERS)
        for name in sorted(value):
            parts += (json.dumps(name), ":")
            _write(value[name], parts, steps)
            parts.append(",")
        parts.append("}")
    elif value is None or isinstance(value, bool):
        parts.append({None: "null", True: "true", False: "false"}[value])
    else:
        parts.append(_number(value))


def _number(value: int | float) -> str:
    """The number as text: a large one that is exact as a float in hex, since it may have 309 decimal digits."""
    if -_EXACT <= value <= _EXACT:
        return str(int(value)) if value == int(value) else float(value).hex()
    try:
        nearest = float(value)
    except OverflowError:
        return str(value)
    return nearest.hex() if nearest == value else str(value)
