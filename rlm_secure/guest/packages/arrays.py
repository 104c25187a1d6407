"""Parts of numpy that do more for a text, a state or a shape of a cell than numpy checks.

Guards: that no text, state or type of a cell makes numpy read variables, other memory or addresses
"""

from __future__ import annotations

import importlib
import operator
from collections.abc import Callable
from typing import Any

from ..language.registry import is_instance
from ..language.violations import RuleViolation
from . import rules

#: Of MT19937, the number of its words: the place in them is at most this.
_WORDS = 624


class Subscripted:
    """`np.r_`, `np.c_`, `np.mgrid` and the like: what is between the brackets goes to numpy."""

    __slots__ = ("_inner", "_name")

    def __init__(self, name: str) -> None:
        self._name = name
        self._inner = getattr(importlib.import_module("numpy"), name)

    def __getitem__(self, key: Any) -> Any:
        if is_instance(key, str):  # numpy takes it for names of variables in the frames of its callers
            raise RuleViolation("package-option", f"np.{self._name}[text] reads variables by name; use np.block")
        return self._inner[key]

    def __repr__(self) -> str:
        return f"<numpy.{self._name}>"


def sliding_window_view(x: Any, window_shape: Any, axis: Any = None) -> Any:
    """numpy's own, with plain numbers: it computes with them after it has checked them."""
    np: Any = importlib.import_module("numpy")
    given = np.lib.stride_tricks.sliding_window_view
    return given(np.array(x, copy=None), _plain(window_shape), axis=None if axis is None else _plain(axis))


def _plain(value: Any) -> int | tuple[int, ...]:
    if type(value) in (tuple, list):
        return tuple(operator.index(each) for each in value)
    return operator.index(value)


def set_state(state: Any) -> None:
    """`np.random.set_state` for what get_state() gave.

    Raises ValueError for a place outside of its words or another generator, and TypeError for anything else.
    """
    np: Any = importlib.import_module("numpy")
    if type(state) is dict and type(state.get("state")) is dict:
        inner, more = state["state"], (state.get("has_gauss", 0), state.get("gauss", 0.0))
        parts: Any = (state.get("bit_generator"), inner.get("key"), inner.get("pos"), *more)
    elif type(state) is tuple and len(state) in (3, 5):
        parts = (*state, 0, 0.0)[:5]
    else:
        raise TypeError("set_state takes what get_state() gave.")
    name, words, place, has_gauss, gauss = parts
    place = operator.index(place)
    if not 0 <= place <= _WORDS:  # numpy reads at that place without a look
        raise ValueError(f"the place in a state is within 0 and {_WORDS}.")
    if type(name) is not str or name != "MT19937":
        raise ValueError("set_state takes a state of MT19937.")
    np.random.set_state((name, np.array(words, dtype=np.uint32), place, operator.index(has_gauss), float(gauss)))


def view(function: Callable[..., Any], array: Any, who: str) -> Callable[..., Any]:
    """`view` of `array`: as it is, or as other numbers of the same bytes. Never as objects, texts or another class."""

    def call(dtype: Any = None) -> Any:
        if dtype is None:
            return function()
        np: Any = importlib.import_module("numpy")
        wanted = np.dtype(dtype)
        if array.dtype.hasobject or wanted.kind not in "iufc" or wanted.subdtype is not None:
            raise RuleViolation("object-array", f"{who} takes a type of numbers here, such as 'int64'; use astype()")
        return function(wanted)

    call.__name__ = call.__qualname__ = "view"
    return call


class Context:
    """A `with` block of a package, and nothing else of the object that it is: contextlib's have the function itself."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return "<a with block>"

    def __enter__(self) -> Any:
        found = self._inner.__enter__()
        return found if type(found) is dict else None  # of np.printoptions

    def __exit__(self, *values: Any) -> Any:
        return self._inner.__exit__(*values)


def context(function: Callable[..., Any]) -> Callable[..., Context]:
    """`function`, which makes a context manager."""

    def call(*values: Any, **options: Any) -> Context:
        return Context(function(*values, **options))

    call.__name__ = call.__qualname__ = function.__name__
    return call


for _each in (Subscripted, Context):
    rules.adopt(_each)
