"""Protects state of library code that cells share: tables, caches, constants. Changed in place, once, before any cell.

A cache compares keys with `==`: a key with its own `__eq__` could replace normal entries, for every later cell and for
library code. A table that is passed to a method of a cell's str can be changed by the cell. A read-only view of a dict
does not protect it: `view == x` calls a method of x with the dict itself. So keys are exact text, tables are tuples.
"""

from __future__ import annotations

import _strptime  # type: ignore[import-not-found]  # typeshed has no stub
import contextlib
import csv
import decimal
import difflib
import enum
import fractions
import functools
import gc
import re
import statistics
import string
import textwrap
import types
import typing
import urllib.parse
import uuid
from collections.abc import Callable
from typing import Any

from ..registry import is_instance, namespace_of, order_of, stored, title
from .checks import keywords
from .data import data, methods, parts_of
from .instances import Nothing

#: Named tuples of libraries that a cell can get. None has defaults, but each class has a mutable dict for them.
_TUPLES: tuple[type, ...] = (
    decimal.DecimalTuple,
    difflib.Match,
    statistics.LinearRegression,
    type(functools.lru_cache(len).cache_info()),
    urllib.parse.DefragResult,
    urllib.parse.DefragResultBytes,
    urllib.parse.ParseResult,
    urllib.parse.ParseResultBytes,
    urllib.parse.SplitResult,
    urllib.parse.SplitResultBytes,
)


def keep() -> None:
    """Apply all changes. Idempotent."""
    _exact_keys()
    _flags(enum.Flag)
    _fractions()
    _functions_of_decorators()
    _uncached()
    for kind in _TUPLES:
        for each in order_of(kind):
            if type(namespace_of(each).get("_field_defaults")) is dict:
                each._field_defaults = types.MappingProxyType(Nothing())  # type: ignore[attr-defined]
    table = textwrap.TextWrapper.unicode_whitespace_trans
    if type(table) is dict:
        # translate() looks up characters in it by number; characters beyond the end of the tuple stay unchanged.
        textwrap.TextWrapper.unicode_whitespace_trans = tuple(  # type: ignore[assignment]
            table.get(number, number) for number in range(max(table) + 1)
        )
    methods(textwrap.TextWrapper, "__init__ wrap fill")
    methods(string.Template, "__init__")
    methods(string.Template, "substitute safe_substitute is_valid get_identifiers", substitute="*", safe_substitute="*")
    methods(uuid.UUID, "__init__")
    methods(csv.Sniffer, "sniff has_header")
    methods(statistics.NormalDist, "from_samples samples pdf cdf inv_cdf quantiles zscore overlap")
    # They set attributes with fixed names on any object that is passed as self.
    methods(
        difflib.SequenceMatcher,
        "set_seqs set_seq1 set_seq2 find_longest_match get_matching_blocks get_opcodes get_grouped_opcodes ratio "
        "quick_ratio real_quick_ratio",
        set_seqs="*",
        set_seq1="*",
        set_seq2="*",
    )
    methods(difflib.Differ, "compare")


def _exact_keys() -> None:
    """Give exact text to the functions whose caches C code uses."""
    _replace(_strptime, "_strptime_time", (0, 1), "strptime takes")
    _replace(_strptime, "_strptime_datetime", (1, 2), "strptime takes")


def _replace(module: Any, name: str, texts: tuple[int, ...], says: str) -> None:
    """Replace the function `name` of `module` by one that converts its arguments at `texts` to exact text."""
    inner = getattr(module, name)

    def function(*values: Any, **options: Any) -> Any:
        given = list(values)
        for at in texts:
            if at < len(given):
                given[at] = exact_text(given[at])
                if type(given[at]) not in (str, bytes):
                    raise TypeError(f"{says} plain text, not {title(type(given[at]))}.")
        return inner(*given, **options)

    function.__name__ = function.__qualname__ = name
    setattr(module, name, function)


def exact_text(value: Any) -> Any:
    """`value`; if its class derives from str, bytes or bytearray, a plain str or bytes with the same contents."""
    if type(value) in (str, bytes):
        return value
    if is_instance(value, str):
        return str.__str__(value)
    if is_instance(value, bytes) or is_instance(value, bytearray):  # a class derived from bytearray may be hashable
        return bytes.__add__(b"", value)
    return value


def _flags(kind: type) -> None:
    """Make the library flags that derive from `kind` use exact numbers.

    A flag stores the object with which it was looked up, as its value and as a key: `re.I | x` looks up the object that
    `__ror__` of x returned. All operators of flags do this.
    """
    each: type
    for each in type.__subclasses__(kind):
        _flags(each)
        if stored(each, "_member_map_"):
            type.__setattr__(each, "__new__", staticmethod(_flag))


def _flag(cls: Any, value: Any) -> Any:
    if type(value) is not int and type(value) is not cls:
        if not is_instance(value, int):
            raise ValueError(f"a {title(type(value))} is not a valid {cls.__name__}")
        value = int.__index__(value)
    return enum.Enum.__new__(cls, value)


def _fractions() -> None:
    """Make a Fraction only of plain numbers: otherwise it would keep parts of any object that acts as a number."""
    inner = fractions.Fraction.__new__

    def __new__(cls: Any, numerator: Any = 0, denominator: Any = None, **options: Any) -> Any:
        if type(numerator) is not int:
            numerator = plain(numerator)
        if denominator is not None and type(denominator) is not int:
            denominator = plain(denominator)
        return inner(cls, numerator, denominator, **{name: data(value, "Fraction") for name, value in options.items()})

    def plain(value: Any) -> Any:
        if is_instance(value, fractions.Fraction):  # of a class that a cell derived, too
            return inner(fractions.Fraction, *(data(part, "Fraction") for part in parts_of(value)))
        return data(value, "Fraction")

    fractions.Fraction.__new__ = __new__  # type: ignore[method-assign]
    coprime = namespace_of(fractions.Fraction).get("_from_coprime_ints")
    if coprime is not None:  # since Python 3.12, operators, from_float and from_decimal make Fractions by this

        def _from_coprime_ints(cls: Any, numerator: Any, denominator: Any, /) -> Any:
            if type(numerator) is not int or type(denominator) is not int:
                raise TypeError("a Fraction is made of two plain ints.")
            return coprime.__func__(cls, numerator, denominator)

        fractions.Fraction._from_coprime_ints = classmethod(_from_coprime_ints)  # type: ignore[attr-defined]


def _functions_of_decorators() -> None:
    """Replace ContextDecorator's call by one that copies the name of the decorated function, but not its `__dict__`."""

    def __call__(self: Any, func: Callable[..., Any]) -> Callable[..., Any]:
        if not is_instance(self, contextlib.ContextDecorator):
            raise TypeError("a ContextDecorator decorates functions by an instance of it.")

        def inner(*values: Any, **options: Any) -> Any:
            with self._recreate_cm():
                return func(*values, **options)

        for name in ("__name__", "__qualname__", "__doc__"):
            text = getattr(func, name, None)
            if type(text) is str:
                setattr(inner, name, text)
        return inner

    contextlib.ContextDecorator.__call__ = __call__  # type: ignore[method-assign, assignment]


def _uncached() -> None:
    """Remove caches whose keys are objects of cells: arguments of generics, and the parts of a Fraction."""
    known: Any = typing
    caches = [clear.__self__ for clear in known._cleanups if type(clear.__self__) is _CACHE]
    for cell in gc.get_referrers(*caches):  # the closures of functions that typing decorates, up to Python 3.11
        if type(cell) is types.CellType and type(cell.cell_contents) is _CACHE:
            cell.cell_contents = cell.cell_contents.__wrapped__
    for function in getattr(known, "_caches", ()):
        known._caches[function] = function
    algorithm = getattr(fractions, "_hash_algorithm", None)  # new in Python 3.12
    if type(algorithm) is _CACHE:
        fractions._hash_algorithm = algorithm.__wrapped__  # type: ignore[attr-defined]


_CACHE = type(functools.lru_cache(len))


# ---- re --------------------------------------------------------------------------------------------------------



def _on_plain_patterns(function: Callable[..., Any], flags_at: int | None) -> Callable[..., Any]:
    asked = f"re.{function.__name__}"

    def exact_flags(flags: Any) -> int:
        if type(flags) is not int and type(flags) is not re.RegexFlag:
            raise TypeError(f"{asked} takes flags as re.IGNORECASE and its kind, not {title(type(flags))}.")
        return int.__index__(flags)

    templated = function.__name__ in ("sub", "subn")  # `re` has another cache for templates

    @functools.wraps(function, updated=())
    def wrapper(*values: Any, **options: Any) -> Any:
        if options:
            keywords(options, asked)
        pattern = values[0] if values else options.get("pattern")
        kind: type = type(pattern)
        if kind not in (str, re.Pattern, bytes):
            plain = exact_text(pattern)
            if type(plain) not in (str, bytes):
                raise TypeError(f"{asked} takes a pattern as text or compiled, not {title(kind)}; write it as a str.")
            if values:
                values = (plain, *values[1:])
            else:
                options["pattern"] = plain
        if flags_at is not None:
            if len(values) > flags_at:
                values = (*values[:flags_at], exact_flags(values[flags_at]), *values[flags_at + 1 :])
            elif "flags" in options:
                options["flags"] = exact_flags(options["flags"])
        if templated:
            values = tuple(map(exact_text, values))
            options = {name: exact_text(value) for name, value in options.items()}
        return function(*values, **options)

    del wrapper.__wrapped__
    return wrapper


def pattern_functions() -> dict[str, Callable[..., Any]]:
    """The functions of re that take a pattern. They make pattern and flags exact, which are the keys of re's cache."""
    places = {"compile": 1, "findall": 2, "finditer": 2, "fullmatch": 2, "match": 2, "search": 2, "split": 3, "sub": 4}
    places["subn"] = 4
    made = {name: _on_plain_patterns(getattr(re, name), at) for name, at in places.items()}
    made["escape"] = _on_plain_patterns(re.escape, None)  # it passes its table to translate() of the pattern
    return made


# ---- csv -------------------------------------------------------------------------------------------------------

_DIALECTS = frozenset(csv.list_dialects())


def register_dialect(name: str, *dialect: Any, **options: Any) -> None:
    """csv.register_dialect, except that the dialects of csv itself cannot be replaced."""
    _check_dialect(name)
    csv.register_dialect(name, *dialect, **options)


def unregister_dialect(name: str) -> None:
    """csv.unregister_dialect, for dialects that a cell registered."""
    _check_dialect(name)
    csv.unregister_dialect(name)


def _check_dialect(name: object) -> None:
    if type(name) is not str:
        raise TypeError(f"csv takes the name of a dialect as plain str, not {title(type(name))}.")
    if name in _DIALECTS:
        raise ValueError(f"the dialect {name!r} is csv's own; register yours under another name.")
