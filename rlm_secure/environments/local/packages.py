"""The third-party packages of a zygote: which a policy asks for, where this Python has them, how they are started."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from rlm_secure.errors import EnvironmentUnavailable

PACKAGES = ("numpy", "pandas", "matplotlib")


def of(modules: Iterable[str]) -> tuple[str, ...]:
    """The packages that a policy with these `modules` needs. With pandas or matplotlib comes numpy."""
    asked = {name.partition(".")[0] for name in modules} & set(PACKAGES)
    return tuple(name for name in PACKAGES if name in asked or (name == "numpy" and asked))


def folders(packages: Iterable[str]) -> list[str]:
    """The folders in which this Python has `packages`. Raises EnvironmentUnavailable for one that is not installed."""
    found: dict[str, None] = {}
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise EnvironmentUnavailable(f"{name} is not installed: pip install 'rlm-secure[data]'")
        found[str(Path(spec.origin).parents[1])] = None
    return list(found)
