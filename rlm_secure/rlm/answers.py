"""Answers that must have a shape: `answer_schema` is a pydantic type or a JSON Schema.

A type (a BaseModel, a dataclass, `list[int]`, ...) is checked by pydantic in full. A JSON Schema is checked
against the keywords in `KEYWORDS`; a schema with any other is refused when the RLM is made, not half-checked when the
answer comes. `format` and the annotations are allowed and check nothing. Both take a bounded number of steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from pydantic import TypeAdapter, ValidationError

from rlm_secure.checks import KEYWORDS, JSONSchema, OutOfSteps, Steps, Typed
from rlm_secure.checks.schema import Place, shown_place
from rlm_secure.checks.typed import first_mistake
from rlm_secure.types import RLMChatCompletion
from rlm_secure.untrusted_json import MalformedJson, loads

__all__ = ["KEYWORDS", "AnswerSchema", "StructuredCompletion"]

_FENCE: Final = "```"


@dataclass
class StructuredCompletion(RLMChatCompletion):
    """A completion under `answer_schema`: `parsed` is the answer as the schema's type, or as a JSON value."""

    parsed: Any = None

    @classmethod
    def of(cls, completion: RLMChatCompletion, parsed: Any) -> Self:
        """`completion` with its parsed answer."""
        return cls(**{each.name: getattr(completion, each.name) for each in fields(completion)}, parsed=parsed)


class AnswerSchema:
    """Reads an answer as a value of the wanted shape, which `given` says.

    Raises ValueError when `schema` is neither a type that pydantic knows nor a JSON Schema of `KEYWORDS`, and for a
    regular expression that cannot be matched in linear time.
    """

    def __init__(self, schema: Any) -> None:
        self.given = schema
        self._check: JSONSchema | Typed
        if isinstance(schema, Mapping):
            self._check = JSONSchema(schema, "answer_schema")
            self.json_schema = self._check.schema
            return
        try:
            adapter: TypeAdapter[Any] = schema if isinstance(schema, TypeAdapter) else TypeAdapter(schema)
            self.json_schema = adapter.json_schema()
        except Exception as error:
            raise ValueError(
                f"answer_schema is a {type(schema).__name__}, which pydantic cannot read; "
                "give a BaseModel, a type, or a JSON Schema as a dict"
            ) from error
        self._check = Typed(adapter)

    @property
    def prompt(self) -> str:
        """The schema as one line of JSON, for the model."""
        return json.dumps(self.json_schema, separators=(",", ":"), sort_keys=True)

    def read(
        self, text: str, value: Any = None, interrupt: Callable[[], object] | None = None
    ) -> tuple[Any, str | None]:
        """The answer and None, or None and what is wrong with it.

        `value` is the answer where it is already a JSON value. `text` is read as JSON, and as itself where
        the schema takes a plain string. `interrupt` is called now and then; what it raises ends the reading.
        """
        problem: str | None = None
        steps = Steps.of(len(text) if value is None else len(json.dumps(value)), interrupt)
        try:
            for candidate in _candidates(text, value):
                read, failure = self._read(candidate, steps)
                if failure is None:
                    return read, None
                if candidate is not text:
                    problem = failure
        # What is not known to misfit as a value is not taken as its text instead.
        except OutOfSteps:
            problem = problem or "the answer is too large or nested too deep to be checked; make it simpler"
        except RecursionError:
            problem = problem or "the answer is nested too deep"
        return None, problem or "it is not JSON"

    def _read(self, candidate: Any, steps: Steps) -> tuple[Any, str | None]:
        try:
            if isinstance(self._check, JSONSchema):
                mismatch = self._check.mismatch(candidate, steps)
                return (candidate, None) if mismatch is None else (None, str(mismatch))
            return self._check.read(candidate, steps), None
        except ValidationError as error:
            where, what = first_mistake(error)
            place: Place = None
            for part in where:
                place = (place, part)
            return None, f"{shown_place(place)}: {what}"


def _candidates(text: str, value: Any) -> Iterator[Any]:
    if value is not None:
        yield value
    try:
        yield loads(_unfenced(text))
    except MalformedJson:
        pass  # not JSON: only a schema of a plain string can take it
    yield text


def _unfenced(text: str) -> str:
    """`text` without the code fence that models like to put around JSON. Takes time linear in its length."""
    # By hand: an expression with blanks on both sides of a newline tries every way to share them out.
    whole = text.strip()
    if not (whole.startswith(_FENCE) and whole.endswith(_FENCE)):
        return text
    opening, _, rest = whole[len(_FENCE) : -len(_FENCE)].partition("\n")
    body, newline, indent = rest.rpartition("\n")
    if opening.removeprefix("json").strip(" \t") or not newline or indent.strip():
        return text
    return body
