"""Events of runs as records of the standard `logging`, under "rlm_secure.rlm".

What a run does is told with names, numbers and rules only: no prompt, cell, output or answer is in a record. Starts,
ends, and what was refused or limited are INFO, turns, calls and cells DEBUG.
"""

from __future__ import annotations

import logging
from typing import Final

from rlm_secure import events
from rlm_secure.loggers import logger

_log: Final = logger("rlm_secure.rlm")


def record(event: events.Event) -> None:
    """Log `event`, if anybody wants to know."""
    if not _log.isEnabledFor(logging.INFO):
        return
    match event:
        case events.RunStarted():
            _log.info("depth %d: a run began: model %s, environment %s", event.depth, event.model, event.environment)
        case events.RunCompleted():
            _log.info("depth %d: the run ended%s", event.depth, _after(event.error))
        case events.TurnCompleted():
            _log.debug("depth %d: turn %d took %.3f s%s", event.depth, event.number, event.seconds, _after(event.error))
        case events.ModelCalled():
            tokens = event.usage.total_input_tokens, event.usage.total_output_tokens
            said = "depth %d: %s: model %s took %.3f s, %d tokens in, %d out%s"
            _log.debug(said, event.depth, event.purpose, event.model, event.seconds, *tokens, _after(event.error))
        case events.CellCompleted():
            result = event.block.result
            kind = "" if result.error is None else f": {type(result.error).__name__}"
            seconds = result.execution_time, result.cpu_seconds
            said = "depth %d: turn %d, cell %d took %.3f s, %.3f s of CPU%s"
            _log.debug(said, event.depth, event.number, event.index, *seconds, kind)
        case events.ToolCalled():
            said = "depth %d: turn %d: the tool %s took %.3f s%s"
            _log.debug(said, event.depth, event.number, event.tool, event.seconds, _after(event.error))
        case events.SubcallCompleted():
            _log.debug("depth %d: a child run took %.3f s%s", event.depth, event.seconds, _after(event.error))
        case events.Compacted():
            _log.debug("depth %d: the conversation was compacted for time %d", event.depth, event.count)
        case events.LimitReached():
            _log.info("depth %d: limit %s: %s", event.depth, event.limit, event.message)
        case events.Violation():
            _log.info("depth %d: refused by %s", event.depth, event.rule)
        case events.Noticed():
            _log.info("depth %d: %s: %s", event.depth, event.kind, event.message)
        case events.AnswerRejected():
            _log.debug("depth %d: an answer was rejected", event.depth)
        case _:
            pass


def _after(error: str | None) -> str:
    # Not its text: a provider, a cell or a model may have written part of it, and `data.redact` is not applied here.
    return "" if error is None else ", and failed"
