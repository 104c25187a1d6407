"""Each field that a worker sends, at its bound and one beyond: what is read of it, what is dropped, and what is refused."""

from __future__ import annotations

import json
from typing import Any

import pytest

from rlm_secure.broker import protocol
from rlm_secure.broker.protocol import CellResult, Printed, TextAnswer, Variable
from rlm_secure.errors import CellTimeout, ProtocolViolation

DONE: dict[str, Any] = {"op": "done", "stdout": "", "stderr": "", "variables": {}, "cpu": 0, "peak": 0, "dropped": 0}
BOUNDS = {"value_bytes": 100, "stdout_bytes": 1000, "result_bytes": 800}
LARGEST = 2**53


def read(message: dict[str, Any], **bounds: int) -> Any:
    data = json.dumps(message).encode("ascii")
    return protocol.event(protocol.decode(data, limit=1 << 20), **{**BOUNDS, **bounds})


def done(**fields: Any) -> CellResult:
    result = read({**DONE, **fields})
    assert isinstance(result, CellResult)
    return result


def refused(**fields: Any) -> str:
    with pytest.raises(ProtocolViolation) as caught:
        done(**fields)
    return str(caught.value)


def variable(**fields: Any) -> Variable:
    return done(value={"type": "int", **fields}).value  # type: ignore[return-value]


# -- a value ---------------------------------------------------------------------------------------


def test_a_value_is_read_with_all_that_is_said_of_it() -> None:
    assert done().value is None
    assert variable() == Variable("int")
    assert variable(value=None) == Variable("int", None, has_value=True)
    assert variable(repr="x", value=[1]) == Variable("int", [1], has_value=True, repr="x")
    assert variable(whole={"a": [1, None]}) == Variable("int", whole=({"a": [1, None]},))
    assert variable(whole=None) == Variable("int", whole=(None,))
    assert variable(size=7, why="too\nlarge") == Variable("int", size=7, why="too\\nlarge")


def test_a_value_is_known_by_its_whole_its_size_or_a_reason() -> None:
    assert [variable(**each).known for each in ({}, {"value": 1}, {"whole": None}, {"size": 1}, {"why": "it is open"})] == [
        False, False, True, True, True,
    ]  # fmt: skip


def test_a_value_of_the_bound_is_kept_and_a_byte_more_is_counted() -> None:
    fits, larger = "x" * 98, "x" * 99  # with its quotes
    assert variable(value=fits).value == fits and done(value={"type": "str", "value": fits}).dropped_bytes == 0
    result = done(value={"type": "str", "value": larger}, dropped=3)
    assert result.value is not None and (result.value.value, result.value.has_value) == (None, False)
    assert "101" in result.value.repr and result.dropped_bytes == 3 + 101
    assert variable(whole=fits).whole == (fits,)
    result = done(value={"type": "str", "whole": larger, "size": 5})
    assert result.value is not None and (result.value.whole, result.value.size) == (None, 101)
    assert result.dropped_bytes == 101
    assert variable(value="\u00e9" * 49).value == "\u00e9" * 49  # in UTF-8, not as JSON escapes it
    assert done(value={"type": "str", "value": "\x01" * 17}).dropped_bytes == 6 * 17 + 2  # which JSON must escape
    both = done(value={"type": "str", "value": larger, "whole": larger}, variables={"a": {"type": "str", "value": larger}})
    assert both.dropped_bytes == 3 * 101
    # A letter may take more bytes than one, and a number as many as it has digits.
    assert done(value={"type": "str", "value": "\u20ac" * 33}).value.value is None  # type: ignore[union-attr]
    assert done(value={"type": "int", "value": 10**99}).value.value == 10**99  # type: ignore[union-attr]
    assert done(value={"type": "int", "value": 10**100}).value.value is None  # type: ignore[union-attr]
    assert done(value={"type": "list", "value": [1] * 50}).value.value is None  # type: ignore[union-attr]


def test_what_is_said_of_a_value_is_short() -> None:
    assert variable(repr="x" * 100).repr == "x" * 100
    assert variable(why="x" * 256).why == "x" * 256
    assert done(value={"type": "x" * 128}).value == Variable("x" * 128)
    assert variable(size=0).size == 0 and variable(size=LARGEST).size == LARGEST
    assert "repr" in refused(value={"type": "int", "repr": "x" * 101})
    assert "repr" in refused(value={"type": "int", "repr": "\u20ac" * 34})
    assert "repr" in refused(value={"type": "int", "repr": None})
    assert "repr" in refused(value={"type": "int", "repr": 0})
    assert "reason" in refused(value={"type": "int", "why": "x" * 257})
    for why in (None, 1, [], ["x" * 300]):
        assert "reason" in refused(value={"type": "int", "why": why})
    assert "type" in refused(value={"type": "x" * 129})
    assert "type" in refused(value={"type": None})
    assert "type" in refused(value={})
    assert "object" in refused(value=[])
    for size in (-1, LARGEST + 2, True, None, "1", 1e300):
        assert "size" in refused(value={"type": "int", "size": size})


def test_a_value_whose_tags_mean_nothing_is_refused_and_one_of_too_many_parts_says_why() -> None:
    assert variable(whole={"$set": [1, 2]}).whole == ({1, 2},)
    refused(value={"type": "set", "whole": {"$set": 1}})
    refused(answer={"text": "t", "whole": {"$set": 1}})
    twice = {"$set": [1, 1]}
    value = variable(whole=twice)
    assert value.whole is None and value.known and value.why == "two of its keys would be the same outside of the sandbox"
    result = done(answer={"text": "t", "whole": twice})
    assert (result.answer, result.dropped_bytes) == (TextAnswer("t"), 0)


# -- a result --------------------------------------------------------------------------------------


def test_variables_are_a_bounded_number_with_short_names() -> None:
    row = {"type": "int"}
    assert len(done(variables={f"x{number}": row for number in range(256)}).variables) == 256
    assert "256" in refused(variables={f"x{number}": row for number in range(257)})
    assert done(variables={"x" * 128: row}).variables == {"x" * 128: Variable("int")}
    assert "name" in refused(variables={"x" * 129: row})
    for wrong in (None, [], "x", 1):
        assert "variables" in refused(variables=wrong)


def test_names_that_are_gone_are_a_short_list() -> None:
    assert done().gone is None and done(gone=None).gone is None and done(gone=[]).gone == ()
    names = [f"x{number}" for number in range(256)]
    assert done(gone=names).gone == tuple(names) and done(gone=["x" * 128]).gone == ("x" * 128,)
    for wrong in ([*names, "one"], "x", {}, 0):
        assert "gone" in refused(gone=wrong)
    for name in ("x" * 129, 1, None):
        assert "name" in refused(gone=["a", name])


def test_output_is_cut_at_its_bound_each_stream_by_itself() -> None:
    result = done(stdout="o" * 1000, stderr="e" * 1001, dropped=2)
    assert (len(result.stdout), len(result.stderr), result.dropped_bytes) == (1000, 1000, 3)
    result = done(stdout="\u20ac" * 400)
    assert (result.stdout, result.dropped_bytes) == ("\u20ac" * 333, 201)  # whole letters only
    result = done(stdout="o" * 250, stderr="e" * 250)
    assert (len(result.stdout), len(result.stderr), result.dropped_bytes) == (250, 250, 0)
    for wrong in (None, 1, []):
        assert "stdout" in refused(stdout=wrong) and "stderr" in refused(stderr=wrong)


def test_what_a_cell_cost_is_a_number_that_can_be() -> None:
    result = done(cpu=1.5, peak=2, dropped=3)
    assert (result.cpu_seconds, result.peak_bytes, result.dropped_bytes) == (1.5, 2, 3)
    assert done(cpu=0, peak=LARGEST, dropped=LARGEST).peak_bytes == LARGEST
    for name in ("cpu", "peak", "dropped"):
        for wrong in (None, True, False, "1", []):
            assert f"{name} is not a number" in refused(**{name: wrong})
        for wrong in (-1, -0.5, LARGEST + 2, 1e300, 10**400):
            assert f"{name} is not a size" in refused(**{name: wrong})


def test_files_are_names_and_sizes() -> None:
    assert done().files == {} and done(files={}).files == {}
    sizes = {"a": 0, "folder/b.txt": LARGEST, "x" * 200: 1}
    assert done(files=sizes).files == sizes == protocol.file_sizes(sizes)
    assert len(protocol.file_sizes({f"f{number}": 0 for number in range(4096)})) == 4096
    with pytest.raises(ProtocolViolation):
        protocol.file_sizes({f"f{number}": 0 for number in range(4097)})
    for wrong in ([], None, "a", 0):
        assert "files" in refused(files=wrong)
    for name in ("/a", "../a", "a/..", ".", "a/", "a//b", "a\\b", "c:a", "a.", "a ", "a\n", "\ud800", "", "x" * 201):
        assert not protocol.is_file_name(name)
        assert "name" in refused(files={"a": 1, name: 1})
    assert not protocol.is_file_name(1) and not protocol.is_file_name(None) and protocol.is_file_name("a/b")
    for size in (-1, True, 1.0, None, "1", LARGEST + 2):
        assert "size" in refused(files={"a": size})


def test_an_answer_is_a_text_and_its_value_where_that_is_small() -> None:
    assert done().answer is None
    assert done(answer={"text": "x" * 800}).answer == TextAnswer("x" * 800)
    assert done(answer={"text": "t", "whole": "x" * 98}).answer == TextAnswer("t", "x" * 98)  # an eighth, with quotes
    assert done(answer={"text": "None", "whole": None}).answer == TextAnswer("None", none=True)
    assert done(answer={"text": "None"}).answer == TextAnswer("None")
    result = done(answer={"text": "t", "whole": "x" * 99}, dropped=1)
    assert (result.answer, result.dropped_bytes) == (TextAnswer("t"), 102)
    assert "longer" in refused(answer={"text": "x" * 801})
    for wrong in ("t", [], {}, {"text": None}, {"text": 1}):
        assert "no text" in refused(answer=wrong)


def test_an_error_is_of_a_known_kind_with_a_short_rule() -> None:
    error = done(error={"kind": "refused", "message": "m" * 5000, "rule": "r" * 128}).error
    assert error is not None and error.rule == "r" * 128 and str(error) == "m" * 4000 and error.wall == "language"
    spelled = done(error={"kind": "refused", "message": "m", "rule": "a\nb"}).error
    assert spelled is not None and spelled.rule == "a\\nb"
    assert done(error={"kind": "refused", "message": "m", "rule": None}).error.rule is None  # type: ignore[union-attr]
    for rule in ("r" * 129, 1, [], False):
        assert "rule" in refused(error={"kind": "refused", "message": "m", "rule": rule})
    for wrong in ("m", [], {}, {"kind": "refused"}, {"kind": "refused", "message": 1}):
        assert "message" in refused(error=wrong)
    for kind in ("crash", None, [], 1):
        assert "kind" in refused(error={"kind": kind, "message": "m"})


@pytest.mark.parametrize(
    ("kind", "limit", "wall"),
    [("interrupted", "limits.cell_seconds", "wall-clock"), ("cpu", "limits.cell_cpu_seconds", "rlimits")],
)
def test_a_limit_of_time_names_itself_and_its_wall(kind: str, limit: str, wall: str) -> None:
    error = done(error={"kind": kind, "message": "m"}).error
    assert isinstance(error, CellTimeout) and (error.limit, error.wall) == (limit, wall)


# -- other frames ----------------------------------------------------------------------------------


def test_output_of_a_running_cell_is_of_one_stream_and_bounded() -> None:
    frame = {"op": "call", "call": "output", "stream": "stdout", "text": "x" * 1000}
    assert read(frame) == Printed("stdout", "x" * 1000)
    assert read({**frame, "stream": "stderr", "text": ""}) == Printed("stderr", "")
    for wrong in ({"stream": "stdin"}, {"stream": None}, {"text": "x" * 1001}, {"text": "\u20ac" * 334}, {"text": None}):
        with pytest.raises(ProtocolViolation):
            read({**frame, **wrong})


def test_a_frame_repeats_the_last_nonce() -> None:
    nonces = {protocol.fresh_nonce() for _ in range(100)}
    assert len(nonces) == 100 and all(len(each) >= 16 for each in nonces)
    nonce = nonces.pop()
    protocol.check_nonce({"nonce": nonce}, nonce)
    protocol.check_nonce({}, None)
    for message in ({}, {"nonce": None}, {"nonce": nonces.pop()}, {"nonce": nonce[:-1]}):
        with pytest.raises(ProtocolViolation):
            protocol.check_nonce(message, nonce)
    with pytest.raises(ProtocolViolation):
        protocol.check_nonce({"nonce": nonce}, None)


def test_a_digest_is_sha_256_in_hex() -> None:
    digest = "0123456789abcdef" * 4
    assert protocol.digest_of(Variable("str", whole=(digest,))) == digest
    for whole in (None, (None,), (digest[:-1],), (f"{digest}0",), (digest.upper(),), (f"{digest}\n",), (1,), ([digest],)):
        with pytest.raises(ProtocolViolation):
            protocol.digest_of(Variable("str", whole=whole))


def test_findings_in_code_are_a_short_list_of_known_reasons() -> None:
    reason = sorted(protocol._REASONS)[0]
    entry = {"reason": reason, "message": "m", "line": 0}

    def found(value: Any) -> list[protocol.CodeFinding]:
        return protocol.code_findings(Variable("list", whole=(value,)))

    assert found([]) == [] and len(found([entry] * 20)) == 20
    (one,) = found([{**entry, "message": "a\nb", "line": LARGEST}])
    assert (one.reason, one.message, one.line) == (reason, "a\\nb", LARGEST)
    assert found([{**entry, "message": "x" * 400}])[0].message == "x" * 400
    wrong: list[Any] = [None, {}, "x", [entry] * 21, [None], [[]], [{**entry, "more": 1}], [{"reason": reason, "message": "m"}]]
    wrong += [[{**entry, "reason": each}] for each in ("nothing", None, 1, [reason])]
    wrong += [[{**entry, "message": each}] for each in ("", "x" * 401, None, 1, ["m"])]
    wrong += [[{**entry, "line": each}] for each in (-1, True, 1.0, None, "1", LARGEST + 2)]
    for value in wrong:
        with pytest.raises(ProtocolViolation):
            found(value)
    for value in (None, Variable("list")):
        with pytest.raises(ProtocolViolation):
            protocol.code_findings(value)


def test_what_is_neither_a_call_nor_a_result_is_refused() -> None:
    for op in ("ready", None, [], 1):
        with pytest.raises(ProtocolViolation):
            read({**DONE, "op": op})
