"""What agg, apply, transform and pivot_table take: functions, and names of the aggregations that are listed here.

pandas reads and calls any attribute of that name, also out of whatever it can iterate over: a set, a generator, a
Series, an object of a cell with `keys`. So it is given a copy, in which there are plain lists, tuples and dicts alone.

Guards: which attributes pandas reads by a text of a cell
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from ..language.names import words
from ..language.registry import is_class, is_instance, own_instance, stored, title
from ..language.violations import RuleViolation

#: What agg, apply and transform take as text.
AGGREGATIONS = words(
    "all any count cumcount cummax cummin cumprod cumsum describe diff ffill bfill first head idxmax idxmin kurt last "
    "max mean median min mode ngroup nth nunique ohlc pct_change prod quantile rank sem shift size skew std sum tail "
    "unique value_counts var abs round isna notna len sqrt exp log"
)
_DEPTH = 4
_PLAIN = frozenset({type(None), bool, int, float})


def aggregating(function: Callable[..., Any], who: str, name: str = "func", at: int = 0) -> Callable[..., Any]:
    """`function`, which takes aggregations in its argument `at`, or as the keyword `name`.

    Without `func`, each keyword is a new column: a pair (column, function), or a function.
    """

    def call(*values: Any, **options: Any) -> Any:
        if "engine" in options:
            raise RuleViolation("compiled-code", f"{who} has no engine here; leave it out")
        given = [*values]
        if len(given) > at:
            given[at] = reviewed(given[at], who)
        if name in options:
            options[name] = reviewed(options[name], who)
        if name == "func" and (given[at] if len(given) > at else options.get(name)) is None:
            for key, value in options.items():
                options[key] = _column(value, who)
        return function(*given, **options)

    call.__name__ = call.__qualname__ = who.rpartition(".")[2]
    return call


def reviewed(value: Any, who: str, depth: int = 0) -> Any:
    """A copy of `value`, with the same functions and listed names in it. Raises RuleViolation for anything else."""
    kind = type(value)
    if is_instance(value, str):
        text = str.__str__(value)
        if text not in AGGREGATIONS:
            raise RuleViolation("aggregation", f"{who} knows no aggregation {text[:60]!r} here; pass a function")
        return text
    if kind in _PLAIN:
        return value
    if depth < _DEPTH:
        if is_instance(value, dict):
            return {key: reviewed(each, who, depth + 1) for key, each in list(dict.items(value))}
        if is_instance(value, list):
            return [reviewed(each, who, depth + 1) for each in list.__iter__(value)]
        if is_instance(value, tuple):
            return tuple(reviewed(each, who, depth + 1) for each in tuple.__iter__(value))
    if callable(value):
        if own_instance(value):
            return _called(value)
        if is_class(value) or (stored(kind, "__iter__") is None and stored(kind, "keys") is None):
            return value
    raise RuleViolation(
        "aggregation", f"{who} takes functions, names, and lists or dicts of them here, not a {title(kind)}"
    )


def _called(value: Any) -> Callable[..., Any]:
    """A function that calls `value`: pandas asks an object whether it is a list or a dict first."""

    def call(*values: Any, **options: Any) -> Any:
        return value(*values, **options)

    call.__name__ = call.__qualname__ = title(type(value))
    return call


def _column(value: Any, who: str) -> Any:
    named: Any = getattr(sys.modules.get("pandas"), "NamedAgg", None)
    if type(value) is named:  # frozen; with arguments of the function
        return named(value.column, reviewed(value.aggfunc, who), *value.args, **value.kwargs)
    if type(value) is tuple and len(value) == 2:
        return value[0], reviewed(value[1], who)
    return reviewed(value, who)
