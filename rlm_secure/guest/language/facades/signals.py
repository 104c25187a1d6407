"""The flags and traps of a decimal.Context, as mappings that keep their context alive.

The mappings of decimal itself point into the memory of their context, and still read and write it after it was freed.
"""

from __future__ import annotations

import decimal
from collections.abc import Iterator, MutableMapping
from typing import Any


class Signals(MutableMapping[Any, Any]):
    """`context.flags` or `context.traps`."""

    __slots__ = ("_context", "_kept")

    def __init__(self, context: Any, name: Any) -> None:
        if type(context) is not decimal.Context or type(name) is not str or name not in ("flags", "traps"):
            raise TypeError("flags and traps are read from a decimal.Context; write it out, as in context.flags.")
        self._context = context
        self._kept = getattr(context, name)

    def __getitem__(self, signal: Any) -> Any:
        return self._kept[signal]

    def __setitem__(self, signal: Any, value: Any) -> None:
        self._kept[signal] = bool(value)

    def __delitem__(self, signal: Any) -> None:
        raise ValueError("signal keys cannot be deleted")

    def __iter__(self) -> Iterator[Any]:
        return iter(tuple(self._kept))

    def __len__(self) -> int:
        return len(self._kept)

    def __eq__(self, other: object) -> bool:
        return bool(self.copy() == (other.copy() if type(other) is Signals else other))

    def __repr__(self) -> str:
        return repr(self._kept)

    def copy(self) -> dict[Any, Any]:
        """The signals and whether they are set, as a dict."""
        return dict(self.items())


class SignalsOf:
    """A proxy that performs `context.flags = mapping` and similar statements. It is never passed to a cell."""

    __slots__ = ("_context",)

    def __init__(self, context: decimal.Context) -> None:
        self._context = context

    def __getattr__(self, name: str) -> Signals:
        return Signals(self._context, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "_context":
            object.__setattr__(self, name, value)
        else:
            setattr(self._context, name, value.copy() if type(value) is Signals else value)
