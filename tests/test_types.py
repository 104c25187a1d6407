"""Upstream's data types: the same fields and keys, and strict JSON whatever is in them."""

from __future__ import annotations

import json
import math
import pathlib
import sys
from collections import OrderedDict, namedtuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.errors import CellTimeout
from rlm_secure.types import (
    MAX_BITS,
    CodeBlock,
    ModelUsageSummary,
    QueryMetadata,
    REPLResult,
    RLMChatCompletion,
    RLMIteration,
    RLMMetadata,
    UsageSummary,
    json_safe,
)


class Hostile:
    """Raises from every method that a careless serialiser calls."""

    def _raise(self, *args: object, **kwargs: object) -> None:
        raise RuntimeError("ran code of the value")

    __repr__ = __str__ = __iter__ = __len__ = __eq__ = __hash__ = __getattribute__ = __format__ = _raise
    __class__ = property(_raise)


class HostileMeta(type):
    def __getattribute__(cls, name: str) -> None:
        raise RuntimeError("ran code of the class")


class HostileList(list):
    __iter__ = __len__ = __repr__ = __eq__ = Hostile._raise
    __hash__ = None


class HostileDict(dict):
    __iter__ = __len__ = __repr__ = __eq__ = items = keys = Hostile._raise
    __hash__ = None


class HostileStr(str):
    __str__ = __repr__ = __len__ = __format__ = Hostile._raise


class HostileInt(int):
    __str__ = __repr__ = __int__ = __index__ = Hostile._raise


def values() -> st.SearchStrategy[object]:
    """Anything that a cell, a caller or a backend could have put into a field."""
    leaves = st.one_of(
        st.none(),
        st.booleans(),
        st.integers(),
        st.integers(0, 70_000).map(lambda bits: 2**bits if bits < 10_000 else 2**70_000),
        st.floats(),
        st.text(),
        st.text(alphabet=st.characters(codec=None, categories=["Cs", "Cc"])),
        st.binary(),
        st.builds(object),
        st.complex_numbers(),
    )
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            st.lists(inner),
            st.tuples(inner, inner),
            st.dictionaries(st.one_of(st.text(), st.integers(), st.none(), st.floats(), st.binary()), inner),
        ),
        max_leaves=30,
    )


def strict(value: object) -> object:
    """`value` through strict JSON."""

    def refuse(name: str) -> None:
        raise AssertionError(name)

    return json.loads(json.dumps(value, allow_nan=False), parse_constant=refuse)


class TestJsonSafe:
    @pytest.mark.parametrize("value", [None, True, 0, -1.5, "text", "\ud800", [], {}, [1, [2]], {"a": {"b": None}}])
    def test_json_stays_as_it_is(self, value: object) -> None:
        assert json_safe(value) == value

    def test_everything_else_is_replaced_without_running_it(self) -> None:
        # A loop and no parametrize: pytest would print the values, and some of them bite.
        table = [
            (float("nan"), "NaN"),
            (float("inf"), "Infinity"),
            (float("-inf"), "-Infinity"),
            (2**MAX_BITS - 1, 2**MAX_BITS - 1),
            (2**MAX_BITS, f"<int of {MAX_BITS + 1} bits>"),
            (-(2**70_000), "<int of 70001 bits>"),
            ((1, 2), [1, 2]),
            ({1}, [1]),
            (frozenset({1}), [1]),
            (namedtuple("Point", "x y")(1, 2), [1, 2]),
            (OrderedDict(a=1), {"a": 1}),
            (
                {1: "a", None: "b", 2.5: "d", (1, 2): "e"},
                {"1": "a", "None": "b", "2.5": "d", "<tuple>": "e"},
            ),
            (b"abc", "<bytes of 3 bytes>"),
            (pathlib.PurePosixPath("/a/b"), "/a/b"),
            (print, "<function 'print'>"),
            (values, "<function 'values'>"),
            (math, "<module 'math'>"),
            (int, "<class 'int'>"),
            (object(), "<object>"),
            (Hostile(), "<Hostile>"),
            (HostileMeta("Named", (), {}), "<class 'Named'>"),
            (HostileMeta("Named", (), {})(), "<Named>"),
            (HostileList([1]), [1]),
            (HostileDict(a=1), {"a": 1}),
            (HostileStr("s"), "s"),
            (HostileInt(3), 3),
        ]
        for value, safe in table:
            assert strict(json_safe(value)) == safe

    def test_a_module_that_lies_about_its_name(self) -> None:
        module = type(sys)("fine")
        module.__name__ = Hostile()
        assert json_safe(module) == "<module>"

    def test_what_contains_itself(self) -> None:
        loop: list[object] = [1]
        loop.append(loop)
        table: dict[str, object] = {"again": loop}
        table["self"] = table
        assert json_safe(loop) == [1, "<list that contains itself>"]
        assert json_safe(table)["self"] == "<dict that contains itself>"

    def test_what_is_shared_is_not_a_loop(self) -> None:
        shared = [1]
        assert json_safe([shared, shared]) == [[1], [1]]

    def test_depth(self) -> None:
        deep: object = 1
        for _ in range(100_000):
            deep = [deep]
        safe = json_safe(deep, depth=2)
        assert safe == [["<list nested deeper than 2>"]]
        while deep != 1:  # take it apart, so that freeing it needs no recursion
            (deep,) = deep

    def test_nodes(self) -> None:
        assert json_safe([1, 2, 3], nodes=2) == [1, "[2 more items]"]
        assert json_safe({"a": 1, "b": 2}, nodes=2) == {"a": 1, "...": "[1 more items]"}
        assert len(json_safe(list(range(1_000_000)))) < 250_000

    def test_text(self) -> None:
        assert json_safe(["abc", "defg"], text=5) == ["abc", "de... + [2 chars...]"]

    def test_the_copy_shares_nothing(self) -> None:
        value = {"a": [1]}
        safe = json_safe(value)
        safe["a"].append(2)
        assert value == {"a": [1]}

    @given(values())
    def test_anything_is_strict_json(self, value: object) -> None:
        read = strict(json_safe(value))
        assert strict(json_safe(read)) == read


class TestUsage:
    def test_model_usage_round_trip(self) -> None:
        usage = ModelUsageSummary(2, 30, 4, 0.5)
        assert usage.to_dict() == {
            "total_calls": 2,
            "total_input_tokens": 30,
            "total_output_tokens": 4,
            "total_cost": 0.5,
        }
        assert ModelUsageSummary.from_dict(usage.to_dict()) == usage

    def test_a_cost_that_is_not_known_is_absent(self) -> None:
        assert "total_cost" not in ModelUsageSummary().to_dict()
        assert "total_cost" not in UsageSummary({"m": ModelUsageSummary()}).to_dict()
        assert UsageSummary({"m": ModelUsageSummary()}).total_cost is None

    def test_sums(self) -> None:
        usage = UsageSummary({"a": ModelUsageSummary(1, 10, 1, 0.25), "b": ModelUsageSummary(2, 20, 2)})
        assert (usage.total_calls, usage.total_input_tokens, usage.total_output_tokens) == (3, 30, 3)
        assert usage.total_cost == 0.25
        assert usage.to_dict()["total_cost"] == 0.25
        assert UsageSummary.from_dict(usage.to_dict()) == usage

    @pytest.mark.parametrize("data", [None, {}, {"model_usage_summaries": None}])
    def test_nothing_is_no_usage(self, data: dict[str, object] | None) -> None:
        assert UsageSummary.from_dict(data) == UsageSummary()
        assert ModelUsageSummary.from_dict(data) == ModelUsageSummary()


class TestChatCompletion:
    def test_round_trip(self) -> None:
        completion = RLMChatCompletion(
            "m", {"a": 1}, "r", UsageSummary({"m": ModelUsageSummary(1, 2, 3)}), 1.5, {"iterations": []}, "late"
        )
        assert RLMChatCompletion.from_dict(strict(completion.to_dict())) == completion

    def test_metadata_and_error_only_where_there_are_any(self) -> None:
        completion = RLMChatCompletion("m", "p", "r", UsageSummary(), 0.0)
        assert completion.to_dict().keys() == {"root_model", "prompt", "response", "usage_summary", "execution_time"}

    def test_a_null_usage_is_no_usage(self) -> None:
        assert RLMChatCompletion.from_dict({"usage_summary": None, "execution_time": None}) == RLMChatCompletion(
            "", "", "", UsageSummary(), 0.0
        )

    def test_a_payload_of_any_size_stays_whole(self) -> None:
        payload = ["x"] * 300_000
        assert RLMChatCompletion("m", payload, "r", UsageSummary(), 0.0).to_dict()["prompt"] == payload

    def test_children_of_children_are_kept(self) -> None:
        metadata: dict[str, object] = {"iterations": []}
        for _ in range(16):
            call = RLMChatCompletion("m", "p", "r", UsageSummary(), 0.0, metadata)
            result = REPLResult("", "", {}, rlm_calls=[call])
            metadata = {"iterations": [RLMIteration([], "r", [CodeBlock("c", result)]).to_dict()]}
        assert "nested deeper" not in json.dumps(metadata)


class TestREPLResult:
    def test_defaults(self) -> None:
        result = REPLResult("o", "e", {"x": 1})
        assert (result.execution_time, result.rlm_calls, result.final_answer) == (0.0, [], None)
        assert (result.error, result.cpu_seconds, result.peak_bytes, result.dropped_bytes) == (None, 0.0, 0, 0)
        assert result.check() is result

    def test_positions_are_upstreams(self) -> None:
        call = RLMChatCompletion("m", "p", "r", UsageSummary(), 0.0)
        result = REPLResult("o", "e", {}, 1.5, [call], "answer")
        assert (result.execution_time, result.rlm_calls, result.final_answer) == (1.5, [call], "answer")

    def test_two_results_never_share_their_calls(self) -> None:
        assert REPLResult("", "", {}).rlm_calls is not REPLResult("", "", {}).rlm_calls

    def test_repr_and_equality(self) -> None:
        assert REPLResult("o", "", {"x": 1}) == REPLResult("o", "", {"x": 1}) != REPLResult("p", "", {"x": 1})
        assert "stdout='o'" in repr(REPLResult("o", "", {}))

    def test_str_is_upstreams_and_drives_no_terminal(self) -> None:
        text = str(REPLResult("out\x1b[2J", "err\u202e", {"x": "\x07"}))
        assert text.startswith("REPLResult(stdout=out\\x1b[2J, stderr=err\\u202e, ")
        assert text.isprintable()

    def test_check_raises_what_went_wrong(self) -> None:
        error = CellTimeout("too long", limit="limits.cell_seconds", wall="wall-clock")
        with pytest.raises(CellTimeout) as raised:
            REPLResult("", "", {}, error=error).check()
        assert raised.value is error

    def test_to_dict_has_upstreams_keys(self) -> None:
        keys = {"stdout", "stderr", "locals", "execution_time", "rlm_calls", "final_answer"}
        assert REPLResult("", "", {}).to_dict().keys() == keys

    def test_to_dict_of_anything(self) -> None:
        call = RLMChatCompletion("m", "p", "r", UsageSummary(), 0.0)
        error = CellTimeout("too long", limit="limits.cell_seconds")
        result = REPLResult("\ud800", "", {"n": 2**65_536, "x": math.nan}, math.inf, [call], "", error=error)
        assert strict(result.to_dict()) == {
            "stdout": "\ud800",
            "stderr": "",
            "locals": {"n": "<int of 65537 bits>", "x": "NaN"},
            "execution_time": "Infinity",
            "rlm_calls": [call.to_dict()],
            "final_answer": "",
            "error": {
                "type": "CellTimeout",
                "message": "too long",
                "limit": "limits.cell_seconds",
                "wall": None,
                "rule": None,
            },
        }


class TestIterationAndMetadata:
    def test_iteration(self) -> None:
        iteration = RLMIteration([{"role": "user", "content": "p"}], "r", [CodeBlock("c", REPLResult("", "", {}))])
        assert strict(iteration.to_dict()) == {
            "prompt": [{"role": "user", "content": "p"}],
            "response": "r",
            "code_blocks": [{"code": "c", "result": REPLResult("", "", {}).to_dict()}],
            "final_answer": None,
            "iteration_time": None,
        }

    def test_metadata(self) -> None:
        metadata = RLMMetadata(
            "m", 1, 30, "openai", {"timeout": math.inf, "hook": print}, "local", {"x": {1}}, ["vllm"]
        )
        assert strict(metadata.to_dict()) == {
            "root_model": "m",
            "max_depth": 1,
            "max_iterations": 30,
            "backend": "openai",
            "backend_kwargs": {"timeout": "Infinity", "hook": "<function 'print'>"},
            "environment_type": "local",
            "environment_kwargs": {"x": [1]},
            "other_backends": ["vllm"],
        }


class TestQueryMetadata:
    @pytest.mark.parametrize(
        ("payload", "kind", "lengths"),
        [
            ("héllo", "str", [5]),
            ("", "str", [0]),
            (["ab", "c"], "list", [2, 1]),
            ([], "list", [0]),
            ([1, 2, 300], "list", [1, 1, 3]),
            ([None, [1, 2]], "list", [4, 6]),
            ([{"role": "user", "content": "abc"}], "list", [3]),
            ([{"content": None}], "list", [4]),
            ([{"a": 1}], "list", [8]),
            (["ab", {"content": "abc"}], "list", [2, 3]),
            ({"a": "xyz", "b": [1, 2]}, "dict", [3, 6]),
            ({}, "dict", []),
        ],
    )
    def test_lengths(self, payload: object, kind: str, lengths: list[int]) -> None:
        metadata = QueryMetadata(payload)
        assert (metadata.context_type, metadata.context_lengths) == (kind, lengths)
        assert metadata.context_total_length == sum(lengths)

    def test_what_json_cannot_hold_counts_as_what_stands_for_it(self) -> None:
        assert QueryMetadata([2**70_000, object(), {(1, 2): 3}]).context_lengths == [21, 10, 14]

    @pytest.mark.parametrize("payload", [None, 3, b"bytes", object()])
    def test_other_types_are_refused(self, payload: object) -> None:
        with pytest.raises(ValueError, match="Invalid prompt type"):
            QueryMetadata(payload)

    @given(st.lists(values()))
    def test_any_list(self, payload: list[object]) -> None:
        assert len(QueryMetadata(payload).context_lengths) == max(1, len(payload))
