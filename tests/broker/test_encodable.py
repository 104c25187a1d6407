"""Every str that leaves a sandbox can be written as UTF-8, whatever a cell, a hostile worker or a model says."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure import Sandbox
from rlm_secure.broker import protocol
from rlm_secure.clients.base import Completion
from rlm_secure.errors import ProtocolViolation
from rlm_secure.types import ModelUsageSummary, encodable
from tests.loops import cell, scripted

LIMIT = 1 << 20
HALVES = "\ud800", "\udcff", "a\udfffb", "\ud83d \ude00", "\U0001f600\ud83d", "\\\ud83d"
TEXTS = st.text(st.characters(exclude_categories=()), max_size=20) | st.sampled_from(HALVES)
VALUES = st.recursive(
    TEXTS | st.integers(0, 9) | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXTS, inner, max_size=4),
    max_leaves=20,
)


def texts(value: Any) -> Iterator[str]:
    """Every str in `value`."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from texts(key)
            yield from texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from texts(item)
    elif isinstance(value, BaseException):
        yield str(value)
    elif is_dataclass(value):
        for each in fields(value):
            yield from texts(getattr(value, each.name))


def unwritable(value: Any) -> list[str]:
    """The texts of `value` that print() could not write."""
    return [text for text in texts(value) if any("\ud800" <= each <= "\udfff" for each in text)]


@given(VALUES)
@example({"\ud800": 1, "\\ud800": 2})
@example("\\\ud83d\ude00")
def test_no_frame_carries_half_of_a_pair_through_the_decoder(value: Any) -> None:
    frame = json.dumps({"x": value}).encode("ascii")
    try:
        decoded = protocol.decode(frame, limit=LIMIT)
    except ProtocolViolation:
        assert "repeats a key" in str(_raised(frame))
        return
    assert unwritable(decoded) == []
    if not unwritable(value):
        assert decoded == json.loads(frame)


def _raised(frame: bytes) -> ProtocolViolation:
    with pytest.raises(ProtocolViolation) as caught:
        protocol.decode(frame, limit=LIMIT)
    return caught.value


@pytest.mark.parametrize("half", HALVES)
def test_no_position_of_a_hostile_result_or_call_carries_one(half: str) -> None:
    done = {
        "op": "done", "stdout": half, "stderr": half, "dropped": 0, "cpu": 0, "peak": 0,
        "variables": {half: {"type": half, "value": [{half: half}], "repr": half}},
        "answer": {"text": half, "whole": {half: half}},
        "error": {"kind": "refused", "message": half, "rule": half},
    }  # fmt: skip
    calls = [
        {"op": "call", "call": "llm_query", "prompts": [half], "model": half},
        {"op": "call", "call": "tool", "tool": "t", "args": [half, [half]], "kwargs": {half: {half: half}}},
    ]
    for message in (done, *calls):
        for spelling in (json.dumps(message), json.dumps(message).replace("\\ud", "\\uD")):
            decoded = protocol.decode(spelling.encode(), limit=LIMIT)
            event = protocol.event(decoded, value_bytes=1000, stdout_bytes=1000, result_bytes=LIMIT)
            assert list(texts(event))
            assert unwritable(event) == []
    with pytest.raises(ProtocolViolation):
        protocol.decode(json.dumps({"a\ud800": 1, "a\\ud800": 2}).encode(), limit=LIMIT)


def test_what_a_cell_says_can_be_printed() -> None:
    told: list[Any] = []

    def tool(*values: Any, **options: Any) -> str:
        told.append([values, options])
        return "told"

    with Sandbox(tools={"tool": tool}) as sandbox:
        result = sandbox.run(
            "half = '\\ud800'\nnested = {'k\\udfff': [half, half]}\nprint(half, tool(half, key=nested))\n"
            "same = {'\\ud800': 1, '\\ud801': 2}\nfinal_answer(nested)"
        )
        assert result.stdout == "\\ud800 told\n"
        assert result.final_answer == str({"k\\udfff": ["\\ud800", "\\ud800"]}).replace("\\\\", "\\")
        failed = sandbox.run("raise ValueError('\\udcff')")
        assert failed.stderr.endswith("ValueError: \\udcff\n")
    assert told == [[("\\ud800",), {"key": {"k\\udfff": ["\\ud800", "\\ud800"]}}]]
    for each in (result, failed):
        assert unwritable([each.stdout, each.stderr, each.locals, each.final_answer, each.final_value, each.error]) == []


def test_what_a_model_says_can_be_printed() -> None:
    completion = scripted(
        [cell("print(llm_query('p\\ud800'))"), "FINAL(half: \ud800)"], lambda prompt: f"{prompt}\udfff"
    ).completion("x")
    assert completion.response == "half: \\ud800"
    assert Completion("\ud800", "m", ModelUsageSummary(1, 0, 0)).text == "\\ud800"


def test_a_name_that_only_differs_in_halves_is_no_name() -> None:
    with pytest.raises(ValueError, match="lone surrogates"):
        encodable({"\ud800": 1, "\\ud800": 2})
    assert encodable({"\ud800": [1, None, {"x": "\udc80"}]}) == {"\\ud800": [1, None, {"x": "\\udc80"}]}
