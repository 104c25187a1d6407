"""The functions of the session's store, for library functions that take the name of a file (packages/files.py).

A process is one session at most: the worker sets them when the session begins. Without files there are none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

#: By name, as session/store.py gives them: names, size, read, create, write, truncate, remove.
functions: dict[str, Callable[..., Any]] = {}


def use(given: Mapping[str, Callable[..., Any]]) -> None:
    """Have this process read and write files by `given`."""
    functions.update(given)
