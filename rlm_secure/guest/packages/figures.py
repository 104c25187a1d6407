"""The settings, styles and canvas of matplotlib, as far as they say how a figure looks.

Others name programs, paths and modules to import, and the colours of the next lines may be a text that is evaluated.

Guards: that no setting or style of a cell names code, a program or a path to matplotlib
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator
from typing import Any

from ..language.names import words
from ..language.registry import is_instance, title
from . import rules
from .arrays import Context

_SETTINGS = tuple(
    words(
        "axes. figure. font. grid. hist. image. legend. lines. patch. scatter. boxplot. xtick. ytick. savefig.dpi "
        "savefig.bbox savefig.facecolor savefig.transparent savefig.format date. contour. errorbar. mathtext. axes3d. "
        "text.color"
    )
)
#: Modules and functions to call at each figure; and a font file.
_CLOSED = words("figure.hooks image.composite_image")
#: As matplotlib.rc() knows them.
_SHORT = {
    "lw": "linewidth", "ls": "linestyle", "c": "color", "fc": "facecolor", "ec": "edgecolor",
    "mew": "markeredgewidth", "aa": "antialiased",
}  # fmt: skip


def _known(inner: Any, name: Any) -> str:
    if type(name) is not str or not name.startswith(_SETTINGS) or name in _CLOSED or name not in inner:
        shown = repr(name) if type(name) is str else title(type(name))
        raise KeyError(f"{shown} is no setting that cells may use")
    return name


def _checked(inner: Any, name: Any, value: Any) -> tuple[str, Any]:
    known = _known(inner, name)
    if known == "axes.prop_cycle" and is_instance(value, str):  # it would be evaluated
        raise ValueError("axes.prop_cycle takes plt.cycler(color=[...]) here, no text")
    return known, value


def _all(inner: Any, given: Any) -> dict[str, Any]:
    if given is None:
        return {}
    if type(given) is RcParams:
        given = {name: given[name] for name in given}
    if not is_instance(given, dict):
        raise TypeError(f"settings are a dict, not a {title(type(given))}")
    return dict(_checked(inner, name, value) for name, value in list(dict.items(given)))


class RcParams:
    """matplotlib's rcParams, without the settings that cells may not use."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return f"RcParams({self.copy()!r})"

    def __getitem__(self, name: str) -> Any:
        return self._inner[_known(self._inner, name)]

    def __setitem__(self, name: str, value: Any) -> None:
        known, checked = _checked(self._inner, name, value)
        self._inner[known] = checked

    def __contains__(self, name: object) -> bool:
        return type(name) is str and name in self.keys()

    def __iter__(self) -> Iterator[str]:
        return iter(self.keys())

    def keys(self) -> list[str]:
        """The names of the settings."""
        return [name for name in self._inner if name.startswith(_SETTINGS) and name not in _CLOSED]

    def get(self, name: str, default: Any = None) -> Any:
        """The setting, or `default` where there is none of that name."""
        return self[name] if name in self.keys() else default

    def copy(self) -> dict[str, Any]:
        """All settings."""
        return {name: self[name] for name in self}

    def update(self, *values: Any, **more: Any) -> None:
        """Set several."""
        for each in (*values, more):
            self._inner.update(_all(self._inner, each))


class Canvas:
    """What a figure is drawn on."""

    __slots__ = ("_inner",)

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def __repr__(self) -> str:
        return "<canvas>"

    def draw(self) -> None:
        """Draw the figure, so that its ticks and sizes are known."""
        self._inner.draw()

    draw_idle = flush_events = draw

    def get_width_height(self) -> tuple[int, int]:
        """The size in pixels."""
        width, height = self._inner.get_width_height()
        return int(width), int(height)

    def buffer_rgba(self) -> Any:
        """The pixels, as an array of height, width and 4."""
        return importlib.import_module("numpy").array(self._inner.buffer_rgba())


for _each in (RcParams, Canvas):
    rules.adopt(_each)


def settings() -> dict[str, Any]:
    """The members of matplotlib and pyplot that are about settings."""
    mpl: Any = importlib.import_module("matplotlib")
    inner = mpl.rcParams

    def rc(group: Any, **values: Any) -> None:
        """Set settings of a group, such as lines, or of several."""
        for each in [group] if type(group) is str else group:
            inner.update(_all(inner, {f"{each}.{_SHORT.get(name, name)}": value for name, value in values.items()}))

    def rc_context(rc: Any = None) -> Context:
        """Settings for a `with` block."""
        return Context(mpl.rc_context(_all(inner, rc)))

    return {
        "rcParams": RcParams(inner),
        "rcParamsDefault": RcParams(mpl.rcParamsDefault.copy()),
        "rc": rc,
        "rc_context": rc_context,
        "rcdefaults": mpl.rcdefaults,
        "get_backend": lambda: "agg",
        "colormaps": mpl.colormaps,
    }


def styles() -> dict[str, Any]:
    """The members of matplotlib.style."""
    style: Any = importlib.import_module("matplotlib.style")
    inner = importlib.import_module("matplotlib").rcParams

    def known(name: Any) -> list[Any]:
        found: list[Any] = []
        for each in name if type(name) in (list, tuple) else [name]:
            if is_instance(each, dict):
                found.append(_all(inner, each))
            elif type(each) is str and (each == "default" or each in style.library):
                found.append(each)
            else:
                shown = repr(each) if type(each) is str else title(type(each))
                raise OSError(f"there is no style {shown}; see plt.style.available")
        return found

    def use(name: Any) -> None:
        """Use a style, or several."""
        style.use(known(name))

    def context(name: Any, after_reset: Any = False) -> Context:
        """Use a style for a `with` block."""
        return Context(style.context(known(name), after_reset=bool(after_reset)))

    return {"use": use, "context": context, "available": tuple(style.available)}


def setp(obj: Any, *values: Any, **options: Any) -> None:
    """Set properties of one artist, or of all in a list or an array."""
    properties = dict(zip(values[::2], values[1::2], strict=True)) | options
    if not properties or not all(type(name) is str for name in properties):
        raise TypeError("setp takes the properties as keywords here.")
    for each in _artists(obj):
        each.set(**artist(properties))


def _artists(value: Any) -> Iterator[Any]:
    kind = type(value)
    if "set" in (rules.names(kind) or ()):
        yield value
    elif kind.__name__ == "ndarray" and rules.names(kind) is not None:
        yield from _artists(value.ravel().tolist())
    elif is_instance(value, list) or is_instance(value, tuple):
        for each in value:
            yield from _artists(each)
    else:
        raise TypeError(f"setp takes parts of a figure, not a {title(kind)}.")


def artist(options: dict[str, Any]) -> dict[str, Any]:
    """The keywords of `set` on a part of a figure, which calls set_x for each x. Raises ValueError for a closed one."""
    if closed := options.keys() & {"canvas", "agg_filter", "picker"}:
        raise ValueError(f"set takes no {', '.join(sorted(closed))} here; leave it out.")
    return options


def setting(function: Callable[..., Any]) -> Callable[..., Any]:
    """`set` of a part of a figure."""

    def call(**options: Any) -> Any:
        return function(**artist(options))

    call.__name__ = call.__qualname__ = "set"
    return call
