"""What follows from a policy's values alone, for the model and for what stands in for it (shipped.py)."""

from __future__ import annotations

from collections.abc import Iterable

from rlm_secure.guarantees import Wall
from rlm_secure.registry import ENVIRONMENTS

#: Third-party packages that have facades, each with all that it needs. They are installed beside us: the extra `data`.
PACKAGES = ("matplotlib", "numpy", "pandas")


def packages(modules: Iterable[str]) -> tuple[str, ...]:
    """The third-party packages that `modules` need, sorted. With pandas or matplotlib comes numpy."""
    asked = {name for name in modules if name in PACKAGES}
    return tuple(sorted(asked | {"numpy"})) if asked else ()


def required(
    environment: str, listed: Iterable[Wall], own: Iterable[Wall], best_effort: Iterable[Wall]
) -> tuple[Wall, ...]:
    """The walls that `environment` must build: those listed for it, its own, and those of every environment of its
    kind, without those that may be missing."""
    optional = set(best_effort)
    always = ENVIRONMENTS[environment].always if environment in ENVIRONMENTS else ()
    return tuple(wall for wall in dict.fromkeys((*listed, *own, *always)) if wall not in optional)
