"""contextlib.redirect_stdout and redirect_stderr: what a cell prints goes to an object with a write()."""

from __future__ import annotations

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

# Bound by the loader.
redirect: Callable[[str, Any], None]


class _Redirect(AbstractContextManager):  # type: ignore[type-arg]
    _stream = ""

    def __init__(self, new_target: Any) -> None:
        self._new_target = new_target
        self._old_targets: list[Any] = []

    def __enter__(self) -> Any:
        self._old_targets.append(getattr(sys, self._stream))
        redirect(self._stream, self._new_target)
        return self._new_target

    def __exit__(self, *_details: Any) -> None:
        redirect(self._stream, self._old_targets.pop())


class redirect_stdout(_Redirect):
    _stream = "stdout"


class redirect_stderr(_Redirect):
    _stream = "stderr"
