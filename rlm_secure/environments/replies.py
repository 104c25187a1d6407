"""The host's replies to the calls of a cell: limited in size, and repeated when a log is replayed."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, NoReturn

from rlm_secure.broker.protocol import Call, Printed
from rlm_secure.environments.deadline import Deadline
from rlm_secure.errors import CallFailed

#: Most bytes of JSON in an answer: a worker reads frames of 256 MiB at most.
ANSWER_BYTES = 240 << 20

STOPPED: dict[str, Any] = {"op": "reply", "error": "the run was stopped"}

#: Answers the calls of one request, under the request's deadline.
Answers = Callable[[Call | Printed, Deadline], Any]


def recorded(replies: list[Mapping[str, Any]]) -> Answers:
    """Answer calls as they were answered the first time."""
    remaining = iter(replies)

    def answer(call: Call | Printed, _deadline: Deadline) -> Any:
        if isinstance(call, Printed):
            return None  # it was told the first time
        reply = next(remaining, STOPPED)
        if "error" in reply:
            raise CallFailed(reply["error"])
        return reply["value"]

    return answer


def nobody(call: Call | Printed, _deadline: Deadline) -> NoReturn:
    """Raise CallFailed for every call of a request that may make none."""
    raise CallFailed(f"{'output' if isinstance(call, Printed) else call.kind} is not available here")


def sendable(value: Any) -> Any:
    """Return `value`, which is sent to a worker as JSON. Raises CallFailed if it cannot be: the session lives on."""
    texts = value if type(value) is list else [value]
    if all(type(text) is str for text in texts) and 12 * sum(map(len, texts)) + 4 * len(texts) < ANSWER_BYTES:
        return value
    try:
        size = len(json.dumps(value, allow_nan=False))
    except Exception:  # noqa: BLE001 - an encoder runs methods of what it encodes
        raise CallFailed(f"the host answered with {type(value).__name__}, which JSON cannot hold") from None
    if size > ANSWER_BYTES:
        raise CallFailed(f"the answer takes {size:,} bytes, and a cell reads at most {ANSWER_BYTES:,}; ask for less")
    return value
