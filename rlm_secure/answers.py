"""Answers that must have a shape: `answer_schema` is a pydantic type or a JSON Schema.

A type (a BaseModel, a dataclass, `list[int]`, ...) is checked by pydantic in full. A JSON Schema is checked
here against the keywords in `KEYWORDS`; a schema with any other is refused when the RLM is made, not
half-checked when the answer comes. `format` and the annotations are allowed and check nothing.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import Any, Final, Self

from pydantic import TypeAdapter, ValidationError

from rlm_secure.types import RLMChatCompletion
from rlm_secure.untrusted_json import MalformedJson, loads

_ANNOTATIONS: Final = frozenset(
    {"$schema", "$id", "$comment", "title", "description", "default", "examples", "format", "deprecated"}
)
_SUBSCHEMAS: Final = frozenset({"items", "additionalProperties", "not"})
_SUBSCHEMA_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SUBSCHEMA_MAPS: Final = frozenset({"properties", "$defs", "definitions"})
KEYWORDS: Final = (
    _ANNOTATIONS
    | _SUBSCHEMAS
    | _SUBSCHEMA_LISTS
    | _SUBSCHEMA_MAPS
    | {"$ref", "type", "enum", "const", "required", "pattern", "uniqueItems", "multipleOf"}
    | {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"}
    | {"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"}
)
_TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})

_FENCE: Final = "```"
#: Longest text that a `pattern` is tried on, in characters: its cost may grow with the square of it.
_PATTERN_TEXT: Final = 10_000
#: Deepest `$ref` chain and value that is checked.
_DEPTH: Final = 64


@dataclass
class StructuredCompletion(RLMChatCompletion):
    """A completion under `answer_schema`: `parsed` is the answer as the schema's type, or as a JSON value."""

    parsed: Any = None

    @classmethod
    def of(cls, completion: RLMChatCompletion, parsed: Any) -> Self:
        """`completion` with its parsed answer."""
        return cls(**{each.name: getattr(completion, each.name) for each in fields(completion)}, parsed=parsed)


class AnswerSchema:
    """Reads an answer as a value of the wanted shape.

    Raises ValueError when `schema` is neither a type that pydantic knows nor a JSON Schema of `KEYWORDS`.
    """

    def __init__(self, schema: Any) -> None:
        self._adapter: TypeAdapter[Any] | None = None
        if isinstance(schema, Mapping):
            self.json_schema: dict[str, Any] = json.loads(json.dumps(schema))
            for problem in _unsupported(self.json_schema, "answer_schema"):
                raise ValueError(problem)
        else:
            try:
                self._adapter = schema if isinstance(schema, TypeAdapter) else TypeAdapter(schema)
                self.json_schema = self._adapter.json_schema()
            except Exception as error:
                raise ValueError(
                    f"answer_schema is a {type(schema).__name__}, which pydantic cannot read; "
                    "give a BaseModel, a type, or a JSON Schema as a dict"
                ) from error

    @property
    def prompt(self) -> str:
        """The schema as one line of JSON, for the model."""
        return json.dumps(self.json_schema, separators=(",", ":"), sort_keys=True)

    def read(self, text: str, value: Any = None) -> tuple[Any, str | None]:
        """The answer and None, or None and what is wrong with it.

        `value` is the answer where it is already a JSON value. `text` is read as JSON, and as itself where
        the schema takes a plain string.
        """
        problem = "it is not JSON"
        for candidate in self._candidates(text, value):
            read, failure = self._check(candidate)
            if failure is None:
                return read, None
            if candidate is not text:
                problem = failure
        return None, problem

    def _candidates(self, text: str, value: Any) -> Iterator[Any]:
        if value is not None:
            yield value
        try:
            yield loads(_unfenced(text))
        except MalformedJson:
            pass  # not JSON: only a schema of a plain string can take it
        yield text

    def _check(self, candidate: Any) -> tuple[Any, str | None]:
        try:
            if self._adapter is None:
                failure = _mismatch(candidate, self.json_schema, self.json_schema, "the answer", 0)
                return (candidate, None) if failure is None else (None, failure)
            return self._adapter.validate_json(json.dumps(candidate), strict=True), None
        except ValidationError as error:
            first = error.errors(include_url=False, include_context=False, include_input=False)[0]
            return None, f"{_path(first['loc'])}: {first['msg']}"
        except RecursionError:
            return None, "the answer is nested too deep"


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


def _path(location: tuple[int | str, ...]) -> str:
    return "the answer" + "".join(f"[{part!r}]" for part in location)


def _unsupported(schema: Any, where: str) -> Iterator[str]:
    """Everything in `schema` that would go unchecked."""
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{where} is a {type(schema).__name__}, not a schema"
        return
    for key, value in schema.items():
        if key not in KEYWORDS:
            yield f"{where} uses {key!r}, which is not supported; supported: {', '.join(sorted(KEYWORDS))}"
        elif key in _SUBSCHEMAS:
            yield from _unsupported(value, f"{where}.{key}")
        elif key in _SUBSCHEMA_LISTS:
            for index, each in enumerate(value):
                yield from _unsupported(each, f"{where}.{key}[{index}]")
        elif key in _SUBSCHEMA_MAPS:
            for name, each in value.items():
                yield from _unsupported(each, f"{where}.{key}.{name}")
        elif key == "type" and not set([value] if isinstance(value, str) else value) <= _TYPES:
            yield f"{where}.type is {value!r}; the types are {', '.join(sorted(_TYPES))}"
        elif key == "pattern":
            try:
                re.compile(value)
            except re.error as error:
                yield f"{where}.pattern {value!r} is no regular expression: {error}"
        elif key == "$ref" and not (isinstance(value, str) and value.startswith("#")):
            yield f"{where}.$ref is {value!r}; only references into the schema itself (#/...) are followed"


def _mismatch(value: Any, schema: Any, root: Any, where: str, depth: int) -> str | None:
    """What is wrong with `value`, or None."""
    if isinstance(schema, bool):
        return None if schema else f"{where} is not allowed"
    if depth > _DEPTH:
        return f"{where} is nested deeper than {_DEPTH}"
    if "$ref" in schema:
        failure = _mismatch(value, _target(schema["$ref"], root), root, where, depth + 1)
        if failure is not None:
            return failure
    wanted = schema.get("type")
    if wanted is not None:
        names = [wanted] if isinstance(wanted, str) else wanted
        if not any(_is(value, name) for name in names):
            return f"{where} is {_kind(value)}, not {' or '.join(names)}"
    if "const" in schema and not _same(value, schema["const"]):
        return f"{where} must be {json.dumps(schema['const'])}"
    if "enum" in schema and not any(_same(value, each) for each in schema["enum"]):
        return f"{where} must be one of {json.dumps(schema['enum'])}"
    return (
        _combined(value, schema, root, where, depth)
        or _number(value, schema, where)
        or _text(value, schema, where)
        or _array(value, schema, root, where, depth)
        or _object(value, schema, root, where, depth)
    )


def _combined(value: Any, schema: Mapping[str, Any], root: Any, where: str, depth: int) -> str | None:
    for each in schema.get("allOf", ()):
        failure = _mismatch(value, each, root, where, depth + 1)
        if failure is not None:
            return failure
    for key in ("anyOf", "oneOf"):
        if key in schema:
            failures = [_mismatch(value, each, root, where, depth + 1) for each in schema[key]]
            fits = failures.count(None)
            if not fits:
                return f"{where} fits none of the {len(failures)} alternatives; the first: {failures[0]}"
            if key == "oneOf" and fits > 1:
                return f"{where} fits {fits} alternatives, and must fit one"
    if "not" in schema and _mismatch(value, schema["not"], root, where, depth + 1) is None:
        return f"{where} is what it must not be"
    return None


def _number(value: Any, schema: Mapping[str, Any], where: str) -> str | None:
    if not _is(value, "number"):
        return None
    if "minimum" in schema and value < schema["minimum"]:
        return f"{where} is below {schema['minimum']}"
    if "maximum" in schema and value > schema["maximum"]:
        return f"{where} is above {schema['maximum']}"
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return f"{where} is not above {schema['exclusiveMinimum']}"
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        return f"{where} is not below {schema['exclusiveMaximum']}"
    if "multipleOf" in schema:
        quotient = value / schema["multipleOf"]
        if not math.isclose(quotient, round(quotient), rel_tol=0, abs_tol=1e-9):
            return f"{where} is not a multiple of {schema['multipleOf']}"
    return None


def _text(value: Any, schema: Mapping[str, Any], where: str) -> str | None:
    if not isinstance(value, str):
        return None
    failure = _sized(len(value), schema, "Length", "characters", where)
    if failure is None and "pattern" in schema:
        if len(value) > _PATTERN_TEXT:
            return f"{where} is too long to be matched ({len(value)} characters)"
        if not re.search(schema["pattern"], value):
            return f"{where} does not match {schema['pattern']!r}"
    return failure


def _array(value: Any, schema: Mapping[str, Any], root: Any, where: str, depth: int) -> str | None:
    if not isinstance(value, list):
        return None
    failure = _sized(len(value), schema, "Items", "items", where)
    if failure is not None:
        return failure
    if schema.get("uniqueItems") and len({_canonical(each) for each in value}) < len(value):
        return f"{where} has an item twice"
    first = schema.get("prefixItems", ())
    for index, item in enumerate(value):
        each = first[index] if index < len(first) else schema.get("items", True)
        failure = _mismatch(item, each, root, f"{where}[{index}]", depth + 1)
        if failure is not None:
            return failure
    return None


def _object(value: Any, schema: Mapping[str, Any], root: Any, where: str, depth: int) -> str | None:
    if not isinstance(value, dict):
        return None
    failure = _sized(len(value), schema, "Properties", "properties", where)
    if failure is not None:
        return failure
    for name in schema.get("required", ()):
        if name not in value:
            return f"{where} has no {name!r}"
    known = schema.get("properties", {})
    for name, item in value.items():
        each = known.get(name, schema.get("additionalProperties", True))
        if each is False:
            return f"{where} has {name!r}, which the schema does not name"
        failure = _mismatch(item, each, root, f"{where}[{name!r}]", depth + 1)
        if failure is not None:
            return failure
    return None


def _sized(size: int, schema: Mapping[str, Any], suffix: str, unit: str, where: str) -> str | None:
    if size < schema.get(f"min{suffix}", 0):
        return f"{where} has {size} {unit}, fewer than {schema[f'min{suffix}']}"
    if size > schema.get(f"max{suffix}", size):
        return f"{where} has {size} {unit}, more than {schema[f'max{suffix}']}"
    return None


def _target(reference: str, root: Any) -> Any:
    node = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        if part:
            key = part.replace("~1", "/").replace("~0", "~")
            node = node.get(key, False) if isinstance(node, Mapping) else False
    return node


def _is(value: Any, name: str) -> bool:
    if name in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return name == "number" or isinstance(value, int) or value.is_integer()
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds[name])


def _same(left: Any, right: Any) -> bool:
    """Equality of JSON: 1 and 1.0 are the same, at any depth; 1 and true are not."""
    return _canonical(left) == _canonical(right)


def _canonical(value: Any) -> str:
    """One text for all JSON values that are equal."""
    return json.dumps(_whole(value), sort_keys=True)


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [_whole(each) for each in value]
    if isinstance(value, dict):
        return {name: _whole(each) for name, each in value.items()}
    return value


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")
