"""JSON of somebody else's: depth, values and digits are bounded on the bytes, before a parser sees them.

Nothing may rest on the interpreter's recursion limit, on its limit of digits, or on the size of a thread's stack.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
import textwrap
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import assume, example, given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure import untrusted_json
from rlm_secure.broker import protocol
from rlm_secure.errors import ProtocolViolation
from rlm_secure.guest import wire
from rlm_secure.untrusted_json import MAX_DEPTH, MAX_DIGITS, MAX_NODES, MalformedJson

ROOT = Path(__file__).parents[2]
LIMIT = 8 * 1024 * 1024

#: Runs one function per line of `TRIED` in a thread with the smallest stack there is, without any limit of Python's.
SMALL = """
import sys, threading
sys.setrecursionlimit(10**6)
sys.set_int_max_str_digits(0)
threading.stack_size(64 * 1024)
_told = []
def one(name, function):
    try:
        _told.append((name, function()))
    except Exception as error:
        _told.append((name, type(error).__name__))
def every(tried):
    for name, function in tried.items():
        thread = threading.Thread(target=one, args=(name, function))
        thread.start()
        thread.join()
    print(_told)
"""


def in_a_small_thread(tried: str) -> dict[str, Any]:
    """What each function in the dict `tried` returned, or the name of what it raised; asserts that all survived."""
    program = SMALL + textwrap.dedent(tried)
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, cwd=ROOT, env={**os.environ})
    assert done.returncode == 0, (done.returncode, done.stderr[-500:])
    return dict(eval(done.stdout))


def test_a_frame_breaks_no_thread_whatever_its_stack_and_the_limits_of_the_interpreter() -> None:
    found = in_a_small_thread("""
        from rlm_secure.broker.protocol import MAX_DEPTH, decode
        def of(data):
            return lambda: len(decode(data, limit=1 << 24))
        lists = b'{"a":' + b"[" * (MAX_DEPTH - 1) + b"]" * (MAX_DEPTH - 1) + b"}"
        dicts = b'{"a":' * MAX_DEPTH + b"1.5" + b"}" * MAX_DEPTH
        every({
            "lists": of(lists),
            "dicts": of(dicts),
            "one list more": of(b'{"b":[' + lists + b"]}"),
            "half a million": of(b'{"a":' + b"[" * 500_000),
            "closed": of(b'{"a":' + b"[" * 200_000 + b"]" * 200_000 + b"}"),
            "objects": of(b'{"a":' * 200_000),
            "digits": of(b'{"a":' + b"9" * 800_000 + b"}"),
            "fraction": of(b'{"a":0.' + b"9" * 800_000 + b"}"),
            "exponent": of(b'{"a":1e' + b"9" * 800_000 + b"}"),
            "behind a string": of(b'{"a":"' + b'\\\\\\\\' * 9 + b'\\\\"]]]]","b":' + b"[" * 500_000),
        })
    """)
    refused = "ProtocolViolation"
    assert found == {
        "lists": 1,
        "dicts": 1,
        "one list more": refused,
        "half a million": refused,
        "closed": refused,
        "objects": refused,
        "digits": refused,
        "fraction": refused,
        "exponent": refused,
        "behind a string": refused,
    }


def test_no_other_reader_of_what_somebody_else_wrote_breaks_one() -> None:
    found = in_a_small_thread("""
        import io, socket, struct
        from rlm_secure.compat.core import comms_utils as comms
        from rlm_secure.rlm.answers import AnswerSchema
        from rlm_secure.audit.read import cells, document, trajectory
        from rlm_secure.audit import probes
        from rlm_secure.environments.cloud.lease import _lines
        from rlm_secure.logger import audit_log, read, view
        from rlm_secure.policy import load_policy
        from rlm_secure.testing import control
        deep = b"[" * 300_000
        digits = b"9" * 800_000
        policy = load_policy("strict")
        schema = AnswerSchema({"type": "array"})
        def received(data):
            ours, theirs = socket.socketpair()
            with ours, theirs:
                theirs.sendall(struct.pack(">I", len(data)) + data)
                return comms.socket_recv(ours)
        class Stream:
            def __init__(self, data): self.left = [data, b""]
            def read(self, deadline): return self.left.pop(0)
        def page(data):
            return "is not a JSON object" in view.page((each for _, each in read.entries(io.BytesIO(data))), title="t")
        def each(name, data):
            return {
                f"comms, {name}": lambda: received(data[:60_000] if name == "digits" else data[:100_000]),
                f"answer, {name}": lambda: schema.read(data.decode())[1],
                f"lease, {name}": lambda: len(list(_lines(Stream(data[:60_000] + b"\\n"), 0.0))),
                f"log, {name}": lambda: page(data),
                f"audit log, {name}": lambda: audit_log._parsed(data),
                f"document, {name}": lambda: document.read_json(data.decode(), "f"),
                f"trajectory, {name}": lambda: trajectory.read(data.decode(), "f", policy),
                f"cells, {name}": lambda: cells._decoded(data.decode(), 1),
                f"arena, {name}": lambda: probes._heard(b"step " + data, None),
                f"arena's end, {name}": lambda: probes._heard(b"subject " + data, None),
                f"control, {name}": lambda: control._message(bytearray(struct.pack(">I", len(data)) + data)),
            }
        every(each("deep", deep) | each("digits", digits))
    """)
    for name in ("deep", "digits"):
        assert {place: found[f"{place}, {name}"] for place in PLACES} == PLACES


#: What each reader makes of what it cannot take.
PLACES = {
    "comms": "ProtocolViolation",
    "answer": "it is not JSON",
    "lease": 0,
    "log": True,
    "audit log": None,
    "document": "Unreadable",
    "trajectory": "Unreadable",
    "cells": None,
    "arena": "AttackFailed",
    "arena's end": "AttackFailed",
    "control": "MalformedJson",
}


def test_no_reader_in_the_guest_breaks_one() -> None:
    found = in_a_small_thread("""
        import socket
        from rlm_secure.guest import wire
        from rlm_secure.guest.supervisor import bodies, dial, zygote_link
        deep = b"[" * 300_000
        digits = b"9" * 800_000
        def framed(data):
            ours, theirs = socket.socketpair()
            with ours, theirs:
                threading.Thread(target=theirs.sendall, args=(len(data).to_bytes(4, "big") + data,)).start()
                return wire.FrameChannel(ours).receive()
        def said(data):
            control = zygote_link.ZygoteLink.__new__(zygote_link.ZygoteLink)
            control._answers_due = 1
            control._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
            theirs.send(data[:100_000])
            return control._receive(1.0)
        def line(data):
            end = dial.Dial.__new__(dial.Dial)
            return end._line(b'{"a":' + data[:90_000] + b"}")
        def each(name, data):
            return {
                f"frame, {name}": lambda: framed(data),
                f"body, {name}": lambda: bodies.fields(data, {}),
                f"zygote, {name}": lambda: said(data),
                f"dial, {name}": lambda: line(data),
            }
        every(each("deep", deep) | each("digits", digits))
    """)
    assert found == {
        f"{place}, {name}": outcome
        for name in ("deep", "digits")
        for place, outcome in {"frame": "Closed", "body": "HttpError", "zygote": "LinkError", "dial": None}.items()
    }


# -- the same values as json, within the bounds ---------------------------------------------------------------

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(), max_size=6),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(st.characters(), max_size=4), inner, max_size=4),
    max_leaves=12,
)
#: Text that is often JSON, and often nearly.
NEARLY = st.lists(
    st.sampled_from(
        ["[", "]", "{", "}", ",", ":", '"', "\\", '\\"', "\\\\", '"a"', '"b":', '"":', "1", "-0.5e3", "null", "true"]
        + [" ", "\n", "\\ud800", "\\udc00", "\\uD83D\\uDE00", "\\n", "é", "[]", "{}", '"[[{,"', '"\\\\"', '"\\""', "NaN"]
    ),
    max_size=14,
).map("".join)


def depth(value: Any) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else None
    return 0 if inner is None else 1 + max(map(depth, inner), default=0)


def nodes(value: Any) -> int:
    """Lists, objects, and the commas between what they hold."""
    if not isinstance(value, dict | list):
        return 0
    inner = list(value.values() if isinstance(value, dict) else value)
    return 1 + max(len(inner) - 1, 0) + sum(map(nodes, inner))


def mended(value: Any) -> Any:
    """`value` with each lone surrogate spelled out."""
    if isinstance(value, str):
        return "".join(f"\\u{ord(each):04x}" if "\ud800" <= each <= "\udfff" else each for each in value)
    if isinstance(value, list):
        return [mended(each) for each in value]
    return {mended(key): mended(each) for key, each in value.items()} if isinstance(value, dict) else value


def same(one: Any, other: Any) -> bool:
    """Equal, and of the same types all the way down."""
    return repr(one) == repr(other)


def judged(document: str) -> Any:
    """What json makes of a document, where it is neither lax nor ambiguous. Raises ValueError."""

    def refuse(name: str) -> Any:
        raise ValueError(name)

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len({mended(key) for key, _ in pairs}) != len(pairs):
            raise ValueError("twice")
        return dict(pairs)

    return json.loads(document, parse_constant=refuse, object_pairs_hook=once)


@given(JSON)
@example("\ud83d\ude00")
@example({"\ud800": "\udc00"})
@example(["\\ud800", '\\"', "\\"])
def test_a_value_is_what_json_makes_of_it(value: Any) -> None:
    document = json.dumps(value)
    try:
        expected = mended(judged(document))
    except ValueError:
        with pytest.raises(MalformedJson):
            untrusted_json.loads(document.encode())
        return
    for data in (document, document.encode(), f" \n{document}\t".encode()):
        assert same(untrusted_json.loads(data), expected)
    assert same(wire.loads(document.encode()), json.loads(document))
    json.dumps(expected, ensure_ascii=False).encode("utf-8")


@given(NEARLY, st.integers(1, 5), st.integers(1, 8))
@example('"\\\\"[[[[[["', 1, 8)
@example('["\\\\\\"", [[]]]', 2, 8)
@example('["\\\\", [[[]]]]', 2, 8)
@example('{"[":"{"}', 1, 1)
@example('"' * 60, 1, 1)
@example("[" * 9 + "]" * 9, 5, 8)
@example("[NaN]", 5, 8)
@example("1e999", 5, 8)
@example("\ufeff1", 5, 8)
def test_text_is_refused_exactly_where_json_refuses_it_or_it_is_out_of_bounds(text: str, deep: int, many: int) -> None:
    data = text.encode()
    try:
        value = judged(text)
        good = not (isinstance(value, float) and math.isinf(value))
    except ValueError:
        good = False
    if good and depth(value) <= deep and nodes(value) <= many:
        assert same(untrusted_json.loads(data, depth=deep, nodes=many), mended(value))
    else:
        with pytest.raises(MalformedJson):
            untrusted_json.loads(data, depth=deep, nodes=many)


@given(NEARLY)
@example("NaN")
@example('{"a":1,"a":2}')
@example('{"a":[1],"b":{}}')
@example("[1] 2")
@example(" [1]\n")
def test_the_guest_reads_what_json_reads(text: str) -> None:
    assume(text.isascii())
    for strict, oracle in ((False, json.loads), (True, judged)):
        try:
            expected = oracle(text)
        except ValueError:
            with pytest.raises(wire.MalformedJson):
                wire.loads(text.encode(), strict=strict)
        else:
            if not strict or wire_can_tell(text):
                assert same(wire.loads(text.encode(), strict=strict), expected)


def wire_can_tell(text: str) -> bool:
    """The guest keeps lone surrogates: keys that differ in them are two."""
    return "\\ud" not in text


@pytest.mark.parametrize("extra", [0, 1])
def test_depth_is_counted_to_the_level(extra: int) -> None:
    for reader, most in ((untrusted_json.loads, MAX_DEPTH), (wire.loads, 300)):
        levels = most + extra if reader is untrusted_json.loads else most
        for data in (b"[" * levels + b"]" * levels, b'{"a":' * levels + b"1" + b"}" * levels):
            if extra and reader is untrusted_json.loads:
                with pytest.raises(MalformedJson, match="nested deeper than 64"):
                    reader(data)
            else:
                assert depth(reader(data)) == levels
    with pytest.raises(wire.MalformedJson, match="nested deeper than 1000"):
        wire.loads(b"[" * 1001 + b"]" * 1001)


@pytest.mark.parametrize(
    "number", ["{}", "-{}", "0.{}", "-1.{}e5", "1e{}", "1E-{}", "0.5e+{}"], ids=lambda number: number.format("N")
)
def test_digits_are_counted_on_the_bytes(number: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "set_int_max_str_digits", sys.set_int_max_str_digits)
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(0)
    try:
        most, more = (b"[%s]" % number.format("1" * count).encode() for count in (MAX_DIGITS, MAX_DIGITS + 1))
        for loads in (untrusted_json.loads, wire.loads):
            with pytest.raises(ValueError, match="a number of more than 4300 digits"):
                loads(more)
            # In a string they are text, whatever stands beside it.
            assert loads(b'["' + b"1" * (MAX_DIGITS + 1) + b'",%s]' % (b"1" * MAX_DIGITS))[1] == int("1" * MAX_DIGITS)
        if number.startswith(("1e", "0.5e")):
            with pytest.raises(MalformedJson, match="beyond all floats"):
                untrusted_json.loads(most)
        else:
            assert untrusted_json.loads(most) == json.loads(most)
        assert same(wire.loads(most), json.loads(most))
    finally:
        sys.set_int_max_str_digits(before)


def test_a_smaller_limit_of_digits_in_the_interpreter_is_a_refusal() -> None:
    before = sys.get_int_max_str_digits()
    sys.set_int_max_str_digits(640)
    try:
        with pytest.raises(MalformedJson):
            untrusted_json.loads(b"9" * 641)
        with pytest.raises(ProtocolViolation):
            protocol.decode(b'{"a":' + b"9" * 641 + b"}", limit=LIMIT)
        with pytest.raises(wire.MalformedJson):
            wire.loads(b"9" * 641)
    finally:
        sys.set_int_max_str_digits(before)


def test_values_are_counted_on_the_bytes() -> None:
    assert len(untrusted_json.loads(b"[" + b"0," * (MAX_NODES - 1) + b"0]")) == MAX_NODES
    for data in (
        b"[" + b"0," * MAX_NODES + b"0]",
        b"[" + b"[]," * (MAX_NODES // 2) + b"0]",
        b'{"a":' * (MAX_NODES + 1),
        b'"",' * (2 * MAX_NODES + 2),
    ):
        with pytest.raises(MalformedJson, match="more than 400000 values"):
            untrusted_json.loads(data)
    strings = b"[" * (MAX_DEPTH + 1) + b'"' * (4 * (MAX_NODES + 1) + 1)
    with pytest.raises(MalformedJson, match="more than 400000 values"):
        untrusted_json.loads(strings)
    with pytest.raises(MalformedJson, match="nested deeper than 64"):
        untrusted_json.loads(strings[:-1])
    assert untrusted_json.loads(b'["' + b",[{" * MAX_NODES + b'"]') == [",[{" * MAX_NODES]


def test_where_a_document_breaks_is_told_by_its_place() -> None:
    for text, at in (("[1,", 3), ("[1] 2", 4), ("", 0), ('{"a" 1}', 5), ("  x", 2)):
        with pytest.raises(MalformedJson) as refused:
            untrusted_json.loads(text)
        assert refused.value.at == at, text
    assert str(refused.value) == "not JSON: Expecting value"


# -- text -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("half", ["\\ud800", "\\uDFFF", "\\udc00\\ud800", "\\uD83D \\uDE00"])
def test_no_half_of_a_surrogate_pair_gets_to_the_host(half: str) -> None:
    done = {
        "op": "done",
        "stdout": "HALF", "stderr": "HALF", "answer": {"text": "HALF", "whole": ["HALF", {"HALF": "HALF"}]},
        "variables": {"HALF": {"type": "HALF", "value": "HALF"}, "f": {"type": "t", "repr": "HALF"}},
        "error": {"kind": "exception", "message": "HALF"}, "cpu": 0, "peak": 0, "dropped": 0,
    }
    frame = json.dumps(done).replace("HALF", half).encode()
    bounds = {"value_bytes": 99, "stdout_bytes": LIMIT, "result_bytes": LIMIT}
    result = protocol.event(protocol.decode(frame, limit=LIMIT), **bounds)
    repr(result).encode("utf-8")
    assert "\\ud" in result.stdout  # type: ignore[union-attr]
    assert "\\ud" in str(result.error)  # type: ignore[union-attr]
    call = {"op": "call", "call": "tool", "tool": "t", "args": ["HALF"], "kwargs": {"HALF": "HALF"}}
    asked = protocol.event(protocol.decode(json.dumps(call).replace("HALF", half).encode(), limit=LIMIT), **bounds)
    repr(asked).encode("utf-8")


def test_keys_that_become_one_are_one_key_twice() -> None:
    with pytest.raises(ProtocolViolation, match="it repeats a key"):
        protocol.decode(b'{"a":{"\\ud800":1,"\\\\ud800":2}}', limit=LIMIT)


    with pytest.raises(MalformedJson, match="^it repeats a key$"):
        untrusted_json.loads(b'{"\\ud800":1,"\\\\ud800":2}')
    with pytest.raises(MalformedJson, match="^it repeats a key$"):
        untrusted_json.loads(b'{"a":1,"a":2}')


def test_a_whole_pair_is_a_character() -> None:
    assert untrusted_json.loads(b'"\\ud83d\\ude00"') == "\U0001f600"
    assert untrusted_json.loads('"\ud83d"') == "\\ud83d"


# -- time -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "data",
    [
        b'["' + b"\\ud800" * 1_300_000 + b'"]',
        b"[" + b'{"a":0},' * (MAX_NODES // 2 - 1) + b"1]",
        b"[" + b"9" * MAX_DIGITS + (b"," + b"9" * MAX_DIGITS) * 1900 + b"]",
        b'["' + b"0" * LIMIT + b'"]',
        b'["' + b"0" * MAX_DIGITS + b'"' + (b',"' + b"0" * (MAX_DIGITS - 1) + b'"') * 1900 + b"]",
        (b"0" * MAX_DIGITS + b".") * 1900,
        b'"\\' * 4_000_000,
        b'"' * LIMIT,
        b'\\"' * 4_000_000 + b"9" * (MAX_DIGITS + 1),
        b"[" * (LIMIT // 2) + b"]" * (LIMIT // 2),
        b'{"":' * (LIMIT // 4),
    ],
    ids=range(11),
)
def test_time_is_linear_in_the_bytes(data: bytes) -> None:
    for loads in (untrusted_json.loads, wire.loads):
        started = time.process_time()
        try:
            loads(data)
        except ValueError:
            pass
        assert time.process_time() - started < 5


def test_a_line_of_a_log_is_as_deep_as_a_log_may_be() -> None:
    deep = untrusted_json.LOG_DEPTH
    assert deep == 256
    untrusted_json.loads(b"[" * deep + b"]" * deep, depth=deep)
    with pytest.raises(MalformedJson):
        untrusted_json.loads(b"[" * (deep + 1) + b"]" * (deep + 1), depth=deep)
