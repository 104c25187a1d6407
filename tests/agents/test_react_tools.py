"""Tools of a ReAct agent: what is told of them, and what is checked before a call."""

from __future__ import annotations

from typing import Any, Literal

import pytest
from pydantic import BaseModel

from rlm_secure.agents import FinalAnswerCalled, ReActAgent, Tool
from rlm_secure.tools import ToolError


def add_numbers(a: int, b: int = 2) -> int:
    """Add two numbers.

    More about it.
    """
    return a + b


class Order(BaseModel):
    item: str
    count: int = 1


def agent(*tools: Any, **told: Any) -> ReActAgent:
    return ReActAgent(tools, backend="scripted", backend_kwargs={"turns": []}, **told)


def test_a_function_is_a_tool_by_its_name_docstring_and_signature() -> None:
    tool = agent(add_numbers).tools["add_numbers"]
    assert tool.description == "Add two numbers."
    assert tool.schema == {
        "type": "object",
        "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}},
        "required": ["a"],
        "additionalProperties": False,
    }


def test_parameters_that_are_told_are_shown_and_checked() -> None:
    def weather(city, days=1):
        return f"{city} {days}"

    told = {"city": {"type": "string", "description": "where"}, "days": {"schema": {"type": "integer", "maximum": 7}}}
    one = agent(Tool(weather, "forecast", "The weather.", told))
    schema = one.tools["forecast"].schema
    assert schema["properties"] == {
        "city": {"type": "string", "description": "where"},
        "days": {"type": "integer", "maximum": 7},
    }
    assert schema["required"] == ["city"]
    assert one.execute_tool("forecast", {"city": "Ulm"}) == "Ulm 1"
    assert "days" in one.execute_tool("forecast", {"city": "Ulm", "days": 8})
    assert "city" in one.execute_tool("forecast", {"city": 5})
    assert agent(Tool(weather, parameters={"city": {"type": "any"}})).execute_tool("weather", {"city": 5}) == "5 1"


def test_what_is_wrong_with_an_argument_is_said_of_the_argument() -> None:
    def weather(city):
        return city

    places = {"city": {"schema": {"type": "array", "items": {"enum": ["Bern", "Rome"]}}}}
    told = agent(Tool(weather, parameters=places)).execute_tool("weather", {"city": ["Bern", "Oslo"]})
    assert told == 'Error: weather: city[1] must be one of ["Bern", "Rome"]'


def test_tools_may_be_a_mapping_or_upstreams_form() -> None:
    named = ReActAgent(
        {"plus": add_numbers, "more": {"tool": add_numbers, "description": "Adds."}, "last": Tool(add_numbers, "sum_up")},
        backend="scripted",
    )
    assert list(named.tools) == ["plus", "more", "sum_up", "final_answer"]
    assert named.tools["more"].description == "Adds."


@pytest.mark.parametrize(
    ("tools", "said"),
    [
        ([lambda x: x], "cannot be a tool's name"),
        ([add_numbers, add_numbers], "two tools are called 'add_numbers'"),
        ([Tool(add_numbers, "final_answer")], "is the agent's own tool"),
        ([Tool(add_numbers, "python")], "is the agent's own tool"),
        ([Tool(add_numbers, parameters={"c": {"type": "any"}})], "takes no parameter 'c'"),
        ([Tool(add_numbers, parameters={"a": {"type": "decimal"}})], "there are any, string"),
    ],
)
def test_a_tool_that_no_model_could_call_is_refused_at_once(tools: list[Any], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        agent(*tools)
    with pytest.raises(TypeError, match="give a function"):
        agent(5)
    with pytest.raises(ValueError, match="one step at least"):
        agent(max_steps=0)


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("subtract", {"a": 1}, "there is no tool 'subtract'; there are add_numbers or final_answer"),
        ("add_numbers", {}, "missing a required argument: 'a'"),
        ("add_numbers", {"a": "one"}, "a: "),
        ("add_numbers", {"a": 1, "c": 3}, "unexpected keyword argument 'c'"),
        ("add_numbers", [1, 2], "the input is a list"),
        ("add_numbers", 1, "the input is a number"),
        ("add_numbers", None, "the input is null"),
        ("__class__", {}, "is no name of a tool"),
    ],
)
def test_arguments_are_checked_before_the_call(name: str, arguments: Any, said: str) -> None:
    told = agent(add_numbers).execute_tool(name, arguments)
    assert told.startswith("Error: ")
    assert said in told


def test_failures_are_observations_and_keep_the_hosts_secrets() -> None:
    def broken() -> None:
        raise RuntimeError("/home/me/.ssh/id_rsa")

    def telling() -> None:
        raise ToolError("the shop is closed")

    def leaving() -> None:
        raise SystemExit(3)

    def strange() -> object:
        return object()

    one = agent(broken, telling, leaving, strange)
    assert one.execute_tool("broken", {}) == "Error: broken failed: RuntimeError"
    assert one.execute_tool("telling", {}) == "Error: telling: the shop is closed"
    assert one.execute_tool("leaving", {}) == "Error: leaving failed: SystemExit"
    assert "JSON cannot hold" in one.execute_tool("strange", {})


def test_models_and_literals_are_types_of_parameters() -> None:
    def order(what: Order, speed: Literal["slow", "fast"] = "slow") -> str:
        return f"{what.count} {what.item} {speed}"

    one = agent(order)
    assert one.execute_tool("order", {"what": {"item": "tea", "count": 2}, "speed": "fast"}) == "2 tea fast"
    assert "count" in one.execute_tool("order", {"what": {"item": "tea", "count": "x"}})
    assert "speed" in one.execute_tool("order", {"what": {"item": "tea"}, "speed": "now"})


@pytest.mark.parametrize(
    ("arguments", "answer"),
    [
        ({"answer": "x"}, "x"),
        ({"answer": None}, None),
        ({"answer": {"answer": 1}}, {"answer": 1}),
        ({"answer": 1, "confidence": 0.5}, {"answer": 1, "confidence": 0.5}),
        ({"total": 3}, {"total": 3}),
        ({}, {}),
        ("text", "text"),
        ([1, 2], [1, 2]),
        (34, 34),
        (None, None),
        (False, False),
    ],
)
def test_final_answer_takes_both_forms_of_its_argument(arguments: Any, answer: Any) -> None:
    with pytest.raises(FinalAnswerCalled) as called:
        agent().execute_tool("final_answer", arguments)
    assert called.value.answer == answer
    assert str(called.value) == f"Final answer: {answer}"
