"""Checks the contents of requests: seconds in a query, a JSON object in a body.

Guards: the types of the values in a request
"""

from __future__ import annotations

import re
from typing import Any

from .. import wire
from .http import HttpError, SignedRequest

_SECONDS = re.compile(r"[0-9]{1,5}(\.[0-9]{1,6})?")
_LIMITS = frozenset({"AS", "CORE", "CPU", "DATA", "FSIZE", "MEMLOCK", "NOFILE", "NPROC"})


def seconds(request: SignedRequest, name: str, default: Any) -> Any:
    """A number of seconds from the query, or `default`. Raises HttpError."""
    text = request.query.get(name)
    if text is None:
        return default
    if not _SECONDS.fullmatch(text):
        raise HttpError(400, "query", f"{name} is a number of seconds")
    return float(text)


def are_limits(limits: dict[str, Any]) -> bool:
    """Whether these are rlimits by name: each a soft and a hard limit, or one number for both."""
    pairs = [value if isinstance(value, list) else [value, value] for value in limits.values()]
    return limits.keys() <= _LIMITS and all(
        len(pair) == 2 and all(type(each) is int and 0 <= each < 2**63 for each in pair) for pair in pairs
    )


def fields(body: bytes | bytearray, expected: dict[str, type], *, more: bool = False) -> dict[str, Any]:
    """The JSON object in `body`, with exactly the `expected` fields and types (or `more`). Raises HttpError."""
    try:
        message = wire.loads(body, strict=True)
    except (wire.MalformedJson, RecursionError):
        raise HttpError(400, "json", "the body is not JSON in ASCII") from None
    if not isinstance(message, dict):
        raise HttpError(400, "json", "the body is not a JSON object")
    for name, kind in expected.items():
        value = message.get(name)
        if kind is float and type(value) is int and abs(value) < 2**53:
            value = message[name] = float(value)
        if type(value) is not kind:
            raise HttpError(422, "fields", f"{name} is missing or not a {kind.__name__}")
    if not more and message.keys() != expected.keys():
        raise HttpError(422, "fields", f"the body has exactly: {', '.join(sorted(expected))}")
    return message
