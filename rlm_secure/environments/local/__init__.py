"""The local environment: sealed worker processes on this machine, the only walls that we build ourselves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rlm_secure.late import importer

if TYPE_CHECKING:
    from rlm_secure.environments.local.environment import LocalEnvironment

# launch.py starts a process before the host imports what talks to it.
__getattr__ = importer(__name__, {"LocalEnvironment": "rlm_secure.environments.local.environment"})

__all__ = ["LocalEnvironment"]
