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
from typing import TYPE_CHECKING, Any, Final

from rlm_secure.late import importer

if TYPE_CHECKING:
    from rlm_secure.async_sandbox import AsyncSandbox
    from rlm_secure.environments.interface import Snapshot
    from rlm_secure.environments.session_files import SessionFiles
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
        CodegenFailed,
        ContextError,
        EnforcementError,
        EnvironmentUnavailable,
        ErrorThresholdExceededError,
        LogError,
        MissingExtra,
        MissingKey,
        NoFinalAnswerError,
        PolicyError,
        PriceUnknownError,
        PromptTooLarge,
        ProtocolViolation,
        ProviderError,
        ReentrantCall,
        Refused,
        ResultTooLarge,
        RLMSecureError,
        SessionEnded,
        TableError,
        TimeoutExceededError,
        TokenLimitExceededError,
        ValueNotPlain,
        ValueTooLarge,
        ValueUnavailable,
        WallViolation,
        WrongProcess,
    )
    from rlm_secure.events import (
        AnswerReady,
        AnswerRejected,
        CellCompleted,
        CellStarted,
        Compacted,
        Event,
        EventsDropped,
        LimitReached,
        Listener,
        ModelCalled,
        Noticed,
        RunCompleted,
        RunStarted,
        SandboxTaken,
        StageStarted,
        SubcallCompleted,
        SubcallStarted,
        TextDelta,
        ToolCalled,
        TurnCompleted,
        TurnStarted,
        Violation,
    )
    from rlm_secure.guarantees import EnforcementReport, Guarantee, Level, Wall, WallStatus
    from rlm_secure.logger import AuditLog, RLMLogger
    from rlm_secure.policy import Policy, load_policy
    from rlm_secure.policy.model import (
        LM,
        Audit,
        BestEffort,
        Data,
        Guardrails,
        Ignore,
        Isolation,
        Language,
        Limits,
        Network,
        OtherEnvironment,
    )
    from rlm_secure.rlm.batch import Item
    from rlm_secure.rlm.rlm import RLM
    from rlm_secure.sandbox import Sandbox
    from rlm_secure.types import (
        Action,
        ClientBackend,
        CodeBlock,
        EnvironmentType,
        ModelUsageSummary,
        Notice,
        RefusedCall,
        REPLResult,
        RLMChatCompletion,
        RLMIteration,
        RLMMetadata,
        UsageSummary,
    )
    from rlm_secure.values import Values

__version__ = "0.1.0"
"""The version of this package."""

#: What is imported on first use, by its module.
_FROM: Final = {
    "rlm_secure.async_sandbox": "AsyncSandbox",
    "rlm_secure.errors": (
        "AnswerInvalidError AuditLogError BudgetExceededError CallFailed CallLimitExceededError CallRefused "
        "CancellationError CellCallsRefused CellCrashed CellError CellException CellMemoryLimit CellRefused "
        "CellSkipped CellTimeout CodegenFailed ContextError EnforcementError EnvironmentUnavailable "
        "ErrorThresholdExceededError "
        "LogError MissingExtra MissingKey NoFinalAnswerError PolicyError PriceUnknownError PromptTooLarge "
        "ProtocolViolation ProviderError RLMSecureError "
        "ReentrantCall Refused ResultTooLarge SessionEnded TableError TimeoutExceededError TokenLimitExceededError "
        "ValueNotPlain ValueTooLarge ValueUnavailable WallViolation WrongProcess"
    ),
    "rlm_secure.events": (
        "AnswerReady AnswerRejected CellCompleted CellStarted Compacted Event EventsDropped LimitReached Listener "
        "ModelCalled Noticed RunCompleted RunStarted SandboxTaken StageStarted SubcallCompleted SubcallStarted "
        "TextDelta ToolCalled TurnCompleted TurnStarted Violation"
    ),
    "rlm_secure.environments.interface": "Snapshot",
    "rlm_secure.environments.session_files": "SessionFiles",
    "rlm_secure.guarantees": "EnforcementReport Guarantee Level Wall WallStatus",
    "rlm_secure.logger": "AuditLog RLMLogger",
    "rlm_secure.policy": "Policy load_policy",
    "rlm_secure.policy.model": (
        "Audit BestEffort Data Guardrails Ignore Isolation LM Language Limits Network OtherEnvironment"
    ),
    "rlm_secure.rlm.batch": "Item",
    "rlm_secure.rlm.rlm": "RLM",
    "rlm_secure.sandbox": "Sandbox",
    "rlm_secure.types": (
        "Action ClientBackend CodeBlock EnvironmentType ModelUsageSummary Notice REPLResult RLMChatCompletion "
        "RLMIteration RLMMetadata RefusedCall UsageSummary"
    ),
    "rlm_secure.values": "Values",
}
_LAZY: Final = {name: module for module, names in _FROM.items() for name in names.split()}
_late: Final = importer(__name__, _LAZY)


def __getattr__(name: str) -> Any:
    if name == "errors":  # as an attribute of the package, without an import of its own
        return importlib.import_module("rlm_secure.errors")
    return _late(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


__all__ = [  # noqa: RUF022 - in the order of sorted(), which a test checks
    "Action",
    "AnswerInvalidError",
    "AnswerReady",
    "AnswerRejected",
    "AsyncSandbox",
    "Audit",
    "AuditLog",
    "AuditLogError",
    "BestEffort",
    "BudgetExceededError",
    "CallFailed",
    "CallLimitExceededError",
    "CallRefused",
    "CancellationError",
    "CellCallsRefused",
    "CellCompleted",
    "CellCrashed",
    "CellError",
    "CellException",
    "CellMemoryLimit",
    "CellRefused",
    "CellSkipped",
    "CellStarted",
    "CellTimeout",
    "ClientBackend",
    "CodeBlock",
    "CodegenFailed",
    "Compacted",
    "ContextError",
    "Data",
    "EnforcementError",
    "EnforcementReport",
    "EnvironmentType",
    "EnvironmentUnavailable",
    "ErrorThresholdExceededError",
    "Event",
    "EventsDropped",
    "Guarantee",
    "Guardrails",
    "Ignore",
    "Isolation",
    "Item",
    "LM",
    "Language",
    "Level",
    "LimitReached",
    "Limits",
    "Listener",
    "LogError",
    "MissingExtra",
    "MissingKey",
    "ModelCalled",
    "ModelUsageSummary",
    "Network",
    "NoFinalAnswerError",
    "Notice",
    "Noticed",
    "OtherEnvironment",
    "Policy",
    "PolicyError",
    "PriceUnknownError",
    "PromptTooLarge",
    "ProtocolViolation",
    "ProviderError",
    "REPLResult",
    "RLM",
    "RLMChatCompletion",
    "RLMIteration",
    "RLMLogger",
    "RLMMetadata",
    "RLMSecureError",
    "ReentrantCall",
    "Refused",
    "RefusedCall",
    "ResultTooLarge",
    "RunCompleted",
    "RunStarted",
    "Sandbox",
    "SandboxTaken",
    "SessionEnded",
    "SessionFiles",
    "Snapshot",
    "StageStarted",
    "SubcallCompleted",
    "SubcallStarted",
    "TableError",
    "TextDelta",
    "TimeoutExceededError",
    "TokenLimitExceededError",
    "ToolCalled",
    "TurnCompleted",
    "TurnStarted",
    "UsageSummary",
    "ValueNotPlain",
    "ValueTooLarge",
    "ValueUnavailable",
    "Values",
    "Violation",
    "Wall",
    "WallStatus",
    "WallViolation",
    "WrongProcess",
    "__version__",
    "load_policy",
]
