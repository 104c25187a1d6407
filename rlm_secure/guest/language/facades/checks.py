"""Checks names that are passed to the standard library as strings.

The compiler checks names that are written in a cell. Where a library function takes a name as a value, it is checked
here: it must be an exact `str` (a subclass may return anything from `isidentifier`), must not begin with an underscore,
and must not be a name that the compiler would refuse.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterable

from ..names import CLOSED, GUARDED, OF_CONTEXTS
from ..registry import CELL, is_class, own_class, own_function, title

__all__ = ["CELL", "attribute", "identifier", "is_class", "keywords", "own_class", "own_function"]


def attribute(name: object, asked_by: str) -> str:
    """Return `name` if cells may read an attribute of that name by string. Raises TypeError or AttributeError."""
    if type(name) is not str:
        raise TypeError(f"{asked_by} takes attribute names as plain str, not {type(name).__name__}.")
    if name.startswith("_") or name in CLOSED:
        raise AttributeError(f"{asked_by} does not read {name!r}: the name is closed to cells; use public attributes.")
    if name in GUARDED | OF_CONTEXTS:  # allowed for some objects only, which the compiler's guard checks
        raise AttributeError(f"{asked_by} does not read {name!r}; write it out, as in x.{name}.")
    return name


def keywords(options: Iterable[object], asked_by: str) -> None:
    """Refuse keywords that are not exact `str`: others could be different names in a check and in the call.

    They can come from `f(**mapping)`, and from a partial whose `keywords` a cell has changed. Raises TypeError.
    """
    for name in options:
        if type(name) is not str:
            raise TypeError(f"{asked_by} takes keywords as plain str, not {title(type(name))}.")


def identifier(name: object, asked_by: str, *, private: bool = False) -> str:
    """Return `name` if it is an identifier that is safe in generated code. Raises TypeError or ValueError.

    With `private`, one leading underscore is allowed, but never two.
    """
    if type(name) is not str:
        raise TypeError(f"{asked_by} takes names as plain str, not {type(name).__name__}.")
    if not name.isidentifier() or keyword.iskeyword(name) or unicodedata.normalize("NFKC", name) != name:
        raise ValueError(f"{asked_by} takes identifiers, not {name[:80]!r}; use letters, digits and underscores.")
    if name.startswith("__" if private else "_"):
        raise ValueError(f"{asked_by} takes no name with a leading underscore: {name[:80]!r}; drop the underscore.")
    return name
