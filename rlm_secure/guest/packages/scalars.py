"""Single numbers, texts and dates of the packages as what they are in Python, for results, answers and tools.

An array or a table is no plain data: what it would become is the cell's to say, with tolist() or to_dict().
"""

from __future__ import annotations

import datetime
import importlib
from collections.abc import Callable, Sequence
from typing import Any

#: The largest number of days in a timedelta; the smallest is this one's negative.
_DAYS = datetime.timedelta.max.days


def plain(names: Sequence[str]) -> dict[type, Callable[[Any], Any]]:
    """The classes of single values of the packages `names` -> the function that gives one as an exact builtin.

    With any of them there is numpy. Each takes an object of exactly that class, and runs no code of a cell. What has no
    equal in Python stays as it is.
    """
    found: dict[type, Callable[[Any], Any]] = {}
    np: Any = importlib.import_module("numpy")
    for kind in set(np.sctypeDict.values()):
        if issubclass(kind, np.longdouble | np.clongdouble) or kind is np.object_:
            continue  # more digits than a float has
        for base, made in (
            (np.bool_, bool), (np.integer, int), (np.floating, float), (np.complexfloating, complex),
            (np.str_, str.__str__), (np.bytes_, bytes),
        ):  # fmt: skip
            if issubclass(kind, base) and not issubclass(kind, np.timedelta64):
                found[kind] = made
    if "pandas" in names:
        pd: Any = importlib.import_module("pandas")
        found[pd.Timestamp] = _moment
        found[pd.Timedelta] = _duration
        found[type(pd.NaT)] = found[type(pd.NA)] = lambda _value: None
    return found


def _moment(value: Any) -> Any:
    # pandas has years that a datetime does not have.
    exact = not value.nanosecond and datetime.MINYEAR <= value.year <= datetime.MAXYEAR
    return value.to_pydatetime() if exact else value


def _duration(value: Any) -> Any:
    exact = not value.nanoseconds and abs(value.days) <= _DAYS
    made = value.to_pytimedelta() if exact else value
    return made if type(made) is datetime.timedelta else value
