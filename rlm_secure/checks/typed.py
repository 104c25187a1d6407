"""JSON values as values of a Python type, by pydantic. It cannot be interrupted, so its cost is limited beforehand.

pydantic tries the members of a union one after another. Where two of them refer back to the union, each level of a
value doubles the work, and no other thread of the process runs meanwhile: for such a type, the cost of values is
limited.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final
from uuid import UUID

from pydantic import TypeAdapter, ValidationError
from pydantic_core import PydanticCustomError

from rlm_secure.checks.steps import OutOfSteps, Steps
from rlm_secure.inert import excerpt

#: Keys of a core schema that hold no schemas.
_NO_SCHEMAS: Final = frozenset({"metadata", "serialization", "cls", "function", "default", "expected", "members"})
#: For each type that hashes, the key of what it hashes: items of a set, keys of a dict.
_HASHED: Final = {"set": "items_schema", "frozenset": "items_schema", "dict": "keys_schema"}
#: Most visits of values for a type whose unions refer back to themselves, each counted times its depth: pydantic keeps
#: the whole path of each failed attempt. About half a second, and 100 MB.
_LOOKS: Final = 400_000
#: Most mistakes of a value that are formatted, to show the first: pydantic formats all of them at once, in more memory
#: than the value takes.
_MISTAKES: Final = 1_000
#: Characters of the message about one.
_SAID: Final = 400
#: Kinds of choices of a union that take objects only, and arrays only: the parts of any other value are not visited for
#: them.
_OBJECTS: Final = frozenset({"dict", "typed-dict", "model", "model-fields", "dataclass", "dataclass-args"})
_ARRAYS: Final = frozenset({"list", "tuple", "set", "frozenset", "generator"})
#: Most values with one hash that may go into one set: a hash table compares each with all the others.
_ALIKE: Final = 1_000
#: Characters of texts that may be different numbers with the same hash.
_FEWEST, _LONGEST = 4, 4_300
#: Kinds that hash their fields, in an order and with defaults that a value does not show: where a set has such items,
#: the objects in one list are limited instead.
_RECORDS: Final = frozenset({"model", "dataclass", "call", "arguments"})
_MOST_RECORDS: Final = 2_000


class Typed:
    """Reads JSON values as a type. Thread-safe, as far as the type is.

    Raises ValueError for a type with a regular expression that may take more than linear time to match: one that `re`
    matches, because of `regex_engine` or because it is compiled.
    """

    def __init__(self, adapter: TypeAdapter[Any]) -> None:
        self.adapter = adapter
        schema = _Core(adapter.core_schema)
        if (pattern := schema.slow_pattern()) is not None:
            raise ValueError(
                f"the pattern {pattern[:80]!r} is matched by `re`, which takes as long as a text wants; give it as a "
                "str, and leave regex_engine out"
            )
        self._ways = schema.ways()
        self._hashed = schema.hashed()

    def read(self, value: Any, steps: Steps) -> Any:
        """`value`, a JSON value, as the type. Raises pydantic.ValidationError, OutOfSteps, or what `steps` raises."""
        steps.take(1 + _looks(value, self._ways) // 2)
        if self._hashed - {"str"}:
            _bound_hashes(value, self._hashed)
        try:
            return self.adapter.validate_json(json.dumps(value), strict=True)
        except (ArithmeticError, OSError) as error:
            # pydantic's own types let some pass: for a path that is too long, or a pattern that cannot be compiled.
            mistake = PydanticCustomError(
                "unreadable", "It cannot be read as its type: {name}", {"name": type(error).__name__}
            )
        raise ValidationError.from_exception_data("its type", [{"type": mistake, "input": None}])


def first_mistake(error: ValidationError) -> tuple[tuple[int | str, ...], str]:
    """The location and message of the first mistake; their number instead, where there are too many to format."""
    count = error.error_count()
    if count > _MISTAKES:
        return (), f"{count:,} parts of it do not fit"
    first = error.errors(include_url=False, include_context=False, include_input=False)[0]
    # It may quote the name of an alternative, or a time zone, as long as in the value.
    return first["loc"], excerpt(first["msg"], _SAID)


def _looks(value: Any, ways: int) -> int:
    """How often a type visits the parts of `value`, trying each level in `ways` ways, times their depth."""
    if ways < 2:
        return 0
    looks, times, depth = 0, 1, 1
    level = [value]
    while level:
        looks += times * len(level) * depth
        if looks > _LOOKS:
            raise OutOfSteps
        level = [each for part in level for each in _parts(part)]
        times, depth = times * ways, depth + 1
    return looks


def _parts(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield from value.values()
    elif isinstance(value, list):
        yield from value


def _bound_hashes(value: Any, kinds: frozenset[str]) -> None:
    """Raise OutOfSteps where many parts of `value` share a hash: those of numbers are the same in every process.

    `kinds` are those of set items and keys, and of their parts.
    """
    readers: list[Callable[[str], object]] = [int, *(read for kind, read in _NUMBERS.items() if kind in kinds)]
    for number in readers:
        _Alike(number, lists="frozenset" in kinds or "tuple" in kinds or "named-tuple" in kinds).look(value)
    if kinds & _RECORDS and _pairs_of_objects(value) > _MOST_RECORDS**2:
        raise OutOfSteps


class _Hash(int):
    """A hash that hashes to itself: the hash of a plain int is a remainder, which other ints share."""

    def __hash__(self) -> int:
        return int(self)


class _Alike:
    """Finds many different values with one hash. `number` parses a text as the number that is hashed."""

    def __init__(self, number: Callable[[str], object], *, lists: bool) -> None:
        self._number = number
        self._lists = lists
        self._first: dict[int, int] = {}
        self._others: dict[int, set[int]] = {}

    def look(self, value: Any) -> tuple[int, int]:
        """The hash of `value`, with a list taken as a tuple, and an unpredictable one. Raises OutOfSteps."""
        if isinstance(value, dict):
            for key in value:
                self.look(key)
        if isinstance(value, list | dict):
            looked = [self.look(each) for each in _parts(value)]
            hashes, names = tuple(_Hash(each) for each, _ in looked), tuple(each for _, each in looked)
            if self._lists:
                self._note(hash(hashes), hash(names))
                self._note(hash(frozenset(hashes)), hash(frozenset(names)))
            return hash(hashes), hash(names)
        if isinstance(value, str):
            found = _hash(self._number, value) if _FEWEST <= len(value) <= _LONGEST else None
            if found is not None:
                self._note(found, hash(value))
            return hash(value) if found is None else found, hash(value)
        name = hash(str(value))
        if isinstance(value, int) and value.bit_length() > 60:
            self._note(hash(value), name)
        return hash(value), name

    def _note(self, of: int, name: int) -> None:
        first = self._first.setdefault(of, name)
        if first != name:
            others = self._others.setdefault(of, set())
            others.add(name)
            if len(others) >= _ALIKE:
                raise OutOfSteps


def _pairs_of_objects(value: Any) -> int:
    """How many pairs of objects are in the same list."""
    pairs, level = 0, [value]
    while level:
        pairs += sum(sum(isinstance(part, dict) for part in each) ** 2 for each in level if isinstance(each, list))
        level = [part for each in level for part in _parts(each)]
    return pairs


def _hash(kind: Callable[[str], object], text: str) -> int | None:
    """The hash of the number that `kind` parses from `text`; None where it is none, or has no hash."""
    try:
        return hash(kind(text))
    except (ArithmeticError, TypeError, ValueError):
        return None


def _fraction(text: str) -> Fraction | Decimal:
    """A number with the hash of this fraction: equal numbers share it, and a Decimal does not write out zeros."""
    return Fraction(text) if "/" in text else Decimal(text)


#: For each kind, the parser of a text as the number that is hashed.
_NUMBERS: Final[Mapping[str, Callable[[str], object]]] = {
    "complex": complex,
    "decimal": Decimal,
    "fraction": _fraction,
    "uuid": UUID,
}


class _Core:
    """pydantic's own description of a type: a tree of dicts, with references by name."""

    def __init__(self, schema: Any) -> None:
        self._nodes: list[Mapping[str, Any]] = []
        self._named: dict[str, Mapping[str, Any]] = {}
        todo, seen = [schema], set()
        while todo:
            each = todo.pop()
            if isinstance(each, Mapping) and id(each) not in seen:
                seen.add(id(each))
                self._nodes.append(each)
                if isinstance(each.get("ref"), str):
                    self._named[each["ref"]] = each
            todo += _within(each)

    def slow_pattern(self) -> str | None:
        """A regular expression that `re` matches, if there is one."""
        by_re = any(each.get("regex_engine") == "python-re" for each in self._nodes)
        for each in self._nodes:
            pattern = each.get("pattern") if each.get("type") == "str" else None
            if isinstance(pattern, re.Pattern):
                return str(pattern.pattern)
            if isinstance(pattern, str) and by_re:
                return pattern
        return None

    def hashed(self) -> frozenset[str]:
        """The kinds of all set items and keys, and of their parts."""
        kinds: set[str] = set()
        todo, seen = [each.get(_HASHED.get(str(each.get("type")), "")) for each in self._nodes], set()
        while todo:
            each = todo.pop()
            if each is None or id(each) in seen:
                continue
            seen.add(id(each))
            if isinstance(each, Mapping):
                kinds.add(str(each.get("type")))
                if each.get("type") == "definition-ref":
                    todo.append(self._named.get(each["schema_ref"]))
            todo += _within(each)
        return frozenset(kinds)

    def ways(self) -> int:
        """Most ways in which a value is tried by a union that refers back to itself; 1 where it is tried once."""
        return max(map(self._ways, self._nodes), default=1)

    def _ways(self, node: Mapping[str, Any]) -> int:
        if node.get("type") != "union":
            return 1
        kinds = Counter(_takes(choice) for choice in self._choices(node) if self._leads(choice, node))
        return max(kinds["object"], kinds["array"]) + kinds["any"]

    def _choices(self, union: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
        """The choices of a union, and of unions among them: all are tried at the same level."""
        todo, seen = [union], set()
        while todo:
            each = todo.pop()
            if id(each) in seen:
                continue
            seen.add(id(each))
            kind = each.get("type")
            if kind == "union":
                todo += [choice[0] if isinstance(choice, tuple) else choice for choice in each["choices"]]
            elif kind == "nullable":
                todo.append(each["schema"])
            elif kind == "definition-ref" and each["schema_ref"] in self._named:
                todo.append(self._named[each["schema_ref"]])
            else:
                yield each

    def _leads(self, begin: Any, end: Mapping[str, Any]) -> bool:
        todo, seen = [begin], set()
        while todo:
            each = todo.pop()
            if each is end:
                return True
            if id(each) in seen:
                continue
            seen.add(id(each))
            if isinstance(each, Mapping) and each.get("type") == "definition-ref":
                todo.append(self._named.get(each["schema_ref"]))
            todo += _within(each)
        return False


def _takes(choice: Mapping[str, Any]) -> str:
    """The JSON values that a choice of a union takes: "object", "array", or "any" where its kind does not say."""
    kind = choice.get("type")
    if choice.get("root_model"):
        return "any"
    return "object" if kind in _OBJECTS else "array" if kind in _ARRAYS else "any"


def _within(node: Any) -> list[Any]:
    """The parts of a core schema directly below `node`."""
    parts: list[Any] = []
    if isinstance(node, Mapping):
        parts = [each for key, each in node.items() if key not in _NO_SCHEMAS]
    elif isinstance(node, list | tuple):
        parts = list(node)
    return [each for each in parts if isinstance(each, Mapping | list | tuple)]
