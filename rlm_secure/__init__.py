"""Recursive language models whose code runs behind walls.

>>> from rlm_secure import Sandbox
>>> with Sandbox() as sandbox:
...     print(sandbox.run("print(6 * 7)").stdout)
42

`RLM` runs a model's code over a context of any size, `Sandbox` runs untrusted Python without a model, `Policy`
says what either may do. Names are imported on first use, so that `import rlm_secure` costs next to nothing.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from rlm_secure.errors import (
    AnswerInvalidError,
    AuditLogError,
    BudgetExceededError,
    CallFailed,
    CallLimitExceededError,
    CallRefused,
    CancellationError,
    CellCallsRefused,
    CellCrashed,
    CellError,
    CellException,
    CellMemoryLimit,
    CellRefused,
    CellSkipped,
    CellTimeout,
    EnforcementError,
    EnvironmentUnavailable,
    ErrorThresholdExceededError,
    LogError,
    MissingExtra,
    MissingKey,
    PolicyError,
    PriceUnknownError,
    ProtocolViolation,
    ProviderError,
    ReentrantCall,
    Refused,
    ResultTooLarge,
    RLMSecureError,
    SessionEnded,
    TimeoutExceededError,
    TokenLimitExceededError,
    ValueNotPlain,
    ValueTooLarge,
    ValueUnavailable,
    WallViolation,
    WrongProcess,
)

if TYPE_CHECKING:
    from rlm_secure.async_sandbox import AsyncSandbox
    from rlm_secure.guarantees import EnforcementReport, Guarantee, Level, Wall
    from rlm_secure.logger import RLMLogger
    from rlm_secure.policy import Policy
    from rlm_secure.rlm.rlm import RLM
    from rlm_secure.sandbox import Sandbox
    from rlm_secure.types import REPLResult, RLMChatCompletion
    from rlm_secure.values import Values

__version__ = "0.1.0"

_LAZY = {
    "AsyncSandbox": "rlm_secure.async_sandbox",
    "EnforcementReport": "rlm_secure.guarantees",
    "Guarantee": "rlm_secure.guarantees",
    "Level": "rlm_secure.guarantees",
    "Policy": "rlm_secure.policy",
    "REPLResult": "rlm_secure.types",
    "RLM": "rlm_secure.rlm.rlm",
    "RLMChatCompletion": "rlm_secure.types",
    "RLMLogger": "rlm_secure.logger",
    "Sandbox": "rlm_secure.sandbox",
    "Values": "rlm_secure.values",
    "Wall": "rlm_secure.guarantees",
}


def __getattr__(name: str) -> Any:
    if name not in _LAZY:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [  # noqa: RUF022 - in the order of sorted(), which a test checks
    "AnswerInvalidError",
    "AsyncSandbox",
    "AuditLogError",
    "BudgetExceededError",
    "CallFailed",
    "CallLimitExceededError",
    "CallRefused",
    "CancellationError",
    "CellCallsRefused",
    "CellCrashed",
    "CellError",
    "CellException",
    "CellMemoryLimit",
    "CellRefused",
    "CellSkipped",
    "CellTimeout",
    "EnforcementError",
    "EnforcementReport",
    "EnvironmentUnavailable",
    "ErrorThresholdExceededError",
    "Guarantee",
    "Level",
    "LogError",
    "MissingExtra",
    "MissingKey",
    "Policy",
    "PolicyError",
    "PriceUnknownError",
    "ProtocolViolation",
    "ProviderError",
    "REPLResult",
    "RLM",
    "RLMChatCompletion",
    "RLMLogger",
    "RLMSecureError",
    "ReentrantCall",
    "Refused",
    "ResultTooLarge",
    "Sandbox",
    "SessionEnded",
    "TimeoutExceededError",
    "TokenLimitExceededError",
    "ValueNotPlain",
    "ValueTooLarge",
    "ValueUnavailable",
    "Values",
    "Wall",
    "WallViolation",
    "WrongProcess",
    "__version__",
]
