"""Schemas and types of answers and arguments: checked in a bounded number of steps, whatever the value is."""

from __future__ import annotations

import json
import re
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, Any, Literal, Union
from uuid import UUID
from zoneinfo import ZoneInfo

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import Base64Bytes, BaseModel, ConfigDict, Field, FilePath, SecretStr, TypeAdapter
from typing_extensions import TypeAliasType

from rlm_secure.checks import JSONSchema, OutOfSteps, Steps, Typed
from rlm_secure.checks.equality import same_text
from rlm_secure.rlm.answers import AnswerSchema
from tests.effort import examples
from tests.growth.cost import MOST, assert_linear

TWICE = {"oneOf": [{"type": "integer"}, {"items": {"$ref": "#"}, "type": "array", "maxItems": 1}, {"$ref": "#/$defs/two"}]}
TWICE = TWICE | {"$defs": {"two": {"items": {"$ref": "#"}, "type": "array", "minItems": 1}}}


def nested(levels: int) -> Any:
    value: Any = "x"
    for _ in range(levels):
        value = [value]
    return value


def steps_of(schema: dict[str, Any], value: Any) -> int:
    steps = Steps()
    JSONSchema(schema).mismatch(value, steps)
    return steps.taken


def test_alternatives_that_lead_back_are_tried_a_bounded_number_of_times() -> None:
    assert steps_of(TWICE, nested(6)) > 2 * steps_of(TWICE, nested(5))
    read, problem = AnswerSchema(TWICE).read(json.dumps(nested(30)))
    assert read is None and "too large or nested too deep" in (problem or "")
    with pytest.raises(OutOfSteps):
        JSONSchema(TWICE).mismatch(nested(30), Steps(100_000))


@pytest.mark.parametrize("key", ["anyOf", "oneOf"])
def test_references_that_multiply_end(key: str) -> None:
    schema = {key: [{"$ref": "#"}, {"$ref": "#"}]}
    with pytest.raises(OutOfSteps):
        JSONSchema(schema).mismatch(1, Steps(100_000))


def test_a_deadline_ends_a_check() -> None:
    def over() -> None:
        raise TimeoutError

    for schema in (TWICE, {"items": {"pattern": "a+$"}}, {"uniqueItems": True}):
        with pytest.raises(TimeoutError):
            AnswerSchema(schema).read(json.dumps([*nested(30), *["a" * 200] * 30_000]), interrupt=over)


LARGE: list[tuple[dict[str, Any], Any]] = [
    ({"uniqueItems": True}, lambda size: [[each] for each in range(size)]),
    ({"uniqueItems": True}, lambda size: [(2**61 - 1) * each for each in range(size)]),
    ({"uniqueItems": True}, lambda size: [1e308] * size),
    ({"items": {"enum": [1, 2, [3]]}}, lambda size: [[3]] * size),
    ({"items": {"multipleOf": 0.1}}, lambda size: [1e308] * size),
    ({"items": {"not": {"multipleOf": 7}}}, lambda size: [10**4000] * (size // 50)),
    ({"items": {"not": {"pattern": "^(a+)+$"}}}, lambda size: ["a" * 30 + "!"] * (size // 30)),
    ({"items": {"pattern": "(a|aa)+$"}}, lambda size: ["a" * size + "!"]),
    ({"additionalProperties": {"type": "integer"}}, lambda size: {f"name{each}": each for each in range(size)}),
    ({"additionalProperties": {"items": {"type": "integer"}}}, lambda size: {"k" * size * 10: [1] * size}),
    ({"const": {"a": 1}}, lambda size: {"a" * each: each for each in range(int(size**0.5))}),
    ({"items": {"not": {"anyOf": [{"type": "null"}, {"minimum": 10**400}]}}}, lambda size: [1e308] * size),
]


@pytest.mark.parametrize(("schema", "value"), LARGE, ids=[f"{json.dumps(each[0])[:50]}" for each in LARGE])
def test_twice_the_value_takes_twice_the_time(schema: dict[str, Any], value) -> None:
    ours = JSONSchema(schema)
    assert_linear(value, lambda given: ours.mismatch(given, Steps()), begin=1_000)
    assert steps_of(schema, value(40_000)) <= MOST * steps_of(schema, value(20_000))


@pytest.mark.parametrize(
    ("schema", "value", "fits"),
    [
        ({"multipleOf": 0.1}, 1e308, True),
        ({"multipleOf": 1e-308}, 1e308, True),
        ({"multipleOf": 5e-324}, 1.7e308, True),
        ({"multipleOf": 0.1}, 0.1 + 0.2, True),
        ({"multipleOf": 0.01}, 4.35, True),
        ({"multipleOf": 0.1}, 0.25, False),
        ({"multipleOf": 3}, 10**4000, False),
        ({"multipleOf": 1e300}, 10**4000, True),
        ({"maximum": 1.5}, 10**4000, False),
        ({"const": 1e300}, 10**300, False),
        ({"const": float(10**22)}, 10**22, True),
        ({"type": "integer"}, 1e308, True),
        ({"enum": [True]}, 1, False),
    ],
    ids=range(13),
)
def test_numbers_of_every_size(schema: dict[str, Any], value: Any, fits: bool) -> None:
    assert (AnswerSchema(schema | {"type": ["number", "null"]}).read(json.dumps(value))[1] is None) == fits


@settings(max_examples=examples(2000), deadline=None)
@given(*[st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text("ab\u00e9", max_size=2)
    | st.sampled_from([0, 0.0, -0.0, 1, 1.0, 2**53, float(2**53), 2**53 + 1, 10**22, 1e22, 1e300]),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=2), inner, max_size=3),
    max_leaves=4,
)] * 2)  # fmt: skip
def test_values_are_the_same_where_python_says_so(left: Any, right: Any) -> None:
    def tagged(value: Any) -> Any:
        if isinstance(value, bool):
            return ("bool", value)
        if isinstance(value, list):
            return [tagged(each) for each in value]
        return {name: tagged(each) for name, each in value.items()} if isinstance(value, dict) else value

    assert (same_text(left, Steps()) == same_text(right, Steps())) == (tagged(left) == tagged(right))


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": "(?=a)"}, {"pattern": "(a)\\1"}, {"pattern": "a{100000}"}, {"pattern": 5}, {"minimum": "5"}, {"minimum": True},
        {"maxLength": -1}, {"maxItems": 1.5}, {"multipleOf": 0}, {"multipleOf": "x"}, {"required": "name"}, {"required": [1]},
        {"enum": 5}, {"properties": []}, {"anyOf": {}}, {"anyOf": 5}, {"type": 5}, {"type": [5]}, {"$ref": "#/nowhere"},
        {"$ref": 5}, {"uniqueItems": 1}, {"$ref": "#/enum/0", "enum": [{"contains": 1}]}, {"maximum": float("inf")},
    ],
)  # fmt: skip
def test_a_schema_that_nobody_could_check_is_refused_when_it_is_given(schema: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="answer_schema"):
        AnswerSchema(schema)


def test_a_reference_leads_into_lists_too() -> None:
    schema = {"anyOf": [{"type": "integer"}, {"items": {"$ref": "#/anyOf/0"}, "type": "array"}]}
    assert AnswerSchema(schema).read("[1]")[1] is None
    assert AnswerSchema(schema).read('["a"]')[1] is not None


def test_a_tree_is_checked_as_deep_as_json_is_read() -> None:
    node = {"type": "object", "properties": {"next": {"anyOf": [{"type": "null"}, {"$ref": "#/$defs/node"}]}}}
    schema = AnswerSchema({"$ref": "#/$defs/node", "$defs": {"node": node}})
    for last, fits in ((None, True), (1, False)):
        value: Any = last
        for _ in range(60):
            value = {"next": value}
        assert (schema.read(json.dumps(value))[1] is None) == fits


class Cat(BaseModel):
    kind: Literal["cat"]
    lives: int


class Dog(BaseModel):
    kind: Literal["dog"]
    secret: SecretStr = SecretStr("")


class Home(BaseModel):
    pets: list[Annotated[Cat | Dog, Field(discriminator="kind")]]
    rooms: dict[Literal["up", "down"], int]
    plan: Base64Bytes = b""


def test_the_schema_that_pydantic_writes_for_a_type_is_taken() -> None:
    schema = AnswerSchema(Home.model_json_schema())
    pets = [{"kind": "cat", "lives": 9}, {"kind": "dog", "secret": "s"}]
    assert schema.read(json.dumps({"pets": pets, "rooms": {"up": 1}}))[1] is None
    assert "side" in str(schema.read(json.dumps({"pets": pets, "rooms": {"side": 1}}))[1])
    assert schema.read(json.dumps({"pets": [{"kind": "cow"}], "rooms": {}}))[1] is not None


def test_what_is_too_deep_to_be_checked_is_no_misfit() -> None:
    lists: dict[str, Any] = {"type": "array", "items": {"$ref": "#/$defs/lists"}}
    for _ in range(3):
        lists = {"allOf": [lists]}
    reference = {"$ref": "#/$defs/lists"}
    value: list[Any] = []
    for _ in range(60):
        value = [value]
    for schema in ({"not": reference}, {"oneOf": [reference, {"type": "array"}]}):
        schema = schema | {"$defs": {"lists": lists}}
        assert not jsonschema.Draft202012Validator(schema).is_valid(value)
        read, problem = AnswerSchema(schema).read(json.dumps(value))
        assert read is None and "too deep" in (problem or "")


def test_a_message_is_short_whatever_the_answer_is() -> None:
    name = "n" * 1_000_000
    for schema in ({"additionalProperties": False}, {"additionalProperties": {"type": "null"}}, TWICE):
        assert len(AnswerSchema(schema).read(json.dumps({name: {name: 1}}))[1] or "") <= 2_003
    assert len(AnswerSchema(dict[str, int]).read(json.dumps({name: name}))[1] or "") <= 2_003


# -- types -----------------------------------------------------------------------------------------------


class Add(BaseModel):
    op: Literal["add"]
    left: Expression
    right: Expression


class Mul(BaseModel):
    op: Literal["mul"]
    left: Expression
    right: Expression


Expression = Union[int, Add, Mul]  # noqa: UP007  a name that both classes refer to
Add.model_rebuild()
Mul.model_rebuild()


class Chain(BaseModel):
    value: int | str | float
    following: Chain | None = None


def product(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"op": "mul", "left": value, "right": 1}
    return value


def test_a_union_that_leads_back_twice_reads_shallow_values_and_no_deep_ones() -> None:
    schema = AnswerSchema(TypeAdapter(Expression))
    read, problem = schema.read(json.dumps(product(12)))
    assert problem is None and isinstance(read, Mul)
    read, problem = schema.read(json.dumps(product(50)))
    assert read is None and "too deep" in (problem or "")


Twice = TypeAliasType("Twice", "dict[str, Twice] | dict[str, Twice | bool] | str")
AnyJSON = TypeAliasType("AnyJSON", "dict[str, AnyJSON] | list[AnyJSON] | str | int | float | bool | None")


def test_a_misfit_deep_in_a_union_that_leads_back_twice_fills_no_memory() -> None:
    value: Any = 1
    for _ in range(16):  # 300,000 mistakes, each with its way there: 2 GB
        value = {"a": value}
    read, problem = AnswerSchema(Twice).read(json.dumps(value) + " " * 40_000)
    assert read is None and "too deep" in (problem or "")  # nor is it taken as the text that it is written in


Inner = TypeAliasType("Inner", "dict[str, Outer] | dict[str, Outer | bool]")
Outer = TypeAliasType("Outer", "Inner | dict[str, Outer | None] | int")


def test_a_union_within_a_union_counts_with_the_outer_one() -> None:
    value: Any = "x"
    for _ in range(11):
        value = {"a": value}
    assert "too deep" in str(AnswerSchema(Outer).read(json.dumps(value))[1])


def test_a_union_of_a_list_and_a_dict_reads_all_json() -> None:
    value: Any = [1, 2.5, "x", None]
    for _ in range(8):
        value = {str(each): value for each in range(3)}
    assert AnswerSchema(AnyJSON).read(json.dumps(value)) == (value, None)


def test_mistakes_are_counted_where_they_are_too_many_to_look_at() -> None:
    assert AnswerSchema(list[int]).read(json.dumps(["x"] * 2_000))[1] == "the answer: 2,000 parts of it do not fit"
    assert "[1]" in str(AnswerSchema(list[int]).read(json.dumps([1, "x"]))[1])


def test_a_union_that_leads_back_once_reads_deep_values() -> None:
    value: Any = None
    for index in range(60):
        value = {"value": index, "following": value}
    assert AnswerSchema(Chain).read(json.dumps(value))[1] is None


def test_numbers_that_are_made_to_collide_are_no_set() -> None:
    alike = [(2**61 - 1) * each for each in range(1, 20_000)]
    with pytest.raises(OutOfSteps):
        Typed(TypeAdapter(set[int])).read(alike, Steps())
    with pytest.raises(OutOfSteps):
        Typed(TypeAdapter(dict[int, int])).read({str(each): 1 for each in alike}, Steps())
    assert len(Typed(TypeAdapter(set[int])).read(list(range(20_000)), Steps())) == 20_000
    assert len(Typed(TypeAdapter(list[int])).read(alike, Steps())) == len(alike)


class Frozen(BaseModel):
    model_config = ConfigDict(frozen=True)
    number: int


def alike_pairs(count: int) -> list[list[int]]:
    """Pairs whose tuples have one hash: for each first number, the second that makes it so."""
    size, first, second, last = 2**64, 11400714785074694791, 14029467366897019727, 2870177450012600261
    wanted = pow(first, -1, size) * (2**63 - (2 ^ (last ^ 3527539))) % size
    before = ((wanted >> 31) | (wanted << 33)) % size
    pairs: list[list[int]] = []
    for number in range(1, 100 * count):
        lane = (last + number * second) % size
        lane = ((lane << 31) | (lane >> 33)) * first % size
        other = (before - lane) * pow(second, -1, size) % size
        if other < 2**60:
            pairs.append([number, other])
    return pairs[:count]


def test_what_is_made_to_collide_is_no_set_whatever_its_type_is() -> None:
    alike = [(2**61 - 1) * each + 7 for each in range(1, 1_100)]
    assert len({hash(tuple(each)) for each in alike_pairs(1_100)}) == 1
    for kind, value in (
        (set[UUID], [str(UUID(int=each)) for each in alike]),
        (dict[UUID, int], {str(UUID(int=each)): 1 for each in alike}),
        # Of one remainder: each is its numerator divided by its denominator, modulo 2**61 - 1.
        (set[Fraction], [f"{1234567890123 * each % (2**61 - 1)}/{each}" for each in range(10**17, 10**17 + 3_000)]),
        (set[Decimal], [f"{each}.0" for each in alike]),
        (set[tuple[int, int]], alike_pairs(1_100)),
        (set[frozenset[int]], [[each] for each in alike]),
        (set[complex], [f"{7 - 1_000_003 * each}+{each}j" for each in range(1, 1_100)]),
        (set[tuple[UUID, int]], [[str(UUID(int=each)), 1] for each in alike]),
        (set[Frozen], [{"number": each} for each in range(2_100)]),
    ):
        with pytest.raises(OutOfSteps):
            Typed(TypeAdapter(kind)).read(value, Steps())


def test_large_sets_of_what_does_not_collide_are_read() -> None:
    for kind, value in (
        (set[UUID], [str(UUID(int=each * 2**64 + 1)) for each in range(3_000)]),
        (set[Decimal], [f"{each}.5" for each in range(3_000)]),
        (set[tuple[int, int]], [[each, 0] for each in range(3_000)]),
        (set[tuple[str, str]], [[str(each), "x"] for each in range(3_000)]),
        (set[Frozen], [{"number": each} for each in range(900)]),
        (tuple[set[int], list[int]], [[1], [10**20] * 3_000]),
        (tuple[set[frozenset[int]], list[list[int]]], [[[1]], [[1, 2], [2, 1]] * 2_000]),
    ):
        assert len(Typed(TypeAdapter(kind)).read(value, Steps())) == len(value)


@pytest.mark.parametrize("text", ["--1234567890123456789012", "+-1234567890123456789012", "- 1234567890123456789012"])
def test_what_is_nearly_a_number_misfits_a_set_of_numbers(text: str) -> None:
    assert AnswerSchema(set[int]).read(json.dumps([text]))[1] == "the answer[0]: Input should be a valid integer"
    assert AnswerSchema(dict[int, int]).read(json.dumps({text: 1}))[1] is not None


class Left(BaseModel):
    side: Literal["left"]


class Right(BaseModel):
    side: Literal["right"]


def test_what_pydantic_says_of_a_value_is_short_and_one_line() -> None:
    sides = Annotated[Left | Right, Field(discriminator="side")]
    for kind, value in ((sides, {"side": "\x1b[31m\n" * 50_000}), (ZoneInfo, "x\n" * 50_000)):
        problem = AnswerSchema(kind).read(json.dumps(value))[1]
        assert problem is not None and len(problem) < 1_000 and problem.isprintable()


@pytest.mark.parametrize(("kind", "value"), [(FilePath, "a" * 5_000), (re.Pattern, "a{99999999999999}")])
def test_what_pydantic_lets_pass_is_a_misfit(kind: Any, value: str) -> None:
    assert "cannot be read as its type" in (AnswerSchema(kind).read(json.dumps(value))[1] or "")


def test_a_pattern_of_a_type_is_matched_in_linear_time_or_refused() -> None:
    class Slow(BaseModel):
        model_config = ConfigDict(regex_engine="python-re")
        text: Annotated[str, Field(pattern="(a+)+$")]

    class Fast(BaseModel):
        text: Annotated[str, Field(pattern="(a+)+$")]

    for slow in (Slow, Annotated[str, Field(pattern=re.compile("(a+)+$"))]):
        with pytest.raises(ValueError, match="pattern"):
            AnswerSchema(slow)
    assert AnswerSchema(Fast).read(json.dumps({"text": "a" * 100_000 + "!"}))[1] is not None


def test_the_package_agrees_about_multiples() -> None:
    for value, of in [(1e308, 0.5), (7.5, 2.5), (1, 3), (10**30, 10**15), (4, 0.5)]:
        expected = jsonschema.Draft202012Validator({"multipleOf": of}).is_valid(value)
        assert (JSONSchema({"multipleOf": of}).mismatch(value, Steps()) is None) == expected


def test_sets_of_tuples_that_were_computed_to_one_hash_are_refused() -> None:
    """CPython adds up the hashes of a set's items without a remainder: Objects/setobject.c, frozenset_hash."""

    def shuffled(item: tuple[int, int]) -> int:
        number = hash(item) & (1 << 64) - 1
        return ((number ^ 89869747 ^ number << 16) * 3644798167) & (1 << 64) - 1

    items = [(each, each + 1) for each in range(1000, 1130)]
    basis: dict[int, tuple[int, int]] = {}
    nothing = []  # choices of items, as bits, that add up to nothing
    for place, item in enumerate(items):
        number, chosen = shuffled(item), 1 << place
        for bit in sorted(basis, reverse=True):
            if number >> bit & 1:
                number, chosen = number ^ basis[bit][0], chosen ^ basis[bit][1]
        if number:
            basis[number.bit_length() - 1] = number, chosen
        else:
            nothing.append(chosen)
    sizes: dict[int, list[list[tuple[int, int]]]] = {}
    for first in range(len(nothing)):
        for second in range(first):
            for third in range(second):
                chosen = nothing[first] ^ nothing[second] ^ nothing[third]
                sets = [item for place, item in enumerate(items) if chosen >> place & 1]
                sizes.setdefault(len(sets), []).append(sets)
    alike = max(sizes.values(), key=len)[:1_500]
    assert len({hash(frozenset(each)) for each in alike}) == 1 and len(alike) == 1_500
    value = [[list(item) for item in each] for each in alike]
    with pytest.raises(OutOfSteps):
        Typed(TypeAdapter(set[frozenset[tuple[int, int]]])).read(value, Steps())
    Typed(TypeAdapter(set[frozenset[tuple[int, int]]])).read(value[:900], Steps())
