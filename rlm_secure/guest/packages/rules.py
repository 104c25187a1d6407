"""Which attributes of third-party objects a cell may read and set: a list of names for each class, and else none.

The class is judged by identity. A class that was there before the packages were imported is the standard library's, and
the ordinary guards hold for it; a cell's own class is the cell's. Any other class was made by a package: what is not in
the tables is closed, so an internal object that a method returns by accident leads nowhere.

Guards: that every class of a package is closed but for the names that were chosen
"""

from __future__ import annotations

import sys

from . import tables

_standard: set[type] = set()
_names: dict[type, frozenset[str]] = {}


def classes() -> set[type]:
    """All classes of this process."""
    found: set[type] = set()
    waiting: list[type] = [object]
    while waiting:
        kind = waiting.pop()
        if kind not in found:
            found.add(kind)
            waiting += type.__subclasses__(kind)
    return found


def before() -> None:
    """Note the classes that exist now as the standard library's. Call it before a package is imported."""
    _standard.update(classes())


def after() -> None:
    """Find the classes of the tables. Call it when the packages are imported."""
    for place, listed in tables.NAMES.items():
        module, _, title = place.partition(":")
        _list(module, title, listed)
    for source, module, titles, more in tables.ALIKE:
        for title in titles.split():
            _list(module, title, f"{tables.NAMES.get(source, '')} {more}")


def _list(module: str, title: str, listed: str) -> None:
    found = getattr(sys.modules.get(module), title, None)
    if isinstance(found, type) and found not in _names:
        _names[found] = frozenset(listed.split())


def alike(kinds: set[type], listed: str) -> None:
    """Give all of `kinds` the same open names."""
    for kind in kinds:
        _names[kind] = frozenset(listed.split())


def standard(kind: type) -> bool:
    """Whether `kind` belongs to the interpreter or the standard library."""
    return kind in _standard


def names(kind: type) -> frozenset[str] | None:
    """The open names of objects of `kind`; None for a class that nobody reviewed."""
    return _names.get(kind)


def adopt(kind: type) -> None:
    """Count `kind`, which the guest made for the packages, as reviewed."""
    _standard.add(kind)
