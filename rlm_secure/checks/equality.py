"""When two JSON values are the same: 1 and 1.0 are, at any depth; 1 and true are not."""

from __future__ import annotations

import json
from typing import Any, Final

from rlm_secure.checks.steps import Steps

#: Up to here, every whole number is a float too.
_EXACT: Final = 2**53
#: Characters that cost one step.
_CHARACTERS: Final = 256


def same_text(value: Any, steps: Steps) -> str:
    """One text for all JSON values that are the same as `value`. A step for each value in it.

    Text, since strings hash with a key of the process: numbers can be chosen so that they all fall on one place of a
    table.
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
        # Each name is looked at some more times to sort them.
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
    """The number: a large whole one that is a float as that, since its digits would be three hundred times as many."""
    if -_EXACT <= value <= _EXACT:
        return str(int(value)) if value == int(value) else float(value).hex()
    try:
        nearest = float(value)
    except OverflowError:
        return str(value)
    return nearest.hex() if nearest == value else str(value)
