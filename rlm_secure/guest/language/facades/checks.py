"""Checks on names that reach the standard library as strings.

The compiler sees names that are written in a cell. Where a library function takes one as a value, it is checked
here: an exact `str` (a subclass may answer `isidentifier` as it likes), no underscore in front, and nothing that
the compiler refuses when it is written out.
"""

from __future__ import annotations

import keyword
import unicodedata
from collections.abc import Iterable

from ..names import CLOSED, GUARDED, OF_CONTEXTS
from ..registry import CELL, is_class, own_class, own_function, title

__all__ = ["CELL", "attribute", "identifier", "is_class", "keywords", "own_class", "own_function"]


def attribute(name: object, asked_by: str) -> str:
    """`name` as an attribute that cells may read by string. Raises TypeError or AttributeError."""
    if type(name) is not str:
        raise TypeError(f"{asked_by} takes attribute names as plain str, not {type(name).__name__}.")
    if name.startswith("_") or name in CLOSED:
        raise AttributeError(f"{asked_by} does not read {name!r}: the name is closed to cells; use public attributes.")
    if name in GUARDED | OF_CONTEXTS:  # what they may read depends on the object: the compiler's guard looks at it
        raise AttributeError(f"{asked_by} does not read {name!r}; write it out, as in x.{name}.")
    return name


def keywords(options: Iterable[object], asked_by: str) -> None:
    """Refuse keywords that are no exact `str`: one may be another name to a check than to the call. Raises TypeError.

    They come from `f(**mapping)`, and from a partial whose `keywords` a cell changed.
    """
    for name in options:
        if type(name) is not str:
            raise TypeError(f"{asked_by} takes keywords as plain str, not {title(type(name))}.")


def identifier(name: object, asked_by: str, *, private: bool = False) -> str:
    """`name` as a new identifier, safe to stand in generated code. Raises TypeError or ValueError.

    With `private`, one leading underscore is fine; two never are.
    """
    if type(name) is not str:
        raise TypeError(f"{asked_by} takes names as plain str, not {type(name).__name__}.")
    if not name.isidentifier() or keyword.iskeyword(name) or unicodedata.normalize("NFKC", name) != name:
        raise ValueError(f"{asked_by} takes identifiers, not {name[:80]!r}; use letters, digits and underscores.")
    if name.startswith("__" if private else "_"):
        raise ValueError(f"{asked_by} takes no name with a leading underscore: {name[:80]!r}; drop the underscore.")
    return name
