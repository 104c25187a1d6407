"""Functions of the standard library and of the packages that would do for a cell what the guards refuse.

`copy` of the standard library gives an object of a cell its own memo, and sets any state on whatever `__new__`
returned; the packages call it on what a cell gave them (`df.attrs`, items of arrays). `str.format` reads attributes by
a text of the cell, where matplotlib formats labels. pandas writes every public attribute of an object to JSON.

Guards: that no function of a package copies or formats an object of a cell unguarded
"""

from __future__ import annotations

import copy
import importlib
import operator
from collections.abc import Callable
from typing import Any

from ..language import names
from ..language.facades import copying
from ..language.registry import is_instance, own_class, title
from . import rules

_CONTAINERS = frozenset({dict, list, tuple, super})  # matplotlib copies a super()
#: What pandas goes through item by item when it writes JSON.
_HELD = (dict, list, tuple, set, frozenset)


def copies() -> None:
    """Have `copy` take only containers and objects of packages; all else is copied as for a cell.

    Call it after rules.before() and before a package is imported: some take the functions themselves.
    """
    shallow: Any = copy.copy
    deep: Any = copy.deepcopy

    def of_package(x: Any) -> bool:
        kind = type(x)
        return kind in _CONTAINERS or not (rules.standard(kind) or own_class(kind))

    def copied(x: Any) -> Any:
        return shallow(x) if of_package(x) else copying.shallow(x)

    def deepcopied(x: Any, memo: Any = None, _nil: Any = None) -> Any:
        return deep(x, memo) if of_package(x) else copying.deepcopy(x)

    copy.copy, copy.deepcopy = copied, deepcopied
    # What deepcopy does with a container or a state, it does by functions that hold it as a default.
    for name in ("_deepcopy_list", "_deepcopy_tuple", "_deepcopy_dict"):
        getattr(copy, name).__defaults__ = (deepcopied,)
    copy._reconstruct.__kwdefaults__ = {"deepcopy": deepcopied}  # type: ignore[attr-defined]


def formats() -> None:
    """Have matplotlib refuse templates that read attributes."""
    ticker: Any = importlib.import_module("matplotlib.ticker")
    cbook: Any = importlib.import_module("matplotlib.cbook")
    axes: Any = importlib.import_module("matplotlib.axes")
    on_ticks, on_bars, on_pies = ticker.StrMethodFormatter.__call__, cbook._auto_format_str, axes.Axes.pie_label

    def __call__(self: Any, x: Any, pos: Any = None) -> Any:
        _plain(self.fmt)
        return on_ticks(self, x, pos)

    def _auto_format_str(fmt: Any, value: Any) -> Any:
        _plain(fmt)
        return on_bars(fmt, value)

    def pie_label(self: Any, container: Any, /, labels: Any, **options: Any) -> Any:
        _plain(labels)
        return on_pies(self, container, labels, **options)

    ticker.StrMethodFormatter.__call__ = __call__
    cbook._auto_format_str = _auto_format_str
    axes.Axes.pie_label = pie_label


def _plain(template: Any) -> None:
    """Raise ValueError if `template` is text that reads attributes."""
    if is_instance(template, str):
        try:
            walks = next(names.format_walks(str.__str__(template)), None)
        except ValueError:
            return  # no template, or one that str.format refuses as well
        if walks is not None:
            raise ValueError(f"a label cannot read the attribute {names.shown(walks)}")


def to_json(table: Any) -> Callable[..., Any]:
    """`to_json` of `table`, which calls `default_handler` for objects that JSON has no form for; here it raises by
    default.

    pandas goes on in a list or a dict that this call, or the text of a key, has changed: it is given copies.
    """

    def call(*values: Any, **options: Any) -> Any:
        given = options.get("default_handler")
        options["default_handler"] = _refused if given is None else lambda value: _copied(given(value))
        return _alone(table).to_json(*values, **options)

    return call


def _alone(table: Any) -> Any:
    """`table`, or a copy of it in which nothing that holds other values is one of the cell."""
    pd: Any = importlib.import_module("pandas")
    columns = [table] if table.ndim == 1 else [table.iloc[:, at] for at in range(table.shape[1])]
    made = table
    for at, column in enumerate(columns):
        if column.dtype != object:
            continue
        values = column.array
        copied = [_copied(each) for each in values]
        if all(map(operator.is_, copied, values)):
            continue
        column = pd.Series(copied, column.index, dtype=object, name=column.name)
        if table.ndim == 1:
            return column
        made = made.copy() if made is table else made
        made.isetitem(at, column)
    return made


def _copied(value: Any) -> Any:
    kind = type(value)
    if kind is str:
        return value
    if is_instance(value, dict):
        return {key: _copied(each) for key, each in list(dict.items(value))}
    for held in (list, tuple, set, frozenset):
        if is_instance(value, held):
            return [_copied(each) for each in list(held.__iter__(value))]
    if "to_json" in (rules.names(kind) or ()):
        return _alone(value)
    if "tolist" in (rules.names(kind) or ()) and getattr(getattr(value, "dtype", None), "kind", "") == "O":
        return _copied(value.tolist())  # of an array or an index
    return value


def _refused(value: Any) -> Any:
    raise TypeError(f"JSON has no form for {title(type(value))} objects; pass default_handler=str.")
