"""Imports of chosen third-party packages, from the folders in which the host has them, and of no others.

The zygote runs without site-packages (-I -S). A package takes whatever optional parts it finds there: pandas imports
pyarrow, and starts a thread of its own with it; numexpr compiles text. So only the packages of the set and what they
need are found; for all others, an import fails as if they were not installed.

Guards: which code of the host's or the image's site-packages the zygote imports
"""

from __future__ import annotations

import contextlib
import importlib.machinery
import os
import re
import sys
from collections.abc import Iterator, Sequence
from typing import Any

#: What each package needs, by the names that are imported.
NEEDS: dict[str, tuple[str, ...]] = {
    "numpy": ("numpy",),
    "pandas": ("numpy", "pandas", "_cyutility", "dateutil", "six", "pytz", "tzdata"),
    "matplotlib": (
        "numpy", "matplotlib", "mpl_toolkits", "PIL", "contourpy", "cycler", "dateutil", "fontTools", "kiwisolver",
        "packaging", "pyparsing", "six",
    ),
}  # fmt: skip


#: The oldest version of each that was reviewed: what is closed in older ones is not all that leads out of them.
OLDEST: dict[str, tuple[int, int]] = {"numpy": (2, 4), "pandas": (3, 1), "matplotlib": (3, 11)}
_VERSION = re.compile(r"([0-9]{1,9})\.([0-9]{1,9})(?![0-9])")


def check(packages: Sequence[str], paths: Sequence[str]) -> None:
    """Raise ImportError unless the folders `paths` have each of `packages`, in no older version than was reviewed.

    The name of the metadata beside a package tells its version: no code of it is run for that.
    """
    for name in packages:
        spec = importlib.machinery.PathFinder.find_spec(name, list(paths))
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"No module named {name!r}")
        beside = os.listdir(os.path.dirname(os.path.dirname(spec.origin)))
        found = [
            (int(match[1]), int(match[2]))
            for entry in beside
            if entry.startswith(f"{name}-") and entry.endswith((".dist-info", ".egg-info"))
            if (match := _VERSION.match(entry, len(name) + 1))
        ]
        least = "{}.{}".format(*OLDEST[name])
        if not found:
            raise ImportError(f"the version of {name} cannot be told; {least} or newer is needed")
        if min(found) < OLDEST[name]:
            raise ImportError("{} {}.{} is too old; {} or newer is needed".format(name, *min(found), least))


class _Finder:
    def __init__(self, names: frozenset[str], paths: Sequence[str]) -> None:
        self._names = names
        self._paths = list(paths)

    def find_spec(self, name: str, path: Any = None, _target: Any = None) -> Any:
        if path is not None:
            return None  # a submodule: found where its package is
        if name not in self._names:
            return None
        return importlib.machinery.PathFinder.find_spec(name, self._paths)


@contextlib.contextmanager
def found(packages: Sequence[str], paths: Sequence[str]) -> Iterator[None]:
    """Within this, `packages` and what they need are imported from the folders `paths`."""
    finder = _Finder(frozenset(name for each in packages for name in NEEDS[each]), paths)
    sys.meta_path.append(finder)
    try:
        yield
    finally:
        sys.meta_path.remove(finder)
