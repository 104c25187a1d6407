"""Structured answers: `answer_schema` is a pydantic type or a JSON Schema.

A type (a BaseModel, a dataclass, `list[int]`, ...) is validated by pydantic in full. A JSON Schema may use the
keywords in `KEYWORDS`; a schema with any other is refused when the RLM is created, so no answer is checked only in
part. `format` and annotations are allowed and check nothing. Both take a bounded number of steps.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from rlm_secure.checks import KEYWORDS, JSONSchema, OutOfSteps, Steps, Typed
from rlm_secure.checks.schema import Place, shown_place
from rlm_secure.checks.typed import first_mistake
from rlm_secure.untrusted_json import MalformedJson, loads

__all__ = ["KEYWORDS", "AnswerSchema"]

_FENCE: Final = "```"


class AnswerSchema:
    """Parses and validates an answer against `schema`, which `given` keeps.

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
        self, text: str | None, value: Any = None, interrupt: Callable[[], object] | None = None
    ) -> tuple[Any, str | None]:
        """The parsed answer and None, or None and what is wrong with it.

        `value` is the answer if it is already a JSON value. `text` is parsed as JSON, and also taken as a plain
        string if the schema accepts one; without a text, `value` alone counts, null too. `interrupt` is called from
        time to time; what it raises ends the validation.
        """
        problem: str | None = None
        steps = Steps.of(len(text) if text is not None and value is None else len(json.dumps(value)), interrupt)
        try:
            for candidate in _candidates(text, value):
                read, failure = self._read(candidate, steps)
                if failure is None:
                    return read, None
                if text is None or candidate is not text:
                    problem = failure
        # If validation did not finish, do not fall back to the plain text.
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


def _candidates(text: str | None, value: Any) -> Iterator[Any]:
    if text is None or value is not None:
        yield value
    if text is None:
        return
    try:
        yield loads(_unfenced(text))
    except MalformedJson:
        pass  # not JSON: only a schema that accepts a plain string can match
    yield text


def _unfenced(text: str) -> str:
    """`text` without the code fence that models often put around JSON. Takes time linear in its length."""
    # Not a regular expression: one with blanks on both sides of a newline backtracks over every way to split them.
    whole = text.strip()
    if not (whole.startswith(_FENCE) and whole.endswith(_FENCE)):
        return text
    # By places, so that only the body is copied: most of what several copies take is the kernel's, for fresh pages.
    begin, end = len(_FENCE), len(whole) - len(_FENCE)
    opened = whole.find("\n", begin, end)
    closed = whole.rfind("\n", opened + 1, end)
    if opened < 0 or closed < 0 or whole[closed:end].strip():
        return text
    if whole[begin:opened].removeprefix("json").strip(" \t"):
        return text
    return whole[opened + 1 : closed]
