"""The traceback of an exception, as cells have it: the lines and the names of their own frames, and no frame."""

from __future__ import annotations

from typing import Any, NoReturn

from ..registry import FILENAME

_traceback_of = BaseException.__dict__["__traceback__"].__get__
_FRAMES = 200  # of a traceback, the newest
_new: Any = object.__new__


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


class Traceback:
    """What stands for a traceback. Only `of` makes one, and nothing can change it."""

    __slots__ = ("_frames",)
    _frames: tuple[tuple[int, str], ...]

    def __new__(cls) -> NoReturn:
        raise TypeError("cannot create 'traceback' instances")

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("type 'traceback' is not an acceptable base type")

    @property
    def tb_lineno(self) -> int:
        """The line of the oldest frame."""
        return self._frames[0][0]

    def __repr__(self) -> str:
        return "<traceback object>"


Traceback.__module__, Traceback.__name__, Traceback.__qualname__ = "builtins", "traceback", "traceback"


def of(error: Any) -> Traceback | None:
    """What stands for the traceback of the exception `error`; None where no frame of a cell is in it."""
    frames = frames_of(error)
    if not frames:
        return None
    made: Traceback = _new(Traceback)
    made._frames = tuple(frames)
    return made


def frames_in(trace: Any) -> list[tuple[int, str]] | None:
    """The frames of what `of` gave, as `frames_of` has them; None for anything else."""
    return list(trace._frames) if type(trace) is Traceback else None
