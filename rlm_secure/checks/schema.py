"""Checks JSON values against a JSON Schema, in a limited number of steps.

A schema may check one value many times: two alternatives that both refer back to the schema double the work with
each level of the value. The standard allows that, so it is counted, not refused.

No library does this. jsonschema 4.26, with every keyword counted as a step, formats the value of each mismatch and
collects all mismatches of an `anyOf` between two steps: a list of 130,000 numbers took 12 s and 740 MB, 40 kB of text
in 30 lists under a recursive `oneOf` 60 s and 6 GB before a MemoryError (3 s here); valid values took four times as
long. jsonschema-rs 0.60 reports what is wrong with 35 characters after 37 s and 2.2 GB, and no deadline can stop it.
With keywords, patterns, equality and messages of our own, only the loop over the keywords would be left to a library.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Final, TypeAlias

from rlm_secure.checks.equality import same_text
from rlm_secure.checks.keywords import problems, target
from rlm_secure.checks.patterns import Pattern
from rlm_secure.checks.steps import OutOfSteps, Steps
from rlm_secure.untrusted_json import MAX_DEPTH

#: Most nested schemas that are followed for one value. One level of a tree takes three: the property, its alternative,
#: and the reference back.
_DEPTH: Final = 3 * MAX_DEPTH
#: How far the quotient may be from a whole number: 0.1 + 0.2 is a multiple of 0.1.
_NEAR: Final = Fraction(1, 10**9)
#: Characters of a name in a message; of a value in it, and of the whole.
_SHOWN, _SAID = 200, 2_000

#: Where a value is: the place of the value that contains it, and its name or index there.
Place: TypeAlias = tuple[Any, str | int] | None


@dataclass(frozen=True, slots=True)
class Mismatch:
    """What is wrong with a value; its text is built only when str() is called."""

    place: Place
    words: str
    #: The values for the placeholders in `words`: shown as JSON, a str as it is.
    about: tuple[Any, ...] = ()
    first: Mismatch | None = None

    def __str__(self) -> str:
        return self.of("the answer")

    def of(self, whole: str) -> str:
        """The text, where the value that was checked is called `whole`."""
        said: list[str] = []
        each: Mismatch | None = self
        while each is not None:
            shown = [_short(about if isinstance(about, str) else json.dumps(about)) for about in each.about]
            said.append(f"{shown_place(each.place, whole)} {each.words.format(*shown)}")
            each = each.first
        return _short("; the first: ".join(said), _SAID)


class JSONSchema:
    """A JSON Schema of `keywords.KEYWORDS`, ready to check values. Copies the schema given. Thread-safe.

    Raises ValueError for a schema with anything else, naming what would go unchecked; `name` is used in messages.
    """

    def __init__(self, schema: Mapping[str, Any], name: str = "the schema") -> None:
        try:
            self.schema: dict[str, Any] = json.loads(json.dumps(schema))
            problem = next(problems(self.schema, name), None)
        except RecursionError:
            problem = f"{name} is nested too deep"
        if problem is not None:
            raise ValueError(problem)
        self._targets: dict[str, Any] = {}
        self._patterns: dict[str, Pattern] = {}
        self._same: dict[int, frozenset[str]] = {}

    def mismatch(self, value: Any, steps: Steps) -> Mismatch | None:
        """What is wrong with `value`, or None. Raises what `steps` raises."""
        return self._mismatch(value, self.schema, None, 0, steps)

    def _mismatch(self, value: Any, schema: Any, place: Place, depth: int, steps: Steps) -> Mismatch | None:
        if isinstance(schema, bool):
            steps.take()
            return None if schema else Mismatch(place, "is not allowed")
        steps.take(1 + len(schema))
        if depth > _DEPTH:
            # Not a mismatch: `not` and `oneOf` would take it for a real one.
            raise OutOfSteps
        if "$ref" in schema:
            failure = self._mismatch(value, self._target(schema["$ref"]), place, depth + 1, steps)
            if failure is not None:
                return failure
        wanted = schema.get("type")
        if wanted is not None:
            names = [wanted] if isinstance(wanted, str) else wanted
            if not any(_is(value, name) for name in names):
                return Mismatch(place, f"is {_kind(value)}, not {' or '.join(names)}")
        if "const" in schema and not self._is_one_of(value, [schema["const"]], schema, "const", steps):
            return Mismatch(place, "must be {}", (schema["const"],))
        if "enum" in schema and not self._is_one_of(value, schema["enum"], schema, "enum", steps):
            return Mismatch(place, "must be one of {}", (schema["enum"],))
        failure = self._combined(value, schema, place, depth, steps)
        if failure is not None:
            return failure
        if isinstance(value, str):
            return self._text(value, schema, place, steps)
        if isinstance(value, list):
            return self._array(value, schema, place, depth, steps)
        if isinstance(value, dict):
            return self._object(value, schema, place, depth, steps)
        return _number(value, schema, place, steps) if _is(value, "number") else None

    def _combined(
        self, value: Any, schema: Mapping[str, Any], place: Place, depth: int, steps: Steps
    ) -> Mismatch | None:
        for each in schema.get("allOf", ()):
            failure = self._mismatch(value, each, place, depth + 1, steps)
            if failure is not None:
                return failure
        for key in ("anyOf", "oneOf"):
            if key in schema:
                failure = self._fits(value, schema[key], key == "oneOf", place, depth, steps)
                if failure is not None:
                    return failure
        if "not" in schema and self._mismatch(value, schema["not"], place, depth + 1, steps) is None:
            return Mismatch(place, "is what it must not be")
        return None

    def _fits(
        self, value: Any, alternatives: list[Any], only_one: bool, place: Place, depth: int, steps: Steps
    ) -> Mismatch | None:
        first: Mismatch | None = None
        fits = 0
        for each in alternatives:
            failure = self._mismatch(value, each, place, depth + 1, steps)
            first = first or failure
            fits += failure is None
            if fits and not only_one:
                return None
            if fits > 1:
                return Mismatch(place, "fits more than one of the alternatives, and must fit one")
        if fits:
            return None
        return Mismatch(place, f"fits none of the {len(alternatives)} alternatives", first=first)

    def _text(self, value: str, schema: Mapping[str, Any], place: Place, steps: Steps) -> Mismatch | None:
        failure = _sized(len(value), schema, "Length", "characters", place)
        if failure is None and "pattern" in schema:
            text = schema["pattern"]
            pattern = self._patterns.get(text)
            if pattern is None:
                pattern = self._patterns[text] = Pattern(text)
            if not pattern.search(value, steps):
                return Mismatch(place, "does not match {}", (repr(text),))
        return failure

    def _array(
        self, value: list[Any], schema: Mapping[str, Any], place: Place, depth: int, steps: Steps
    ) -> Mismatch | None:
        failure = _sized(len(value), schema, "Items", "items", place)
        if failure is not None:
            return failure
        if schema.get("uniqueItems") and len({same_text(each, steps) for each in value}) < len(value):
            return Mismatch(place, "has an item twice")
        first, others = schema.get("prefixItems", ()), schema.get("items", True)
        for index, item in enumerate(value):
            each = first[index] if index < len(first) else others
            failure = self._mismatch(item, each, (place, index), depth + 1, steps)
            if failure is not None:
                return failure
        return None

    def _object(
        self, value: dict[str, Any], schema: Mapping[str, Any], place: Place, depth: int, steps: Steps
    ) -> Mismatch | None:
        failure = _sized(len(value), schema, "Properties", "properties", place)
        if failure is not None:
            return failure
        required = schema.get("required", ())
        steps.take(len(required))
        for name in required:
            if name not in value:
                return Mismatch(place, "has no {}", (repr(name),))
        known, others = schema.get("properties", {}), schema.get("additionalProperties", True)
        names = schema.get("propertyNames", True)
        for name, item in value.items():
            if names is not True and (failure := self._mismatch(name, names, place, depth + 1, steps)) is not None:
                return Mismatch(place, "has the name {}, which is refused", (_quoted(name),), failure)
            each = known.get(name, others)
            if each is False:
                return Mismatch(place, "has {}, which the schema does not name", (_quoted(name),))
            failure = self._mismatch(item, each, (place, name), depth + 1, steps)
            if failure is not None:
                return failure
        return None

    def _is_one_of(self, value: Any, wanted: list[Any], schema: Mapping[str, Any], key: str, steps: Steps) -> bool:
        # Cached by the identity of a part of the schema, which lives as long as this object.
        given = id(schema[key]) if key == "enum" else id(schema)
        same = self._same.get(given)
        if same is None:
            same = self._same[given] = frozenset(same_text(each, Steps()) for each in wanted)
        return same_text(value, steps) in same

    def _target(self, reference: str) -> Any:
        if reference not in self._targets:
            self._targets[reference] = target(reference, self.schema)
        return self._targets[reference]


def _number(value: int | float, schema: Mapping[str, Any], place: Place, steps: Steps) -> Mismatch | None:
    if "minimum" in schema and value < schema["minimum"]:
        return Mismatch(place, "is below {}", (schema["minimum"],))
    if "maximum" in schema and value > schema["maximum"]:
        return Mismatch(place, "is above {}", (schema["maximum"],))
    if "exclusiveMinimum" in schema and value <= schema["exclusiveMinimum"]:
        return Mismatch(place, "is not above {}", (schema["exclusiveMinimum"],))
    if "exclusiveMaximum" in schema and value >= schema["exclusiveMaximum"]:
        return Mismatch(place, "is not below {}", (schema["exclusiveMaximum"],))
    if isinstance(value, float) and not math.isfinite(value):
        return Mismatch(place, "is no finite number")
    if "multipleOf" in schema:
        steps.take(20)  # numbers of up to 4,300 digits
        # Exact, by decimal digits: 1e308 is a multiple of 0.1, and no float holds the quotient.
        times = _exact(value) / _exact(schema["multipleOf"])
        if abs(times - round(times)) > _NEAR:
            return Mismatch(place, "is not a multiple of {}", (schema["multipleOf"],))
    return None


def _exact(value: int | float) -> Fraction:
    return Fraction(value) if isinstance(value, int) else Fraction(repr(value))


def _sized(size: int, schema: Mapping[str, Any], suffix: str, unit: str, place: Place) -> Mismatch | None:
    if size < schema.get(f"min{suffix}", 0):
        return Mismatch(place, f"has {size} {unit}, fewer than {schema[f'min{suffix}']}")
    if size > schema.get(f"max{suffix}", size):
        return Mismatch(place, f"has {size} {unit}, more than {schema[f'max{suffix}']}")
    return None


def _is(value: Any, name: str) -> bool:
    if name in ("integer", "number"):
        if isinstance(value, bool) or not isinstance(value, int | float):
            return False
        return name == "number" or isinstance(value, int) or value.is_integer()
    kinds = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
    return isinstance(value, kinds[name])


def _kind(value: Any) -> str:
    names = {dict: "an object", list: "an array", str: "a string", bool: "a boolean", type(None): "null"}
    return names.get(type(value), "a number")


def shown_place(place: Place, whole: str = "the answer") -> str:
    """A place in an answer, or in another value, as text for messages."""
    parts: list[str] = []
    while place is not None:
        place, part = place
        parts.append(f"[{_quoted(part) if isinstance(part, str) else part}]")
    return whole + "".join(reversed(parts))


def _quoted(name: str) -> str:
    return repr(name[:_SHOWN]) + ("..." if len(name) > _SHOWN else "")


def _short(text: str, most: int = _SAID) -> str:
    return text if len(text) <= most else f"{text[:most]}..."
