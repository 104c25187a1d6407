"""Third-party packages for cells (numpy, pandas, matplotlib), imported before the zygote loses its files."""

from __future__ import annotations

import importlib
import os
from collections.abc import Sequence

from . import finder


def load(names: Sequence[str], paths: Sequence[str]) -> None:
    """Import `names` from the folders `paths`, with all that they import late. Raises ImportError, RuntimeError."""
    with finder.found(names, paths):
        for name in names:
            importlib.import_module(name)
        if "matplotlib" in names:
            importlib.import_module("matplotlib.pyplot")
    if len(os.listdir("/proc/self/task")) > 1:
        raise RuntimeError("a package started a thread; sessions can only be forked from a single-threaded process")
