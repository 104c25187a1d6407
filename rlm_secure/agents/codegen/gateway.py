"""The one way by which stages get JSON from a model: a strict contract is asked for, and a lenient reply is
accepted."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any, Final

from rlm_secure.agents.replies import first_json, without_thoughts
from rlm_secure.checks import JSONSchema, OutOfSteps, Steps

#: Values of one reply that are tried, as prose may have brackets before the one that is meant.
_TRIED: Final = 16

#: Asks the model of a stage: messages and the reason why it is asked again -> the text of its reply.
Ask = Callable[[list[dict[str, Any]], str | None], str]
#: Reads a reply: a value and None, or None and what is wrong with it.
Read = Callable[[str], tuple[Any, str | None]]


class JSONGateway:
    """Asks by `ask`, and reads the reply: a JSON value of `schema`. Asks once again with what was wrong."""

    def __init__(self, schema: Mapping[str, Any], read: Read | None = None) -> None:
        self.contract = (
            "Reply with one JSON value and nothing else: no prose, no code fence. It must fit this JSON Schema: "
            + json.dumps(schema, separators=(",", ":"), sort_keys=True)
        )
        self._schema = None if read is not None else JSONSchema(schema)
        self._read = read or self._value

    def get(self, messages: list[dict[str, Any]], ask: Ask, default: Any = None) -> tuple[Any, str | None]:
        """The value and None; or `default` and what was wrong with the second reply. Raises what `ask` raises."""
        first = messages[0]
        messages = [{**first, "content": f"{first['content']}\n\n{self.contract}"}, *messages[1:]]
        reply = ask(messages, None)
        value, problem = self._read(without_thoughts(reply))
        if problem is None:
            return value, None
        again = f"That reply cannot be used: {problem}. {self.contract}"
        messages = [
            *messages,
            {"role": "assistant", "content": reply or "(nothing)"},
            {"role": "user", "content": again},
        ]
        value, problem = self._read(without_thoughts(ask(messages, "invalid_json")))
        return (value, None) if problem is None else (default, problem)

    def _value(self, text: str) -> tuple[Any, str | None]:
        assert self._schema is not None
        problem, at = "it has no JSON value", 0
        steps = Steps.of(len(text))
        for _ in range(_TRIED):
            found = first_json(text, at=at)
            if found is None:
                break
            try:
                mismatch = self._schema.mismatch(found.value, steps)
            except OutOfSteps:
                return None, "it is too large to be checked"
            if mismatch is None:
                return found.value, None
            problem, at = str(mismatch), found.end
        return None, problem
