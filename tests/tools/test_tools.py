"""Custom tools: what crosses the wall, and what never does. The last part calls them from real cells."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal

import pytest
from pydantic import BaseModel, Field

from rlm_secure.errors import CallFailed, CallRefused
from rlm_secure.policy import load_policy
from rlm_secure.tools import RESERVED_TOOL_NAMES, HostTool, Toolbox, ToolError, ToolInfo, parse_custom_tools
from tests.growth.cost import assert_linear
from tests.loops import cell, limited, scripted


def call(function: Callable[..., Any], *args: Any, cap: int = 10_000, **kwargs: Any) -> Any:
    return Toolbox({"tool": function}, load_policy({"lm": {"reply_bytes": cap}})).call("tool", args, kwargs)


class Color(Enum):
    RED = "red"


class Query(BaseModel):
    text: str
    limit: int = Field(default=3, le=10)


@dataclass
class Found:
    title: str
    when: date


def search(query: str, limit: int = 5, *, exact: bool = False) -> list[str]:
    return [f"{query} {n} {exact}" for n in range(limit)]


# -- names and forms -------------------------------------------------------------------------------------


def test_both_forms_of_upstream_are_read() -> None:
    tools = parse_custom_tools({"f": search, "d": {"tool": [1], "description": "data"}, "plain": {"a": 1}})
    assert tools == {
        "f": ToolInfo("f", search),
        "d": ToolInfo("d", [1], "data"),
        "plain": ToolInfo("plain", {"a": 1}),
    }
    assert [tool.is_callable for tool in tools.values()] == [True, False, False]


@pytest.mark.parametrize("name", sorted(RESERVED_TOOL_NAMES) + ["context_0", "history_12"])
def test_reserved_names_are_refused_in_upstreams_words(name: str) -> None:
    with pytest.raises(ValueError, match=r"Custom tools cannot override reserved REPL functions: \['"):
        parse_custom_tools({name: 1})


def test_every_reserved_name_of_upstream_is_reserved() -> None:
    upstream = {
        "llm_query", "llm_query_batched", "rlm_query", "rlm_query_batched", "SHOW_VARS", "answer", "context", "history",
    }  # fmt: skip
    assert upstream <= RESERVED_TOOL_NAMES


@pytest.mark.parametrize("name", ["", "a b", "1a", "_hidden", "x;y", "ünïcode", "a\nimport os"])
def test_a_name_that_no_cell_could_write_is_refused(name: str) -> None:
    with pytest.raises(ValueError, match="tool's name"):
        parse_custom_tools({name: 1})


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("def t(x):\n    return x", True),
        ("class t:\n    pass", True),
        ("import math\n\ndef t(x):\n    return math.sqrt(x)", True),
        ("async def t():\n    pass", True),
        ("lambda x: x + 1", True),
        ("first line\nsecond line", False),
        ("def other(x):\n    return x", False),
        ("classic prose", False),
        ("defer t", False),
        (search, False),
        (5, False),
    ],
)
def test_only_text_that_defines_its_own_name_is_code(value: Any, code: bool) -> None:
    assert ToolInfo("t", value).is_code is code


# -- arguments -------------------------------------------------------------------------------------------


def test_the_json_schema_comes_from_the_signature() -> None:
    schema = HostTool("search", search).schema
    assert schema["required"] == ["query"]
    assert schema["additionalProperties"] is False
    assert {name: each["type"] for name, each in schema["properties"].items()} == {
        "query": "string", "limit": "integer", "exact": "boolean",
    }  # fmt: skip


def test_a_schema_shares_its_definitions() -> None:
    def ask(query: Query, color: Color) -> None: ...

    schema = HostTool("ask", ask).schema
    assert set(schema["$defs"]) == {"Query", "Color"}
    assert schema["properties"]["query"] == {"$ref": "#/$defs/Query"}


def test_arguments_become_what_the_signature_says() -> None:
    def tool(query: Query, color: Color, when: date, kind: Literal["a", "b"], pair: tuple[int, str]) -> list[str]:
        return [type(x).__name__ for x in (query, color, when, pair)] + [kind]

    assert call(tool, {"text": "x"}, "red", "2026-01-02", "a", [1, "x"]) == ["Query", "Color", "date", "tuple", "a"]


@pytest.mark.parametrize(
    ("args", "kwargs", "said"),
    [
        ((), {}, "missing a required argument: 'query'"),
        ((5,), {}, "query: Input should be a valid string"),
        (("q",), {"limit": "5"}, "limit: Input should be a valid integer"),
        (("q",), {"limit": True}, "limit: Input should be a valid integer"),
        (("q",), {"nope": 1}, "unexpected keyword argument 'nope'"),
        (("q", 1, 2), {}, "too many positional arguments"),
    ],
)
def test_arguments_that_do_not_fit_are_told(args: tuple, kwargs: dict, said: str) -> None:
    with pytest.raises(CallFailed, match=said):
        call(search, *args, **kwargs)


def test_variable_arguments_are_checked_one_by_one() -> None:
    def total(*numbers: int, **named: int) -> int:
        return sum(numbers) + sum(named.values())

    assert call(total, 1, 2, x=3) == 6
    with pytest.raises(CallFailed, match="named"):
        call(total, 1, x="3")


class Both(BaseModel):
    kind: Literal["both"]
    parts: list[Condition]


class Either(BaseModel):
    kind: Literal["either"]
    parts: list[Condition]


Condition = str | Both | Either
Both.model_rebuild()
Either.model_rebuild()


def test_arguments_that_a_type_would_try_without_end_are_refused() -> None:
    def find(condition: Condition) -> str:
        return type(condition).__name__

    def conditions(levels: int) -> Any:
        return {"kind": "either", "parts": [conditions(levels - 1)]} if levels else "x"

    assert call(find, conditions(5)) == "Either"
    with pytest.raises(CallRefused, match="condition is too large or nested too deep"):
        call(find, conditions(30))


def test_numbers_that_are_made_to_collide_are_no_argument() -> None:
    def count(numbers: set[int]) -> int:
        return len(numbers)

    assert call(count, list(range(1_500))) == 1_500
    with pytest.raises(CallRefused, match="numbers is too large"):
        call(count, [(2**61 - 1) * each for each in range(1, 20_000)], cap=1_000_000)


def test_a_type_whose_pattern_takes_as_long_as_a_text_wants_is_refused_when_the_tool_is_given() -> None:
    def find(query: Annotated[str, Field(pattern=re.compile("(a+)+$"))]) -> str:
        return query

    with pytest.raises(ValueError, match="tool 'find': parameter 'query': the pattern"):
        HostTool("find", find)


@pytest.mark.parametrize(
    "hostile",
    [lambda size: ["x" * size], lambda size: [["x"] * size], lambda size: [{str(each): [each] for each in range(size)}]],
    ids=["text", "list", "dict"],
)
def test_twice_the_arguments_take_twice_the_time(hostile) -> None:
    tool = HostTool("tool", lambda value: value)
    assert_linear(hostile, lambda args: tool.arguments(args, {}), begin=3_000)


def test_unannotated_and_builtin_functions_take_any_json() -> None:
    assert call(lambda x: x, {"a": [1, None]}) == {"a": [1, None]}
    assert call(max, [3, 1, 2]) == 3


def test_a_required_parameter_that_json_cannot_become_is_an_error_when_the_tool_is_given() -> None:
    def bad(lock: threading.Thread) -> None: ...

    with pytest.raises(ValueError, match="no JSON value can become parameter 'lock'"):
        Toolbox({"bad": bad}, load_policy("strict"))


def test_an_optional_one_is_out_of_reach_for_cells() -> None:
    def tool(x: int, thread: threading.Thread | None = None, hook: Any = None) -> int:
        return x

    assert call(tool, 1) == 1
    assert "thread" not in HostTool("tool", tool).schema["properties"]
    with pytest.raises(CallFailed, match="cannot be given"):
        call(tool, 1, thread=5)


def test_a_default_that_is_a_secret_is_not_told() -> None:
    def tool(x: int, key: str = "sk-secret") -> int:
        return x

    with pytest.raises(CallFailed) as caught:
        call(tool)
    assert "sk-secret" not in str(caught.value)


# -- results ---------------------------------------------------------------------------------------------


def test_results_become_plain_json() -> None:
    assert call(lambda: (1, {2: date(2026, 1, 2)}, Found("t", date(2026, 1, 3)), Query(text="q"))) == [
        1, {"2": "2026-01-02"}, {"title": "t", "when": "2026-01-03"}, {"text": "q", "limit": 3},
    ]  # fmt: skip


@pytest.mark.parametrize("value", [object(), float("nan"), float("inf"), threading.Lock(), [lambda: 1], b"\xff"])
def test_a_result_that_json_cannot_hold_is_told_without_its_text(value: Any) -> None:
    with pytest.raises(CallFailed, match="JSON cannot hold"):
        call(lambda: value)


def test_a_result_that_contains_itself_is_told() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(CallFailed, match="JSON cannot hold"):
        call(lambda: value)


def test_a_result_of_another_type_than_declared_is_told() -> None:
    def tool() -> list[int]:
        return ["not a number"]  # type: ignore[list-item]

    with pytest.raises(CallFailed, match="another type than it declares"):
        call(tool)


def test_sizes_are_capped_both_ways() -> None:
    with pytest.raises(CallRefused, match=r"given \d+ bytes, more than lm.reply_bytes = 100"):
        call(lambda x: 1, "x" * 200, cap=100)
    with pytest.raises(CallRefused, match=r"returned at least \d+ bytes, more than lm.reply_bytes = 100"):
        call(lambda: "x" * 200, cap=100)


# -- failures --------------------------------------------------------------------------------------------


def test_an_exception_tells_only_its_kind() -> None:
    def tool() -> None:
        raise OSError("/home/user/.aws/credentials: permission denied")

    with pytest.raises(CallFailed) as caught:
        call(tool)
    assert str(caught.value) == "tool failed: OSError"


def test_a_tool_error_tells_its_text() -> None:
    def tool() -> None:
        raise ToolError("no such document; the documents are a, b")

    with pytest.raises(CallFailed, match="^tool: no such document; the documents are a, b$"):
        call(tool)


def test_a_timeout_of_its_own_is_a_failure_of_its_own() -> None:
    def tool() -> None:
        raise TimeoutError("reading 10.0.0.1")

    with pytest.raises(CallFailed, match="^tool failed: TimeoutError$"):
        call(tool)


def test_coroutine_functions_are_tools() -> None:
    async def tool(x: int) -> int:
        await asyncio.sleep(0)
        return x + 1

    assert call(tool, 1) == 2


def test_an_unknown_tool_is_told_with_the_known() -> None:
    with pytest.raises(CallRefused, match="there is no tool 'other'; there are tool"):
        Toolbox({"tool": search}, load_policy("strict")).call("other", [], {})


# -- from real cells -------------------------------------------------------------------------------------


def test_a_cell_calls_host_functions_and_reads_data() -> None:
    tools = {
        "search": {"tool": search, "description": "finds things"},
        "table": {"tool": {"rows": [1, 2, 3]}, "description": "numbers"},
        "prose": "several lines\nof plain text: def and class",
    }
    turn = cell("final_answer([search('q', limit=2, exact=True), sum(table['rows']), prose.count('\\n')])")
    assert scripted([turn], custom_tools=tools).completion("c").response == str([["q 0 True", "q 1 True"], 6, 1])


def test_the_model_is_told_of_tools() -> None:
    seen: list[str] = []

    def turn(messages) -> str:
        seen.append(messages[0]["content"])
        return "FINAL(x)"

    scripted([turn], custom_tools={"search": {"tool": search, "description": "finds {things}"}}).completion("c")
    assert "`search(query, limit, exact)`: finds {things}" in seen[0]


def test_code_runs_inside_the_walls_under_its_own_name() -> None:
    tools = {
        "double": "def double(x):\n    return 2 * x",
        "half": {"tool": "lambda x: x / 2", "description": "halves"},
        "Box": "class Box:\n    def __init__(self, n):\n        self.n = n",
    }
    turn = cell("final_answer([double(21), half(4), Box(7).n])")
    assert scripted([turn], custom_tools=tools).completion("c").response == "[42, 2.0, 7]"


def test_code_that_reaches_out_is_refused_by_the_walls() -> None:
    with pytest.raises(Exception, match="open"):
        scripted(
            ["FINAL(x)"], custom_tools={"spy": "def spy():\n    return open('/etc/passwd').read()\nspy()"}
        ).completion("c")


def test_a_failing_tool_raises_in_the_cell_without_host_detail() -> None:
    def tool(x: int) -> int:
        raise RuntimeError(f"at {__file__}")

    turn = cell("try:\n    tool(1)\nexcept Exception as error:\n    final_answer(str(error))")
    response = scripted([turn], custom_tools={"tool": tool}).completion("c").response
    assert response == "tool failed: RuntimeError"


def test_no_cell_reaches_the_function_behind_a_tool() -> None:
    secret = "the secret of the closure"

    def tool() -> int:
        return len(secret)

    turns = [
        cell(f"try:\n    print({attack})\nexcept Exception as error:\n    print('refused', error)")
        for attack in (
            "tool.__closure__",
            "tool.__globals__",
            "tool.__self__",
            "getattr(tool, '__code__')",
            "repr(tool)",
        )
    ]
    seen: list[str] = []
    scripted(
        [*turns, lambda m: seen.extend(x["content"] for x in m) or "FINAL(x)"], custom_tools={"tool": tool}
    ).completion("c")
    outputs = [text for text in seen if text.startswith("REPL output")]
    assert len(outputs) == 5
    assert not any(secret in text or __file__ in text for text in outputs)


def test_a_shadowed_tool_is_there_again_in_the_next_cell() -> None:
    turns = [cell("search = 5"), cell("final_answer(search('q', 1))")]
    assert scripted(turns, custom_tools={"search": search}).completion("c").response == str(["q 0 False"])


def test_results_over_the_policys_size_do_not_enter() -> None:
    turn = cell("try:\n    big()\nexcept Exception as error:\n    final_answer(str(error))")
    rlm = scripted([turn], custom_tools={"big": lambda: "x" * 5000}, policy=limited(reply_bytes=1000))
    assert "lm.reply_bytes = 1,000" in rlm.completion("c").response


def test_a_slow_tool_does_not_outlive_its_run() -> None:
    began = time.monotonic()
    with pytest.raises(Exception, match="Timeout"):
        scripted([cell("slow()")], custom_tools={"slow": lambda: time.sleep(20)}, max_timeout=0.5).completion("c")
    assert time.monotonic() - began < 2.5


def test_tools_of_parallel_children_run_at_the_same_time() -> None:
    together = threading.Barrier(4, timeout=20)

    def meet() -> str:
        together.wait()
        return "met"

    rlm = scripted(
        [cell("final_answer(rlm_query_batched(['a'] * 4))")],
        child_turns=[cell("final_answer(meet())")],
        max_depth=2,
        custom_tools={"meet": meet},
    )
    assert rlm.completion("x").response == str(["met"] * 4)
