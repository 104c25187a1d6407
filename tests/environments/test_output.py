"""What a cell prints reaches its caller while it runs, whole and in order, and within the policy's bytes."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from typing import Any

import pytest

from rlm_secure import Policy, Sandbox
from rlm_secure.broker import protocol
from rlm_secure.environments.local.session import open_session
from rlm_secure.environments.repl import no_host
from rlm_secure.errors import CellException, CellTimeout, ProtocolViolation


@pytest.fixture
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as made:
        yield made


def test_output_comes_while_the_cell_runs(sandbox: Sandbox) -> None:
    told: list[tuple[float, str]] = []
    begun = time.monotonic()
    code = "print('first')\nfor n in range(5_000_000): pass\nprint('second')"
    result = sandbox.run(code, on_stdout=lambda text: told.append((time.monotonic() - begun, text)))
    ended = time.monotonic() - begun
    assert "".join(text for _, text in told) == result.stdout == "first\nsecond\n"
    assert told[0][1] == "first\n"
    assert told[0][0] < ended / 2


def test_both_streams_are_told_apart_and_whole(sandbox: Sandbox) -> None:
    out: list[str] = []
    err: list[str] = []
    code = "for n in range(3000): print(n, '\\u20ac' * 50)\n1 / 0"
    result = sandbox.run(code, on_stdout=out.append, on_stderr=err.append)
    assert ("".join(out), "".join(err)) == (result.stdout, result.stderr)
    assert len(out) < 200, "lines are told together"
    assert "ZeroDivisionError" in err[-1]
    assert isinstance(result.error, CellException)


def test_a_part_of_a_line_comes_if_it_is_flushed(sandbox: Sandbox) -> None:
    told: list[str] = []
    sandbox.run("print('a', end='', flush=True)\nprint('b', end='', flush=True)\nprint('c')", on_stdout=told.append)
    assert told == ["a", "b", "c\n"]


def test_one_stream_alone(sandbox: Sandbox) -> None:
    told: list[str] = []
    sandbox.run("print('out')\nraise ValueError", on_stderr=told.append)
    assert "".join(told).endswith("ValueError\n")


def test_what_a_listener_raises_stops_the_cell_and_not_the_session(sandbox: Sandbox) -> None:
    def broken(text: str) -> None:
        raise LookupError(text)

    with pytest.raises(LookupError, match="a"):
        sandbox.run("while True: print('a')", on_stdout=broken)
    assert sandbox.run("1").check().value == 1


def test_a_flood_of_output_ends_with_its_cell(sandbox: Sandbox) -> None:
    told: list[str] = []
    result = sandbox.run("while True: print('x', flush=True)", timeout=0.5, on_stdout=told.append)
    assert isinstance(result.error, CellTimeout)
    assert sandbox.run("1").check().value == 1


def test_output_over_its_limit_is_dropped_in_both() -> None:
    told: list[str] = []
    with Sandbox(Policy.load({"extends": "strict", "limits": {"stdout_bytes": 10_000}})) as small:
        result = small.run("for n in range(10_000): print(n)", on_stdout=told.append)
    assert "".join(told) == result.stdout
    assert len(result.stdout) <= 10_000 < result.dropped_bytes


def test_time_of_a_listener_is_not_the_cell_s(sandbox: Sandbox) -> None:
    with Sandbox(Policy.load({"extends": "strict", "limits": {"cell_seconds": 0.5}})) as short:
        assert short.run("print('a')\nx = 1", on_stdout=lambda _text: time.sleep(0.8)).error is None


def test_output_is_told_once_though_a_cell_is_run_again(sandbox: Sandbox) -> None:
    told: list[str] = []
    sandbox.run("print('once'); kept = 1", on_stdout=told.append)
    killed = sandbox.run("while True:\n    try:\n        while True: pass\n    except BaseException: pass", timeout=0.5)
    assert killed.error is not None
    assert sandbox.run("kept").check().value == 1
    assert told == ["once\n"]


def test_a_cell_that_is_killed_was_heard(sandbox: Sandbox) -> None:
    told: list[str] = []
    sandbox.run("print('heard')\nx = [0] * 10**10", on_stdout=told.append)
    assert told[0] == "heard\n"


def test_what_ended_a_cell_is_told_though_it_printed_errors(sandbox: Sandbox) -> None:
    told: list[str] = []
    code = "import sys\nprint('a long line of its own ' * 9, file=sys.stderr, flush=True)\nx = [0] * 10**10"
    result = sandbox.run(code, on_stderr=told.append)
    assert result.stderr and told[-1].endswith(result.stderr[-60:])
    assert "".join(told).endswith(result.stderr)


@pytest.mark.parametrize(
    "frame",
    [
        {"stream": "stdin", "text": "a"},
        {"stream": ["stdout"], "text": "a"},
        {"text": "a"},
        {"stream": "stdout"},
        {"stream": "stdout", "text": 1},
        {"stream": "stdout", "text": "\u20ac" * 334},
    ],
)
def test_output_that_is_none_is_a_violation(frame: dict[str, Any]) -> None:
    said = protocol.decode(json.dumps({"op": "call", "call": "output", **frame}).encode(), limit=9999)
    with pytest.raises(ProtocolViolation):
        protocol.event(said, value_bytes=1000, stdout_bytes=1000, result_bytes=9999)


def test_halves_of_surrogate_pairs_are_output_of_as_many_bytes_as_a_worker_counts() -> None:
    for halves, fits in ((333, True), (334, False)):
        frame = {"op": "call", "call": "output", "stream": "stdout", "text": "\udfff" * halves}
        said = protocol.decode(json.dumps(frame).encode(), limit=9999)
        if fits:
            assert protocol.event(said, value_bytes=1000, stdout_bytes=1000, result_bytes=9999).text == "\\udfff" * 333
        else:
            with pytest.raises(ProtocolViolation):
                protocol.event(said, value_bytes=1000, stdout_bytes=1000, result_bytes=9999)


class _Listening:
    """Answers no calls, and listens to output."""

    def __init__(self) -> None:
        self.told = 0

    def __call__(self, call: Any) -> Any:
        return no_host(call)

    def output(self, _stream: str, _text: str) -> None:
        self.told += 1


@pytest.mark.parametrize("text", ["''", "'x' * 1000"])
def test_output_without_an_end_is_a_violation(text: str) -> None:
    policy = Policy.load({"extends": "strict", "limits": {"stdout_bytes": 10_000}})
    with open_session(policy, screen=False) as session:
        calls = _Listening()
        with pytest.raises(ProtocolViolation, match="output that nobody asked for"):
            session.execute(
                "import sys\nworker = sys.modules['guest.session.worker']._current\n"
                f"while True: worker._ask({{'call': 'output', 'stream': 'stdout', 'text': {text}}})",
                calls,
            )
        assert calls.told <= 10
        assert not session.alive


def test_who_hears_output_hears_no_more_than_is_kept() -> None:
    """Half of a surrogate pair is three bytes for a worker, and six here."""
    heard: list[str] = []
    policy = {"extends": "strict", "limits": {"stdout_bytes": 9_000}}
    code = "import time\nfor at in range(6):\n    print('\\ud800' * 499)\n    time.sleep(0.3)"
    with Sandbox(policy=policy) as sandbox:
        result = sandbox.run(code, on_stdout=heard.append).check()
        assert len(heard) > 1 and "".join(heard) == result.stdout
        assert len(result.stdout.encode()) == 9_000
        heard.clear()
        sandbox.run("print('\\ud800' * 2_990)", on_stdout=heard.append).check()  # in one piece
        assert "".join(heard) == "\\ud800" * 1_500


def test_output_that_nobody_asked_for_is_a_violation() -> None:
    with open_session(Policy.load("strict"), screen=False) as session:
        asked = "import sys\nworker = sys.modules['guest.session.worker']._current\n"
        told = asked + "worker._ask({'call': 'output', 'stream': 'stdout', 'text': 'unasked'})"
        with pytest.raises(ProtocolViolation, match="output that nobody asked for"):
            session.execute(told, no_host)
        assert not session.alive
