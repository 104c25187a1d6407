"""Children of a run: their configuration, and how their failures are reported."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace

from rlm_secure.errors import AuditLogError, BudgetExceededError, told_to_cells
from rlm_secure.events import SubcallCompleted, SubcallStarted, tell
from rlm_secure.logger import VerbosePrinter
from rlm_secure.rlm.budget import LIMITS, exhausted
from rlm_secure.rlm.config import RunConfig
from rlm_secure.rlm.tree import Tree
from rlm_secure.types import RefusedCall, RLMChatCompletion, UsageSummary, not_kept


def run_child(
    tree: Tree, child: RunConfig, prompt: str, complete: Callable[[], RLMChatCompletion]
) -> RLMChatCompletion:
    """Run `complete()` of `child` and notify the listeners. A failure is an answer that begins with "Error: ".

    Raises nothing but AuditLogError, KeyboardInterrupt and SystemExit: a child's failure is its parent's input, but
    what cannot be audited does not go on.
    """
    began = time.monotonic()
    try:
        tree.ledger.check_rest()
    except LIMITS as limit:
        return refused(child.root_model, prompt, exhausted(limit), began)
    error: str | None = None
    tell(child.on_subcall_start, child.depth, child.root_model, prompt[:80])
    tree.emit(SubcallStarted(depth=child.depth, model=child.root_model, prompt=prompt))
    try:
        completion = complete()
    except AuditLogError as failure:
        error = _told(failure)
        raise
    except Exception as failure:  # noqa: BLE001  see above
        error = _told(failure)
        completion = failed(child.root_model, prompt, error, began)
    finally:
        seconds = time.monotonic() - began
        tell(child.on_subcall_complete, child.depth, child.root_model, seconds, error)
        tree.emit(SubcallCompleted(depth=child.depth, model=child.root_model, seconds=seconds, error=error))
    return completion


def child_of(config: RunConfig, model: str | None) -> RunConfig:
    """The configuration of a child run: the same, one level deeper, without what belongs to the root alone."""
    return replace(
        config,
        backend_kwargs={**config.backend_kwargs, **({"model_name": model} if model else {})},
        depth=config.depth + 1,
        logger=None if config.logger is None else config.logger.fresh(),
        verbose=VerbosePrinter(enabled=False),
        persistent=False,
        custom_tools=config.custom_sub_tools,
        user_prologue=None,
        on_event=None,
        answer_schema=None,
        files={},
    )


def failed(model: str, prompt: str, error: str, began: float) -> RLMChatCompletion:
    """A completion that holds the error of a failed child."""
    return RLMChatCompletion(model, prompt, error, UsageSummary({}), time.monotonic() - began, error=error)


def refused(model: str, prompt: str, error: str, began: float) -> RefusedCall:
    """A call that was not made. Its prompt is not kept: a cell may make many such calls."""
    size = not_kept(len(prompt), "characters")
    return RefusedCall(model, size, error, UsageSummary({}), time.monotonic() - began, error=error)


def _told(failure: Exception) -> str:
    """Why a child failed, in upstream's wording, as text that may enter a sandbox."""
    what = "budget exceeded" if isinstance(failure, BudgetExceededError) else "completion failed"
    return f"Error: Child RLM {what} - {told_to_cells(failure)}"
