"""Functions of the standard library and of the packages that would do for a cell what the guards refuse.

`copy` of the standard library gives an object of a cell its own memo, and sets any state on whatever `__new__`
returned; the packages call it on what a cell gave them (`df.attrs`, items of arrays). `str.format` reads attributes by
a text of the cell, where matplotlib formats labels. pandas writes every public attribute of an object to JSON.

Guards: that no function of a package copies or formats an object of a cell unguarded
"""

from __future__ import annotations

import copy
import importlib
from collections.abc import Callable
from typing import Any

from ..language import names
from ..language.facades import copying
from ..language.registry import is_instance, own_class, title
from . import rules

_CONTAINERS = frozenset({dict, list, tuple, super})  # matplotlib copies a super()


def copies() -> None:
    """Have `copy` take only containers and objects of packages; all else is copied as for a cell. Idempotent.

    Call it after rules.before() and before a package is imported: some take the functions themselves.
    """
    if copy.deepcopy.__module__ == __name__:
        return
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


def to_json(function: Callable[..., Any]) -> Callable[..., Any]:
    """`to_json`, which calls `default_handler` for objects that JSON has no form for; here it raises by default."""

    def call(*values: Any, **options: Any) -> Any:
        if options.get("default_handler") is None:
            options["default_handler"] = _refused
        return function(*values, **options)

    return call


def _refused(value: Any) -> Any:
    raise TypeError(f"JSON has no form for {title(type(value))} objects; pass default_handler=str.")
