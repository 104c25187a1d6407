"""The checker of JSON Schema subsets, beside the real validator of the `jsonschema` package."""

from __future__ import annotations

import json
import re

import jsonschema
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter

from rlm_secure.rlm.answers import KEYWORDS, AnswerSchema, _unfenced
from tests.effort import examples
from tests.growth.cost import assert_linear

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(-5, 5).map(lambda x: round(x, 1))
    | st.text("ab", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from("xyz"), inner, max_size=3),
    max_leaves=6,
)
SCHEMAS = st.recursive(
    st.one_of(
        st.just(True),
        st.just(False),
        st.just({}),
        st.fixed_dictionaries({"type": st.sampled_from(["object", "array", "string", "integer", "number", "boolean", "null"])}),
        st.fixed_dictionaries({"type": st.just(["string", "null"])}),
        st.fixed_dictionaries({"enum": st.lists(VALUES, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"const": VALUES}),
        st.fixed_dictionaries({}, optional={
            "minimum": st.integers(-3, 3), "maximum": st.integers(-3, 3),
            "exclusiveMinimum": st.integers(-3, 3), "exclusiveMaximum": st.integers(-3, 3),
        }),
        st.fixed_dictionaries({}, optional={
            "minLength": st.integers(0, 2), "maxLength": st.integers(0, 2), "pattern": st.sampled_from(["^a", "b$", "ab"]),
        }),
    ),
    lambda inner: st.one_of(
        st.fixed_dictionaries({}, optional={
            "items": inner, "minItems": st.integers(0, 2), "maxItems": st.integers(0, 3), "uniqueItems": st.booleans(),
            "prefixItems": st.lists(inner, max_size=2, min_size=1),
        }),
        st.fixed_dictionaries({}, optional={
            "properties": st.dictionaries(st.sampled_from("xyz"), inner, max_size=2),
            "required": st.lists(st.sampled_from("xyz"), max_size=2, unique=True),
            "additionalProperties": inner, "minProperties": st.integers(0, 2), "maxProperties": st.integers(0, 3),
        }),
        st.fixed_dictionaries({"anyOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"oneOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"allOf": st.lists(inner, min_size=1, max_size=3)}),
        st.fixed_dictionaries({"not": inner}),
    ),
    max_leaves=5,
)  # fmt: skip


@settings(max_examples=examples(1500), deadline=None)
@given(SCHEMAS.filter(lambda schema: isinstance(schema, dict)), VALUES)
def test_it_agrees_with_the_jsonschema_package(schema: dict, value: object) -> None:
    expected = jsonschema.Draft202012Validator(schema).is_valid(value)
    read, problem = AnswerSchema(schema).read("not json at all", value)
    if value is None:
        read, problem = AnswerSchema(schema).read("null")
    as_text = jsonschema.Draft202012Validator(schema).is_valid("null" if value is None else "not json at all")
    assert (problem is None) == (expected or as_text), problem
    if expected:
        assert read == value


def test_references_into_the_schema_are_followed() -> None:
    tree = {
        "$defs": {"node": {"type": "object", "properties": {"next": {"$ref": "#/$defs/node"}}}},
        "$ref": "#/$defs/node",
    }
    schema = AnswerSchema(tree)
    assert schema.read('{"next": {"next": {}}}')[1] is None
    assert schema.read('{"next": {"next": 1}}')[1] == "the answer['next']['next'] is a number, not object"


def test_a_reference_in_a_circle_ends() -> None:
    schema = AnswerSchema({"$ref": "#"})
    assert "too deep" in (schema.read("1")[1] or "")


@pytest.mark.parametrize(
    "schema",
    [
        {"type": "strng"},
        {"unevaluatedProperties": False},
        {"properties": {"a": {"if": {}}}},
        {"anyOf": [{"contains": {}}]},
        {"pattern": "("},
        {"$ref": "https://example.com/schema"},
        {"items": 5},
        5,
        object(),
        "a string",
    ],
)
def test_a_schema_that_would_go_unchecked_is_refused_at_once(schema: object) -> None:
    with pytest.raises(ValueError):
        AnswerSchema(schema)


def test_the_callers_schema_is_not_kept() -> None:
    schema = {"type": "integer"}
    checker = AnswerSchema(schema)
    schema["type"] = "string"
    assert checker.read("5") == (5, None)


def test_keywords_are_those_of_the_standard() -> None:
    assert set(jsonschema.Draft202012Validator.META_SCHEMA) and "type" in KEYWORDS


@pytest.mark.parametrize(
    ("text", "value", "expected"),
    [
        ("5", None, 5),
        ("```json\n5\n```", None, 5),
        ("  5 \n", None, 5),
        ("five", 5, 5),
    ],
)
def test_where_a_value_is_found(text: str, value: object, expected: object) -> None:
    assert AnswerSchema({"type": "integer"}).read(text, value) == (expected, None)


def test_nan_is_no_json() -> None:
    assert AnswerSchema({"type": "number"}).read("NaN")[1] == "it is not JSON"


def test_a_string_is_taken_as_it_is_before_it_is_taken_apart() -> None:
    assert AnswerSchema({"type": "string"}).read("plain words") == ("plain words", None)
    assert AnswerSchema({"type": "string"}).read('"quoted"') == ("quoted", None)


class Row(BaseModel):
    name: str
    score: float = 0.0


def test_a_problem_says_where_it_is_and_nothing_of_urls() -> None:
    problem = AnswerSchema(list[Row]).read('[{"name": "a"}, {"name": 5}]')[1]
    assert problem == "the answer[1]['name']: Input should be a valid string"


def test_types_models_and_adapters_are_schemas() -> None:
    assert AnswerSchema(Row).read('{"name": "a"}')[0] == Row(name="a")
    assert AnswerSchema(dict[str, int]).read('{"a": 1}')[0] == {"a": 1}
    assert AnswerSchema(TypeAdapter(tuple[int, str])).read('[1, "a"]')[0] == (1, "a")
    assert json.loads(AnswerSchema(Row).prompt)["required"] == ["name"]


@settings(max_examples=examples(300), deadline=None)
@given(st.text(max_size=40), SCHEMAS.filter(lambda schema: isinstance(schema, dict)))
def test_no_text_raises(text: str, schema: dict) -> None:
    read, problem = AnswerSchema(schema).read(text)
    assert read is None or problem is None


@pytest.mark.parametrize("schema", [{"type": "integer"}, {"const": 1}, {"uniqueItems": True}, int, list[int]])
@pytest.mark.parametrize("depth", [50, 300, 900, 990, 100_000])
def test_deep_json_does_not_raise(schema: object, depth: int) -> None:
    AnswerSchema(schema).read("[" * depth + "]" * depth)
    AnswerSchema(schema).read("[" * depth)


@settings(max_examples=examples(1500), deadline=None)
@given(st.lists(st.sampled_from(["```", "`", "json", "\n", " ", "\t", "\x1c", "{}", "x"]), max_size=9).map("".join))
def test_a_fence_is_what_the_expression_says(text: str) -> None:
    fenced = re.fullmatch(r"\s*```(?:json)?[ \t]*\n(.*)\n\s*```\s*", text, re.DOTALL)
    assert _unfenced(text) == (fenced[1] if fenced else text)


@pytest.mark.parametrize(
    "hostile",
    [
        lambda size: "```\n" + "\n" * size,
        lambda size: "```\n" + " \n" * size + "x```",
        lambda size: " " * size + "```\n1\n```" + " " * size + "x",
        lambda size: "```json" + " " * size,
        lambda size: "```\n" * size,
    ],
    ids=["newlines", "lines", "blanks", "opening", "fences"],
)
def test_an_answer_is_read_in_time_linear_in_its_length(hostile) -> None:
    schema = AnswerSchema({"type": "integer"})
    assert_linear(hostile, schema.read, begin=10_000)


def test_a_misfit_is_named_where_there_are_no_steps_left_to_read_the_text_as_well() -> None:
    schema = AnswerSchema({"items": {"anyOf": [{"const": each} for each in range(40)]}})
    value = [39] * 10_000 + ["x"]
    assert "alternatives" in str(schema.read(json.dumps(value), value)[1])
