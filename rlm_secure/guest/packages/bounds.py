"""What C code of the packages takes from a cell without a look: places, sizes and states outside of its memory.

Guards: that an argument of a cell makes no C code of a package read or write outside of its memory
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from typing import Any

#: The largest radius of an image filter, in pixels; matplotlib's is 4.
_RADIUS = 16.0


def close(names: Sequence[str]) -> None:
    """Have the packages `names` check it. Call it once, when they are imported."""
    if "pandas" in names:
        _codes()
        _parser()
    if "matplotlib" in names:
        _drawn()


def _codes() -> None:
    """Codes of categories and levels are places in them: checked always, and in an array that no cell holds."""
    categorical: Any = importlib.import_module("pandas").Categorical
    multi: Any = importlib.import_module("pandas").MultiIndex
    from_codes, set_codes, set_levels = categorical.from_codes.__func__, multi._set_codes, multi._set_levels

    def checked(cls: Any, codes: Any, *values: Any, **options: Any) -> Any:
        return from_codes(cls, codes, *values, **{**options, "validate": True}).copy()

    def _set_codes(self: Any, codes: Any, **options: Any) -> None:
        set_codes(self, codes, **{**options, "copy": True})
        within(self)

    def _set_levels(self: Any, levels: Any, **options: Any) -> None:
        set_levels(self, levels, **options)
        within(self)

    def within(index: Any) -> None:
        for level, codes in zip(index._levels, index._codes, strict=False):  # there are no codes yet when it is made
            if len(codes) and not -1 <= codes.min() <= codes.max() < len(level):
                raise ValueError("codes of a MultiIndex are places in its levels, or -1")

    checked.__name__ = checked.__qualname__ = "from_codes"
    categorical.from_codes = classmethod(checked)
    multi._set_codes, multi._set_levels = _set_codes, _set_levels


class _Once:
    """pandas' parser of CSV in C, whose memory moves while it calls a function of a cell: it is not called again."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self._busy = False

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._inner, name)
        return self._alone(found) if name in ("read", "read_low_memory", "close") else found

    def _alone(self, function: Callable[..., Any]) -> Callable[..., Any]:
        def call(*values: Any) -> Any:
            if self._busy:
                raise RuntimeError("a converter or another function for read_csv cannot use the reader that calls it")
            self._busy = True
            try:
                return function(*values)
            finally:
                self._busy = False

        return call


def _parser() -> None:
    wrapper: Any = importlib.import_module("pandas.io.parsers.c_parser_wrapper")
    reader = wrapper.parsers.TextReader

    class Parsers:
        def __getattr__(self, name: str) -> Any:
            return getattr(inner, name)

        @staticmethod
        def TextReader(*values: Any, **options: Any) -> _Once:
            return _Once(reader(*values, **options))

    inner, wrapper.parsers = wrapper.parsers, Parsers()


def _drawn() -> None:
    np: Any = importlib.import_module("numpy")
    image: Any = importlib.import_module("matplotlib.image")
    collections: Any = importlib.import_module("matplotlib.collections")
    artist: Any = importlib.import_module("matplotlib.artist")
    set_filterrad, set_antialiased = image._ImageBase.set_filterrad, collections.Collection.set_antialiased
    set_agg_filter = artist.Artist.set_agg_filter

    def radius(self: Any, filterrad: Any) -> None:
        """The radius of the filter in pixels: a number above 0, and at most 16."""
        number = float(filterrad)
        if not 0 < number <= _RADIUS:
            raise ValueError(f"The filter radius must be a positive number of at most {_RADIUS:g}")
        set_filterrad(self, number)

    def antialiased(self: Any, aa: Any) -> None:
        """Whether edges are smoothed: True, False, or one of them for each part."""
        if aa is not None and not (aa := np.array(aa, bool)).size:  # the number of them is a divisor
            raise ValueError("antialiased takes True, False, or a list that is not empty")
        set_antialiased(self, aa)

    def unfiltered(self: Any, filter_func: Any) -> None:
        """Refuse a filter: what it returns is drawn as four bytes a pixel, whatever its shape. Every function that
        draws takes it as a keyword."""
        if filter_func is not None:
            raise ValueError("there is no agg_filter here; leave it out")
        set_agg_filter(self, None)

    unfiltered.__name__ = "set_agg_filter"
    artist.Artist.set_agg_filter = unfiltered
    radius.__name__, antialiased.__name__ = "set_filterrad", "set_antialiased"
    image._ImageBase.set_filterrad = radius
    for name in ("set_antialiased", "set_antialiaseds", "set_aa"):
        setattr(collections.Collection, name, antialiased)
