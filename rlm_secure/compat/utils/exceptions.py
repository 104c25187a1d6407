"""Upstream's `rlm.utils.exceptions`."""

from rlm_secure.errors import (
    BudgetExceededError,
    CancellationError,
    ErrorThresholdExceededError,
    TimeoutExceededError,
    TokenLimitExceededError,
)

__all__ = [
    "BudgetExceededError",
    "CancellationError",
    "ErrorThresholdExceededError",
    "TimeoutExceededError",
    "TokenLimitExceededError",
]
