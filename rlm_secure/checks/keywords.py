"""The JSON Schemas that are checked in full: every keyword that they may use, and its values. Others are refused."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from rlm_secure.checks.patterns import Pattern, PatternRefused

#: Keywords that check nothing; `discriminator` only names what tells the alternatives of a oneOf apart.
_ANNOTATIONS: Final = frozenset(
    {
        "$schema", "$id", "$comment", "title", "description", "default", "examples", "format", "deprecated", "readOnly",
        "writeOnly", "contentEncoding", "contentMediaType", "contentSchema", "discriminator",
    }
)  # fmt: skip
_SUBSCHEMAS: Final = frozenset({"items", "additionalProperties", "propertyNames", "not"})
_SUBSCHEMA_LISTS: Final = frozenset({"anyOf", "oneOf", "allOf", "prefixItems"})
_SUBSCHEMA_MAPS: Final = frozenset({"properties", "$defs", "definitions"})
_NUMBERS: Final = frozenset({"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
_COUNTS: Final = frozenset({"minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"})
KEYWORDS: Final = (
    _ANNOTATIONS
    | _SUBSCHEMAS
    | _SUBSCHEMA_LISTS
    | _SUBSCHEMA_MAPS
    | _NUMBERS
    | _COUNTS
    | {"$ref", "type", "enum", "const", "required", "pattern", "uniqueItems", "multipleOf"}
)
TYPES: Final = frozenset({"object", "array", "string", "integer", "number", "boolean", "null"})


def problems(schema: Any, where: str) -> Iterator[str]:
    """Everything in `schema` that would go unchecked, and every reference to nothing."""
    seen: set[int] = set()
    references: list[tuple[str, str]] = []
    yield from _problems(schema, where, seen, references)
    while references:
        reference, at = references.pop()
        if not reference.startswith("#"):
            yield f"{at}.$ref is {reference!r}; only references into the schema itself (#/...) are followed"
            continue
        found = target(reference, schema)
        if found is None:
            yield f"{at}.$ref is {reference!r}, and there is nothing"
        elif id(found) not in seen:
            yield from _problems(found, f"{where}{reference}", seen, references)


def target(reference: str, root: Any) -> Any:
    """What a reference into `root` refers to; None where that is nothing."""
    node = root
    for part in reference.removeprefix("#").strip("/").split("/"):
        if part:
            key = part.replace("~1", "/").replace("~0", "~")
            if isinstance(node, list):
                node = node[int(key)] if key.isdecimal() and len(key) < 9 and int(key) < len(node) else None
            else:
                node = node.get(key) if isinstance(node, Mapping) else None
    return node


def _problems(schema: Any, where: str, seen: set[int], references: list[tuple[str, str]]) -> Iterator[str]:
    if isinstance(schema, bool):
        return
    if not isinstance(schema, Mapping):
        yield f"{where} is a {type(schema).__name__}, not a schema"
        return
    seen.add(id(schema))
    for key, value in schema.items():
        place = f"{where}.{key}"
        if key not in KEYWORDS:
            yield f"{where} uses {key!r}, which is not supported; supported: {', '.join(sorted(KEYWORDS))}"
        elif key in _SUBSCHEMAS:
            yield from _problems(value, place, seen, references)
        elif key in _SUBSCHEMA_LISTS:
            if not isinstance(value, list):
                yield f"{place} is {value!r}, not a list of schemas"
                continue
            for index, each in enumerate(value):
                yield from _problems(each, f"{place}[{index}]", seen, references)
        elif key in _SUBSCHEMA_MAPS:
            if not isinstance(value, Mapping):
                yield f"{place} is {value!r}, not schemas by their names"
                continue
            for name, each in value.items():
                yield from _problems(each, f"{place}.{name}", seen, references)
        elif key == "$ref" and isinstance(value, str):
            references.append((value, where))
        elif key in _VALUES and not _VALUES[key][0](value):
            yield f"{place} is {value!r}; it is {_VALUES[key][1]}"
        elif key == "pattern":
            try:
                Pattern(value)
            except PatternRefused as error:
                yield f"{place} {value!r} {error}"


def _is_number(value: Any) -> bool:
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and not isinstance(value, bool)


def _is_count(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_types(value: Any) -> bool:
    names = [value] if isinstance(value, str) else value
    return isinstance(names, list) and all(isinstance(name, str) and name in TYPES for name in names)


#: What the value of a keyword must be.
_VALUES: Final[dict[str, tuple[Callable[[Any], bool], str]]] = {
    **dict.fromkeys(_NUMBERS, (_is_number, "a number")),
    **dict.fromkeys(_COUNTS, (_is_count, "a whole number from 0 on")),
    "multipleOf": (lambda value: _is_number(value) and value > 0, "a number above 0"),
    "type": (_is_types, f"one of the types {', '.join(sorted(TYPES))}, or a list of some"),
    "enum": (lambda value: isinstance(value, list), "a list of values"),
    "required": (
        lambda value: isinstance(value, list) and all(isinstance(name, str) for name in value),
        "a list of names",
    ),
    "pattern": (lambda value: isinstance(value, str), "a regular expression"),
    "uniqueItems": (lambda value: isinstance(value, bool), "true or false"),
    "$ref": (lambda value: isinstance(value, str), "a reference into the schema itself (#/...)"),
}
