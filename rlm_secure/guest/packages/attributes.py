"""The guards on attributes in sessions with third-party packages: every load of a cell goes through `read`.

In other sessions a public name is a plain load, because objects of the standard library were reviewed one by one. The
classes of these packages are too many and too open for that, so they have lists of names (tables.py).

Guards: which attributes of the packages' objects a cell reads and sets
"""

from __future__ import annotations

import contextlib
import datetime
import io
import re
import sys
import types
import typing
from collections.abc import Callable
from typing import Any

from ..language import classes, facades, names, registry
from ..language.attributes import Attributes
from ..language.registry import derives, is_class, own_class, title
from ..language.violations import AttributeRefused, RuleViolation
from . import aggregations, arrays, figures, mended, modules, rules, screened

#: What writes -> the keyword of where, and what it writes, as screened.writer takes it.
_WRITERS = {
    "to_csv": ("path_or_buf", "either"), "to_json": ("path_or_buf", "either"), "to_html": ("buf", "text"),
    "to_string": ("buf", "text"), "to_latex": ("buf", "text"),
}  # fmt: skip
_BY_NAME = frozenset({"agg", "aggregate", "apply", "transform"})
#: Alternate constructors and the like, on the class itself.
_ON_CLASSES = names.words(
    "from_dict from_records from_tuples from_arrays from_product from_breaks from_codes from_frame from_list "
    "from_ordinals fromisoformat now today utcnow fromtimestamp fromordinal strptime combine fit fromroots identity "
    "min max resolution basis"
)
_SETTABLE = {
    "DataFrame": frozenset({"columns", "index"}),
    "Series": frozenset({"name", "index"}),
    "Index": frozenset({"name", "names"}),
}


#: Classes whose public names are plain loads in every session. Not `type` and other classes of classes.
_OPEN: frozenset[Any] = classes.PLAIN_TYPES | {
    types.FunctionType, types.BuiltinFunctionType, types.GeneratorType, types.SimpleNamespace,
    type({}.keys()), type({}.values()), type({}.items()), datetime.datetime, datetime.date, datetime.timedelta,
}  # fmt: skip


class _Known(set[type]):
    """The set of the cell's own classes, each of which is open as well."""

    def __init__(self, opened: set[type]) -> None:
        super().__init__()
        self._opened = opened

    def add(self, kind: type) -> None:
        super().add(kind)
        self._opened.add(kind)


class PackageAttributes(Attributes):
    """The guards of one session whose zygote has packages."""

    def __init__(self, space: dict[str, object]) -> None:
        super().__init__(space)
        self.open.update(_OPEN)
        self.open.update(type(facades.load(name)) for name in facades.NAMES)
        self.known = _Known(self.open)

    def asked(self, name: str) -> str:
        """`name`. None is kept: here the object decides about every name."""
        return name

    def read(self, value: Any, name: str, *default: Any) -> Any:
        """getattr(value, name[, default]) for an exact `name`. Raises RuleViolation for a closed attribute."""
        kind = type(value)
        if self._guarded_elsewhere(kind):
            if is_class(value) and _of_package(value):
                return self._on_class(value, name, *default)
            if not names.is_private(name) and _forwards(value, kind):
                if kind is types.MethodType:
                    return self.read(value.__func__, name, *default)
                raise _refused(kind, name)
            return super().read(value, name, *default)
        if _any_class(value):  # with a metaclass of a package
            return self._on_class(value, name, *default)
        if names.is_private(name):
            return self._private(value, name, *default)
        listed = rules.names(kind)
        if listed is None:
            if derives(kind, BaseException):
                return super().read(value, name, *default)
            if derives(kind, tuple) and name in _fields(kind):  # a row of itertuples
                return getattr(value, name, *default)
            raise _refused(kind, name)
        if name not in listed and not _is_column(value, kind, name):
            if hasattr(value, name):
                raise _refused(kind, name)
            if default:
                return default[0]
            raise AttributeError(f"{title(kind)!r} object has no attribute {names.shown(name)}")
        found = getattr(value, name, *default)
        if name == "tobytes":
            return screened.raw(found, value, f"{title(kind)}.tobytes")
        if name == "view":
            return arrays.view(found, value, f"{title(kind)}.view")
        if name == "canvas":
            return figures.Canvas(found)
        if name == "to_json":
            found = mended.to_json(value)
        return _screened(found, kind, name, self._space) if callable(found) else found

    def store(self, value: Any, name: str) -> Any:
        """`value`, if a cell may set or delete its attribute `name`. Raises RuleViolation otherwise."""
        kind = type(value)
        if kind is modules.Display and not names.is_private(name):
            return value
        if self._guarded_elsewhere(kind):
            return super().store(value, name)
        for each in registry.order_of(kind):
            if name in _SETTABLE.get(title(each), ()) and rules.names(kind) is not None:
                return value
        if _is_column(value, kind, name):
            return value
        raise RuleViolation("attribute-store", f"cannot set {names.shown(name)} on {title(kind)}; use x[...] = ...")

    def _guarded_elsewhere(self, kind: type) -> bool:
        """Whether `kind` is none of a package's, so that the guards of every session decide."""
        standard = kind is types.FunctionType or rules.standard(kind) or derives(kind, facades.Facade)
        return standard or kind in self.known or own_class(kind)

    def _private(self, value: Any, name: str, *default: Any) -> Any:
        kind = type(value)
        if name in names.TEXTS:
            return super().read(value, name, *default)
        raise _refused(kind, name)

    def _on_class(self, value: Any, name: str, *default: Any) -> Any:
        if name in names.TEXTS:
            return super().read(value, name, *default)
        if name in _ON_CLASSES and rules.names(value) is not None:
            return getattr(value, name, *default)
        raise RuleViolation("closed-attribute", f"{names.shown(name)} of the class {title(value)} is closed to cells")


def _of_package(kind: type) -> bool:
    return not rules.standard(kind) and not own_class(kind)


#: Objects of the packages and of the interpreter whose names no cell may read, though their classes are the standard
#: library's: a package may pass one to a function of the cell.
_CLOSED: frozenset[Any] = frozenset({
    io.BytesIO, io.TextIOWrapper, memoryview, types.ModuleType, types.FrameType, types.CodeType, types.TracebackType,
})  # fmt: skip
_ALIASES = (types.GenericAlias, typing._BaseGenericAlias)  # type: ignore[attr-defined]
_alias_of = types.GenericAlias.__dict__["__origin__"].__get__
_super_self = super.__dict__["__self__"].__get__


def _forwards(value: Any, kind: type) -> bool:
    """Whether an attribute of `value`, of a standard class, is one of something else, which may be a package's."""
    if kind is types.MethodType or kind in _CLOSED:
        return True
    if kind is contextlib._GeneratorContextManager:  # its parts, and so the function below the facade's
        return not registry.own_function(value.func)
    if kind is super:
        held = _super_self(value)
        return _of_package(held if _any_class(held) else type(held))
    if any(derives(kind, each) for each in _ALIASES):
        origin = _alias_of(value) if derives(kind, types.GenericAlias) else vars(value).get("__origin__")
        return _any_class(origin) and _of_package(origin)
    return False


def _any_class(value: Any) -> bool:
    """Whether `value` is a class, also one with a metaclass of a package."""
    return type in registry.order_of(type(value))


def _fields(kind: type) -> tuple[str, ...]:
    found = registry.stored(kind, "_fields")
    return found if type(found) is tuple else ()


def _is_column(value: Any, kind: type, name: str) -> bool:
    """Whether `value.name` is what `value["name"]` is: a column, or a key of the index."""
    if title(kind) not in ("DataFrame", "Series", "DataFrameGroupBy") or hasattr(kind, name):
        return False
    if title(kind) == "Series":
        return name in value.index
    return name in (value if title(kind) == "DataFrame" else value.obj).columns


def _screened(found: Any, kind: type, name: str, space: dict[str, object]) -> Callable[..., Any]:
    who = f"{title(kind)}.{name}"
    if name in _WRITERS:
        return screened.writer(found, who, *_WRITERS[name])
    if name == "info":
        return screened.informing(found, who)
    if name == "savefig":
        return screened.drawing(found, who)
    if name in _BY_NAME:
        return aggregations.aggregating(found, who)
    if name == "pivot_table":
        return aggregations.aggregating(found, who, "aggfunc", 3)
    if name in ("plot", "hist", "boxplot"):
        return found if rules.names(type(found)) is not None else screened.optional(found, who)
    if name == "set":
        return figures.setting(found)
    if name in ("query", "eval"):
        return _queried(found, who, space)
    return found  # type: ignore[no-any-return]


def _queried(found: Any, who: str, space: dict[str, object]) -> Callable[..., Any]:
    """`query` or `eval`, whose `@name` is a variable of the cell that calls it.

    What the text may say is decided where pandas reads it: no attribute, call or subscript (packages.close).
    """

    def query(expr: Any, *, inplace: bool = False) -> Any:
        if type(expr) is not str:
            raise TypeError(f"{who} takes plain text.")
        frame = sys._getframe(1)
        seen = {**space, **(frame.f_locals if frame.f_globals is space else {})}
        named = {name: seen[name] for name in _VARIABLE.findall(expr) if name in seen and not names.is_private(name)}
        return found(expr, inplace=inplace, engine="python", local_dict=named, global_dict={})

    return query


_VARIABLE = re.compile(r"@([A-Za-z]\w*)")


#: What to use instead of what is closed.
_INSTEAD = {
    each: why
    for listed, why in {
        "to_pickle to_parquet to_feather to_orc to_hdf to_stata to_excel to_sql to_gbq to_xarray to_iceberg to_xml": (
            "use to_csv or to_json"
        ),
        "to_clipboard to_markdown style": "use to_string() or to_html()",
        "ctypes data base flags strides setflags getfield setfield tofile dump dumps byteswap newbyteorder": (
            "use tolist(), astype(), copy() or np.save()"
        ),
        "resize": "use np.resize()",
        "grouper index_names set_canvas": "it is internal",
        "set_picker set_url set_gid set_agg_filter set_sketch_params mpl_connect": "there is no window",
        "iplot hvplot sparse list struct": "it needs a package that is not here",
    }.items()
    for each in listed.split()
}


def _refused(kind: type, name: str) -> RuleViolation:
    instead = _INSTEAD.get(name, "use another public method of it")
    return AttributeRefused("closed-attribute", f"{names.shown(name)} of {title(kind)} is closed to cells; {instead}")
