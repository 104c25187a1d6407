"""Where this Python has the third-party packages that a policy gives to cells."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from rlm_secure.errors import EnvironmentUnavailable


def folders(packages: Iterable[str]) -> list[str]:
    """The folders in which this Python has `packages`. Raises EnvironmentUnavailable for one that is not installed."""
    found: dict[str, None] = {}
    for name in packages:
        spec = importlib.util.find_spec(name)
        if spec is None or spec.origin is None:
            raise EnvironmentUnavailable(
                f"the policy gives {name} to cells, which is not installed here: pip install 'rlm-secure[data]'"
            )
        found[str(Path(spec.origin).parents[1])] = None
    return list(found)
