"""All that a DataFrame holds, as plain lists, for its digest: its columns, their types, its index and its attributes.

What is called belongs to exact classes of the packages, never to the objects: a cell cannot have replaced it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

Parts = Iterator[tuple[Any, list[Any]]]


def frames(names: Sequence[str]) -> dict[type, Callable[[Any], Parts]]:
    """The classes of tables of the packages `names` -> the function that gives the parts of one.

    Call it before any cell: then no class of a cell is among those that are read.
    """
    if "pandas" not in names:
        return {}
    np: Any = importlib.import_module("numpy")
    pd: Any = importlib.import_module("pandas")
    axes = _with_subclasses(pd.Index)
    arrays = {np.ndarray} | _with_subclasses(pd.api.extensions.ExtensionArray)

    def axis(index: Any) -> Parts:
        kind = type(index)
        if kind not in axes:
            yield ["index"], [index]  # it is no plain data, and refused as that
            return
        labels = [*index.names]
        yield ["index", kind.__name__, str(index.dtype), labels], kind.tolist(index)
        yield from categories(index.dtype)

    def categories(dtype: Any) -> Parts:
        if type(dtype) is pd.CategoricalDtype:
            yield "ordered", [dtype.ordered]
            yield from axis(dtype.categories)

    def parts(frame: Any) -> Parts:
        inner = frame._mgr
        columns, rows = inner.axes
        yield from axis(columns)
        yield from axis(rows)
        yield "attrs", [dict(frame.attrs)] if type(frame.attrs) is dict else [frame.attrs]
        for at in range(len(columns)):
            values = inner.iget_values(at)
            kind = type(values)
            if kind not in arrays:
                yield ["column"], [values]
            elif values.dtype.kind in "mM":
                yield ["column", str(values.dtype)], np.asarray(values.view("i8")).tolist()
            else:
                yield ["column", str(values.dtype)], kind.tolist(values)
                yield from categories(values.dtype)

    return {pd.DataFrame: parts}


def _with_subclasses(kind: Any) -> set[Any]:
    found, waiting = {kind}, [kind]
    while waiting:
        below = [each for each in type.__subclasses__(waiting.pop()) if each not in found]
        found.update(below)
        waiting += below
    return found
