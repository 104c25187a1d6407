"""For tests and audits: arena, corpus, judge, adapters for other sandboxes, sessions without the language layer.

The names below are imported on first use: pytest loads the plugin in this package into every run.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlm_secure.testing.adapter import Adapter, Limits, Said
    from rlm_secure.testing.bare import Unscreened, unscreened

_ROOMS = {"Adapter": "adapter", "Limits": "adapter", "Said": "adapter", "Unscreened": "bare", "unscreened": "bare"}

__all__ = ["Adapter", "Limits", "Said", "Unscreened", "unscreened"]


def __getattr__(name: str) -> Any:
    if name not in _ROOMS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_ROOMS[name]}"), name)
