"""How a question to a model ended: the answer, what it took, or why there is none; for the commands that ask one."""

from __future__ import annotations

import argparse
import json
import sys
from typing import TYPE_CHECKING, Any, Final

from rlm_secure.cli.terminal import COULD_NOT_RUN, FAILED, say, write
from rlm_secure.errors import (
    AnswerInvalidError,
    BudgetExceededError,
    CodegenFailed,
    ErrorThresholdExceededError,
    NoFinalAnswerError,
    ProviderError,
    TimeoutExceededError,
    TokenLimitExceededError,
)
from rlm_secure.plural import counted

if TYPE_CHECKING:
    from rlm_secure.cli.progress import Progress
    from rlm_secure.types import RLMChatCompletion

_LIMITS: Final = (BudgetExceededError, TimeoutExceededError, TokenLimitExceededError)
#: What ends a question without an answer, beside PromptTooLarge.
NO_ANSWER: Final = (
    *_LIMITS,
    AnswerInvalidError,
    CodegenFailed,
    ErrorThresholdExceededError,
    NoFinalAnswerError,
    ProviderError,
)


def no_answer(arguments: argparse.Namespace, error: Exception, progress: Progress) -> int:
    """Say why there is no answer. Returns the exit code."""
    say(f"{arguments.prog}: no answer: {error}", style="red")
    # Before the first turn, it is the backend or the prompt that is no good, unless a limit is reached.
    return FAILED if progress.turns or isinstance(error, _LIMITS) else COULD_NOT_RUN


def facts(
    arguments: argparse.Namespace, completion: RLMChatCompletion, progress: Progress, policy: str
) -> dict[str, Any]:
    """What --json says beside the answer."""
    return {
        "model": completion.root_model,
        "seconds": completion.execution_time,
        "turns": progress.turns,
        "usage": completion.usage_summary.to_dict(),
        "environment": arguments.environment,
        "policy": policy,
        "notices": [each.to_dict() for each in completion.notices],
    }


def show_answer(arguments: argparse.Namespace, completion: RLMChatCompletion) -> None:
    """Print the answer on stdout: its text, or with --schema its JSON."""
    fits = arguments.schema is not None
    write((json.dumps(completion.parsed, ensure_ascii=False) if fits else completion.response) + "\n", sys.stdout)


def show_usage(completion: RLMChatCompletion, progress: Progress) -> None:
    """Print on stderr what the answer took."""
    usage = completion.usage_summary
    calls = sum(each.total_calls for each in usage.model_usage_summaries.values())
    cost = "" if usage.total_cost is None else f" · ${usage.total_cost:.4f}"
    say(
        f"{counted(progress.turns, 'turn')} · {counted(calls, 'model call')} · "
        f"{counted(usage.total_input_tokens, 'token')} in, {usage.total_output_tokens:,} out{cost} · "
        f"{completion.execution_time:.1f} s",
        style="dim",
    )
