"""What modules written in the Python of cells cannot do themselves: functions that only take and give plain data.

`caller` and `frames_of` look at frames, and only give line numbers and names of the cell's own.
"""

from __future__ import annotations

import hmac
import inspect
import ntpath
import struct
import sys
import types
from collections.abc import Callable, Mapping
from typing import Any

from ..facades.data import functions, takes_data
from ..registry import FILENAME, is_instance, own_function

_traceback_of = BaseException.__dict__["__traceback__"].__get__
_cause_of = BaseException.__dict__["__cause__"].__get__
_context_of = BaseException.__dict__["__context__"].__get__
_suppressed = BaseException.__dict__["__suppress_context__"].__get__
_FRAMES = 200  # of a traceback, the newest


def caller(level: int = 1) -> tuple[int, str]:
    """Line and function of the `level`th of the cell's own frames, or of the outermost. (0, "") without any."""
    found = (0, "")
    frame: types.FrameType | None = sys._getframe()
    while frame is not None and level > 0:
        if frame.f_code.co_filename == FILENAME:
            found = (frame.f_lineno, frame.f_code.co_name)
            level -= 1
        frame = frame.f_back
    return found


def frames_of(error: Any) -> list[tuple[int, str]]:
    """Line and function of each of the cell's own frames in the traceback of `error`, newest last."""
    found = []
    trace = _traceback_of(error)
    while trace is not None:
        code = trace.tb_frame.f_code
        if code.co_filename == FILENAME:
            found.append((trace.tb_lineno, code.co_name))
            if len(found) > _FRAMES:
                del found[0]
        trace = trace.tb_next
    return found


def origin_of(error: Any) -> tuple[Any, bool]:
    """What `error` came from, and whether `raise ... from` said so. (None, False) if a traceback shows none."""
    cause, context = _cause_of(error), _context_of(error)
    if is_instance(cause, Exception):
        return cause, True
    return (context, False) if is_instance(context, Exception) and not _suppressed(error) else (None, False)


def is_coroutine(value: Any) -> bool:
    """Whether `value` is what a call of an `async def` gave."""
    return type(value) is types.CoroutineType


def makes_coroutines(value: Any) -> bool:
    """Whether `value` is an `async def` of a cell."""
    return own_function(value) and inspect.iscoroutinefunction(value)


def _data(function: Callable[..., Any], title: str) -> Any:
    return takes_data(function, title=title)


#: The functions of each module, by their names there.
TABLES: Mapping[str, Mapping[str, Any]] = {
    "asyncio": {"is_coroutine": is_coroutine, "makes_coroutines": makes_coroutines},
    "hmac": {"compare_digest": _data(hmac.compare_digest, "hmac.compare_digest")},
    "logging": {"caller": caller},
    "pathlib": {"windows_drive": _data(ntpath.splitdrive, "pathlib.PureWindowsPath")},
    "struct": {"error": struct.error, **functions(struct, "calcsize pack unpack")},
    "traceback": {"frames_of": frames_of, "origin_of": origin_of},
    "warnings": {"caller": caller},
}
