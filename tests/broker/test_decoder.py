"""The only decoder of what a worker says: any bytes give plain values or ProtocolViolation, in linear time."""

from __future__ import annotations

import copy
import json
import time
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.broker import protocol
from rlm_secure.broker.protocol import Call, CellResult, TextAnswer, Variable
from rlm_secure.errors import CellException, CellMemoryLimit, CellRefused, CellTimeout, ProtocolViolation

LIMIT = 8 * 1024 * 1024

DONE: dict[str, Any] = {
    "op": "done",
    "stdout": "out",
    "stderr": "err",
    "variables": {"x": {"type": "int", "value": 1}, "f": {"type": "function", "repr": "<function>"}},
    "answer": {"text": "42", "whole": 42},
    "error": {"kind": "refused", "message": "no", "rule": "dunder-attribute"},
    "cpu": 0.5,
    "peak": 1024,
    "dropped": 0,
}
QUERY: dict[str, Any] = {"op": "call", "call": "llm_query", "prompts": ["a question"], "model": None}
BATCH: dict[str, Any] = {"op": "call", "call": "llm_query_batched", "prompts": ["a", "b"], "model": "m"}
TOOL: dict[str, Any] = {"op": "call", "call": "tool", "tool": "search", "args": [1], "kwargs": {"k": None}}
FRAMES = (DONE, QUERY, BATCH, TOOL)

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(), max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def read(data: bytes, *, limit: int = LIMIT, **bounds: int) -> Call | CellResult:
    bounds = {"value_bytes": 65536, "stdout_bytes": LIMIT, "result_bytes": LIMIT, **bounds}
    return protocol.event(protocol.decode(data, limit=limit), **bounds)


def frame(value: Any) -> bytes:
    return json.dumps(value).encode("ascii")


def test_a_result_is_read_whole() -> None:
    result = read(frame(DONE))
    assert isinstance(result, CellResult)
    assert (result.stdout, result.stderr, result.answer) == ("out", "err", TextAnswer("42", 42))
    assert result.variables == {
        "x": Variable("int", 1, has_value=True),
        "f": Variable("function", repr="<function>"),
    }
    assert (result.cpu_seconds, result.peak_bytes, result.dropped_bytes) == (0.5, 1024, 0)
    assert isinstance(result.error, CellRefused)
    assert result.error.rule == "dunder-attribute"


def test_calls_are_read_whole() -> None:
    assert read(frame(QUERY)) == Call("llm_query", ("a question",))
    assert read(frame(BATCH)) == Call("llm_query_batched", ("a", "b"), "m")
    assert read(frame({**QUERY, "media": ["AP8=", ""]})) == Call("llm_query", ("a question",), media=(b"\0\xff", b""))
    assert read(frame({**QUERY, "media": [""] * 16})) == Call("llm_query", ("a question",), media=(b"",) * 16)
    assert read(frame({**BATCH, "media": []})) == Call("llm_query_batched", ("a", "b"), "m")
    assert read(frame(TOOL)) == Call("tool", tool="search", args=(1,), kwargs={"k": None})


@pytest.mark.parametrize(
    "broken",
    [
        {**QUERY, "media": None},
        {**QUERY, "media": "AP8="},
        {**QUERY, "media": {}},
        {**QUERY, "media": [1]},
        {**QUERY, "media": [None]},
        {**QUERY, "media": ["AP8"]},
        {**QUERY, "media": ["AP8=\n"]},
        {**QUERY, "media": ["\u00e9"]},
        {**QUERY, "media": ["AP8="] * 17},
        {**QUERY, "call": "rlm_query", "media": ["AP8="]},
        {**BATCH, "media": ["AP8="]},
    ],
)
def test_media_are_a_short_list_of_base64_of_one_question(broken: dict[str, Any]) -> None:
    with pytest.raises(ProtocolViolation):
        read(frame(broken))


@pytest.mark.parametrize(
    ("kind", "error"),
    [
        ("exception", CellException),
        ("refused", CellRefused),
        ("memory", CellMemoryLimit),
        ("interrupted", CellTimeout),
        ("cpu", CellTimeout),
    ],
)
def test_the_guest_picks_an_error_from_a_closed_table(kind: str, error: type[Exception]) -> None:
    result = read(frame({**DONE, "error": {"kind": kind, "message": "m"}}))
    assert isinstance(result, CellResult)
    assert type(result.error) is error


def test_a_ready_frame_names_walls_and_nothing_else() -> None:
    walls = {"seccomp": ["full", "e" * 500], "rlimits": ["none", ""]}
    found = protocol.ready({"op": "ready", "walls": walls, "details": {"python": "3"}})
    assert found == {"seccomp": ("full", "e" * 400), "rlimits": ("none", "")}
    for broken in (
        {"op": "done", "walls": walls, "details": {}},
        {"op": "ready", "walls": [], "details": {}},
        {"op": "ready", "walls": {"moat": ["full", "e"]}, "details": {}},
        {"op": "ready", "walls": {"seccomp": ["perfect", "e"]}, "details": {}},
        *({"op": "ready", "walls": {"seccomp": wall}, "details": {}} for wall in ("full", ["full"], ["full", 1], [1, "e"])),
        {"op": "ready", "walls": {"seccomp": {"full": 1, "e": 2}}, "details": {}},
        {"op": "ready", "walls": {"seccomp": ["full", "e", "more"]}, "details": {}},
    ):
        with pytest.raises(ProtocolViolation):
            protocol.ready(broken)


@given(st.binary(max_size=300))
@example(b"")
@example(b"{}")
@example(b'{"op": "done"}')
@example(b"\xef\xbb\xbf{}")
@example(b'{"op": "done", "cpu": 1e999}')
@example(b'{"op": NaN}')
@example(b'{"a": ' + b"9" * 5000 + b"}")
@example(b'{"op": 1, "op": 2}')
@example(b"[" * 100_000)
@example(b'{"a":' * 100_000)
@example('{"op": "\u00e9"}'.encode())
def test_any_bytes_are_a_value_or_a_violation(data: bytes) -> None:
    try:
        read(data)
    except ProtocolViolation:
        pass


@given(VALUES)
def test_any_json_is_a_value_or_a_violation(value: Any) -> None:
    try:
        read(json.dumps(value).encode("ascii"))
    except ProtocolViolation:
        pass


@given(st.sampled_from(FRAMES), st.data())
def test_a_valid_frame_with_any_part_replaced_is_a_value_or_a_violation(
    valid: dict[str, Any], data: st.DataObject
) -> None:
    message = copy.deepcopy(valid)
    place: Any = message
    while True:
        key = data.draw(st.sampled_from(sorted(place) if isinstance(place, dict) else range(len(place))))
        if isinstance(place[key], dict | list) and place[key] and data.draw(st.booleans()):
            place = place[key]
            continue
        break
    if data.draw(st.booleans()) and isinstance(place, dict):
        del place[key]
    else:
        place[key] = data.draw(VALUES)
    try:
        found = read(frame(message))
    except ProtocolViolation:
        return
    assert isinstance(found, Call | CellResult)
    if isinstance(found, Call):
        assert all(type(prompt) is str for prompt in found.prompts)
    else:
        assert type(found.stdout) is str
        assert found.cpu_seconds >= 0
        assert found.peak_bytes >= 0


@pytest.mark.parametrize(
    "data", [b"", b" {}", b"{} ", b"{}{}", b"{}\n", b'{"a":}', b'{"a":1', b"[]", b"1", b"\xef\xbb\xbf{}"]
)
def test_a_frame_is_one_object_and_nothing_around_it(data: bytes) -> None:
    with pytest.raises(ProtocolViolation):
        protocol.decode(data, limit=LIMIT)
    assert protocol.decode(b"{}", limit=LIMIT) == {}


@pytest.mark.parametrize(
    "message",
    [
        {"op": "ready"},
        {**DONE, "stdout": None},
        {**DONE, "cpu": -1},
        {**DONE, "cpu": True},
        {**DONE, "peak": 10**400},
        {**DONE, "peak": 1e308},
        {**DONE, "cpu": 2**53 + 2},
        {**DONE, "variables": {f"v{n}": {"type": "int"} for n in range(protocol.MAX_NAMES + 1)}},
        {**DONE, "variables": {"x" * 129: {"type": "int"}}},
        {**DONE, "variables": {"x": [1]}},
        {**DONE, "variables": {"x": {"type": 1}}},
        {**DONE, "variables": {"x": {"type": "t" * 129}}},
        {**DONE, "variables": {"x": {"type": "int", "repr": 1}}},
        {**DONE, "variables": [1]},
        {**DONE, "gone": "x"},
        {**DONE, "gone": [1]},
        {**DONE, "gone": ["x" * 129]},
        {**DONE, "gone": ["x"] * (protocol.MAX_NAMES + 1)},
        {**DONE, "cpu": "1"},
        {**DONE, "answer": [1]},
        {**DONE, "error": {"kind": "refused"}},
        {**DONE, "error": {"kind": "refused", "message": 1}},
        {**DONE, "error": {"kind": "refused", "message": "m", "rule": 1}},
        {**DONE, "error": {"kind": "refused", "message": "m", "rule": "r" * 129}},
        {**QUERY, "model": 1},
        {**QUERY, "prompts": "a"},
        {**TOOL, "tool": 1},
        {**TOOL, "tool": "t" * 129},
        {**DONE, "variables": {"x": {"type": "int", "repr": "r" * 65_537}}},
        {**DONE, "variables": {"x": {"type": "int", "repr": "\u00e9" * 32_769}}},
        {**DONE, "answer": {"text": 1}},
        {**DONE, "error": {"kind": "SystemExit", "message": "m"}},
        {**DONE, "error": {"kind": ["refused"], "message": "m"}},
        {**DONE, "error": "no"},
        {**QUERY, "prompts": ["a", "b"]},
        {**QUERY, "prompts": []},
        {**QUERY, "prompts": [1]},
        {**QUERY, "model": "m" * 257},
        {**QUERY, "call": "eval"},
        {**TOOL, "call": "eval"},
        {**QUERY, "call": ["llm_query"]},
        {**BATCH, "prompts": ["p"] * (protocol.MAX_PROMPTS + 1)},
        {**TOOL, "tool": "os.system"},
        {**TOOL, "tool": "__import__('os')"},
        {**TOOL, "args": {"0": 1}},
        {**TOOL, "kwargs": [1]},
    ],
    ids=lambda message: json.dumps(message)[-60:],
)
def test_what_the_protocol_does_not_allow_is_a_violation(message: dict[str, Any]) -> None:
    with pytest.raises(ProtocolViolation, match="the sandbox broke the protocol|a frame is not JSON"):
        read(frame(message))


def test_sizes_and_depths_are_capped() -> None:
    nested: Any = 1
    for _ in range(protocol.MAX_DEPTH):
        nested = [nested]
    for data in (
        frame(DONE) + b" " * LIMIT,
        frame({**DONE, "more": nested}),
        frame({**DONE, "more": [0] * (protocol.MAX_NODES + 1)}),
    ):
        with pytest.raises(ProtocolViolation):
            read(data)


def test_a_frame_at_its_limit_is_read_and_one_byte_more_is_not() -> None:
    data = frame(DONE)
    assert read(data, limit=len(data))
    with pytest.raises(ProtocolViolation, match=f"a frame of {len(data)} bytes is over the limit of {len(data) - 1}"):
        read(data, limit=len(data) - 1)
    with pytest.raises(ProtocolViolation, match="not an object in ASCII"):
        read('{"op": "\u00e9"}'.encode())


def test_what_is_at_its_limit_is_read() -> None:
    assert (protocol.MAX_NAMES, protocol.MAX_NAME, protocol.MAX_PROMPTS) == (256, 128, 10_000)
    assert (protocol.MAX_DEPTH, protocol.MAX_NODES) == (64, 400_000)
    variables = {f"v{n}": {"type": "int"} for n in range(255)} | {"x" * 128: {"type": "t" * 128, "repr": "r" * 99}}
    result = read(frame({**DONE, "variables": variables, "cpu": 0, "peak": 0, "dropped": 0}), value_bytes=99)
    assert isinstance(result, CellResult)
    assert len(result.variables) == 256
    assert result.variables["v0"] == Variable("int", None, has_value=False, repr="")
    told = read(frame({**DONE, "error": {"kind": "refused", "message": "m" * 4001, "rule": "r" * 128}}))
    assert isinstance(told, CellResult)
    assert isinstance(told.error, CellRefused)
    assert (len(str(told.error)), told.error.rule, told.error.wall) == (4000, "r" * 128, "language")
    assert read(frame({**BATCH, "prompts": ["p"] * 10_000, "model": "m" * 256})) == Call(
        "llm_query_batched", ("p",) * 10_000, "m" * 256
    )
    assert read(frame({**BATCH, "prompts": []})) == Call("llm_query_batched", (), "m")
    assert read(frame({**QUERY, "call": "rlm_query_batched", "prompts": ["a"]})) == Call("rlm_query_batched", ("a",))
    assert read(frame({**TOOL, "tool": "t" * 128})) == Call("tool", tool="t" * 128, args=(1,), kwargs={"k": None})


def test_output_that_no_worker_cut_is_cut_and_counted() -> None:
    said = {**DONE, "stdout": "\u00e9" * 10, "stderr": "e" * 12, "dropped": 1}
    result = read(frame(said), stdout_bytes=9)
    assert isinstance(result, CellResult)
    assert (result.stdout, result.stderr, result.dropped_bytes) == ("\u00e9" * 4, "e" * 9, 1 + 12 + 3)
    whole = read(frame(said), stdout_bytes=20)
    assert isinstance(whole, CellResult)
    assert (whole.stdout, whole.stderr, whole.dropped_bytes) == ("\u00e9" * 10, "e" * 12, 1)


@pytest.mark.parametrize("value", [[1, 2, 3, 4], {"key": "text"}, "a text", 12345678])
def test_a_value_that_no_worker_bounded_is_not_kept_and_counted(value: Any) -> None:
    said = frame({**DONE, "variables": {"x": {"type": "t", "value": value}}})
    size = len(json.dumps(value, separators=(",", ":")))
    whole, cut = read(said, value_bytes=size), read(said, value_bytes=size - 1)
    assert isinstance(whole, CellResult) and isinstance(cut, CellResult)
    assert (whole.variables["x"], whole.dropped_bytes) == (Variable("t", value, True), 0)
    assert (cut.variables["x"], cut.dropped_bytes) == (Variable("t", repr=f"[not kept: {size} bytes]"), size)


def test_an_answer_that_no_worker_bounded_is_not_kept_or_a_violation() -> None:
    value = "v" * 998  # a thousand bytes of JSON, of which an eighth of a result may be a value
    said = frame({**DONE, "answer": {"text": "42", "whole": value}})
    whole, cut = read(said, result_bytes=8000), read(said, result_bytes=7999)
    assert isinstance(whole, CellResult) and isinstance(cut, CellResult)
    assert (whole.answer, whole.dropped_bytes) == (TextAnswer("42", value), 0)
    assert (cut.answer, cut.dropped_bytes) == (TextAnswer("42"), 1000)
    long = frame({**DONE, "answer": {"text": "\u00e9" * 500}})
    assert isinstance(read(long, result_bytes=1000), CellResult)
    with pytest.raises(ProtocolViolation, match=r"longer than limits\.result_bytes"):
        read(long, result_bytes=999)


def test_each_limit_that_a_cell_ran_into_is_named() -> None:
    for kind, limit, wall in (
        ("memory", "limits.memory_bytes", "rlimits"),
        ("interrupted", "limits.cell_seconds", "wall-clock"),
        ("cpu", "limits.cell_cpu_seconds", "rlimits"),
    ):
        result = read(frame({**DONE, "error": {"kind": kind, "message": "m"}}))
        assert isinstance(result, CellResult)
        assert isinstance(result.error, CellMemoryLimit | CellTimeout)
        assert (result.error.limit, result.error.wall) == (limit, wall)


def test_a_result_of_nothing_is_empty() -> None:
    assert repr(CellResult()) == (
        "CellResult(stdout='', stderr='', variables={}, value=None, files={}, answer=None, error=None, seconds=0.0, "
        "cpu_seconds=0.0, peak_bytes=0, dropped_bytes=0, resumed=False)"
    )


def test_commas_inside_strings_are_no_values() -> None:
    result = read(frame({**DONE, "stdout": ",[{" * protocol.MAX_NODES}))
    assert isinstance(result, CellResult)
    assert len(result.stdout) == 3 * protocol.MAX_NODES


COMMAS = b"," * (protocol.MAX_NODES + 1)


@pytest.mark.parametrize(
    "data",
    [
        b'"' + b'\\"' * 3_000_000 + COMMAS,
        COMMAS + b'"' + b'\\"' * 3_000_000,
        b'"\\' * 3_000_000 + COMMAS,
        b'"' * 3_000_000 + COMMAS,
        b"\\" * 3_000_000 + b'"' + COMMAS,
        b'{"a":' * 1_000_000,
        b"[" * (protocol.MAX_NODES - 1),
        b"-" * LIMIT,
        b"1" * LIMIT,
        b'{"a":"' + b"\\u0000" * 1_000_000,
    ],
    ids=range(10),
)
def test_no_frame_takes_long_to_refuse(data: bytes) -> None:
    started = time.process_time()
    with pytest.raises(ProtocolViolation):
        read(data)
    assert time.process_time() - started < 2
