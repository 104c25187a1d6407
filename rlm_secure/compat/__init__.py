"""Upstream's module paths and names: `import rlm_secure.compat as rlm`, or `install()` for `import rlm`.

>>> import rlm_secure.compat
>>> rlm_secure.compat.install()
>>> from rlm.environments.local_repl import LocalREPL
>>> from rlm.core.types import REPLResult

One file for each of upstream's modules. Nothing else in the package imports this folder, so it can be deleted.
"""

from __future__ import annotations

from rlm_secure.compat import clients, core, environments, logger, utils
from rlm_secure.compat.finder import install
from rlm_secure.errors import (
    BudgetExceededError,
    CancellationError,
    ErrorThresholdExceededError,
    TimeoutExceededError,
    TokenLimitExceededError,
)
from rlm_secure.rlm.rlm import RLM

__all__ = [
    "RLM",
    "BudgetExceededError",
    "CancellationError",
    "ErrorThresholdExceededError",
    "TimeoutExceededError",
    "TokenLimitExceededError",
    "clients",
    "core",
    "environments",
    "install",
    "logger",
    "utils",
]
