"""The local environment: sealed worker processes on this machine, the only walls that we build ourselves."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rlm_secure.environments.local.environment import LocalEnvironment


def __getattr__(name: str) -> Any:
    if name != "LocalEnvironment":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # On first use: launch.py starts a process before the host imports what talks to it.
    return importlib.import_module("rlm_secure.environments.local.environment").LocalEnvironment


__all__ = ["LocalEnvironment"]
