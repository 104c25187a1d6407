"""Sessions through the broker: the same promises as local ones, over a real supervisor."""

from __future__ import annotations

import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.broker.client import BrokerClient, Declined
from rlm_secure.broker.protocol import Call
from rlm_secure.environments import CallFailed, replay
from rlm_secure.environments.local import pidfd
from rlm_secure.environments.turn import GiveUp, Turn
from rlm_secure.errors import (
    CellCrashed,
    CellException,
    CellMemoryLimit,
    CellRefused,
    CellTimeout,
    ProtocolViolation,
    SessionEnded,
    WallViolation,
)
from rlm_secure.guarantees import Level, Wall
from tests.broker.support import ListeningLease, Raw, policy, session
from tests.local.test_session import LATE, Asked

#: A cell that does not end by itself, and takes no processor.
ENDLESS = "import time\nwhile True: time.sleep(1)"


def echo(call: Call) -> object:
    if call.kind == "tool":
        return {"tool": call.tool, "args": list(call.args), "kwargs": dict(call.kwargs)}
    answers = [f"{call.model}:{prompt}" for prompt in call.prompts]
    return answers if call.kind.endswith("_batched") else answers[0]


@pytest.fixture(scope="module")
def shared():
    with session(tools={"weather": ""}) as opened:
        yield opened


def test_a_cell_runs_and_its_state_stays(shared) -> None:
    shared.execute("kept = 40", echo)
    assert shared.execute("print(kept + 2)", echo).stdout == "42\n"


def test_calls_of_every_kind_are_answered(shared) -> None:
    code = """
print(llm_query("a"))
print(llm_query_batched(["b", "c"], model="m"))
print(rlm_query("d"))
print(rlm_query_batched(["e"]))
print(weather(1, x=[2]))
"""
    expected = "None:a\n['m:b', 'm:c']\nNone:d\n['None:e']\n{'tool': 'weather', 'args': [1], 'kwargs': {'x': [2]}}\n"
    assert shared.execute(code, echo).stdout == expected


def test_a_failed_call_raises_in_the_cell_and_only_its_message_crosses(shared) -> None:
    def failing(call: Call) -> object:
        raise CallFailed("out of order")

    result = shared.execute("weather()", failing)
    assert isinstance(result.error, CellException)
    assert "out of order" in result.stderr


def test_what_the_host_raises_ends_the_run_and_leaves_the_session_usable(shared) -> None:
    def cancelled(call: Call) -> object:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        shared.execute("llm_query('x')\nllm_query('y')", cancelled)
    assert shared.execute("print('here')", echo).stdout == "here\n"


@pytest.mark.parametrize(
    "payload",
    [
        "plain",
        "caf\xe9",
        "\u0100\ud800 two",
        "\U0001f600 four \x00",
        "",
        "x" * (9 << 20),
        {"a": [1, None, "\u0100"]},
        [1.5],
    ],
    ids=["ascii", "latin-1", "ucs-2", "ucs-4", "empty", "chunks", "dict", "list"],
)
def test_a_context_arrives_as_it_was(shared, payload) -> None:
    shared.load_context("context_9", payload)
    shared.assign("expected", payload if len(str(payload)) < 1000 else None)
    code = "print(type(context_9).__name__, len(context_9), expected is None or context_9 == expected)"
    assert shared.execute(code, echo).stdout == f"{type(payload).__name__} {len(payload)} True\n"


def test_variables_are_read_assigned_and_aliased(shared) -> None:
    shared.assign("one", 1)
    shared.alias("uno", "one")
    assert shared.read_text("uno") == "1"
    assert shared.read_text("nothing_here") is None


def test_a_refused_cell_names_the_rule(shared) -> None:
    result = shared.execute("import socket", echo)
    assert isinstance(result.error, CellRefused)
    assert result.error.rule


def test_a_long_cell_is_refused_before_it_is_sent(shared) -> None:
    result = shared.execute("#" * 300_000, echo)
    assert isinstance(result.error, CellRefused)
    assert result.error.rule == "source-bytes"


def test_the_wall_clock_stops_a_cell_and_keeps_its_state(shared) -> None:
    shared.execute("before = 1", echo)
    started = time.monotonic()
    result = shared.execute("before = 2\n" + ENDLESS, echo, seconds=0.3)
    assert isinstance(result.error, CellTimeout)
    assert result.error.limit == "limits.cell_seconds"
    assert time.monotonic() - started < 3
    assert shared.execute("print(before)", echo).stdout == "2\n"


def test_an_interrupt_from_another_thread_stops_a_cell(shared) -> None:
    timer = threading.Timer(0.3, shared.interrupt)
    timer.start()
    result = shared.execute(ENDLESS, echo)
    timer.join()
    assert isinstance(result.error, CellTimeout)
    assert result.error.limit == "interrupt"


def test_time_of_the_host_is_not_the_cells(shared) -> None:
    def slow(call: Call) -> object:
        time.sleep(0.8)
        return "late"

    assert shared.execute("print(llm_query('x'))", slow, seconds=0.5, exclude_host_time=True).stdout == "late\n"


def test_memory_beyond_the_limit_ends_the_cell_alone(shared) -> None:
    result = shared.execute("x = 'a' * 10**10", echo)
    assert isinstance(result.error, CellMemoryLimit)
    assert shared.execute("print(1)", echo).stdout == "1\n"


def test_cpu_seconds_are_counted_from_outside() -> None:
    with session(policy(cell_cpu_seconds=0.5, cell_seconds=20.0)) as opened:
        result = opened.execute("while True: pass", echo)
        assert isinstance(result.error, CellTimeout)
        assert result.error.limit == "limits.cell_cpu_seconds"
        assert opened.alive


def test_cpu_seconds_of_a_session_are_those_of_all_its_workers() -> None:
    limits = {"session_cpu_seconds": 2.0, "cell_cpu_seconds": 0.8, "cell_seconds": 20.0, "grace_seconds": 0.1}
    with session(policy(**limits, resumes=100)) as opened:
        errors = []
        for _ in range(6):
            errors.append(opened.execute("sum(range(10**12))", echo).error)
            if not opened.alive:
                break
        assert errors[0].limit == "limits.cell_cpu_seconds"
        assert (errors[-1].limit, errors[-1].session_ended) == ("limits.session_cpu_seconds", True)
        assert len(errors) <= 3


def test_a_cell_of_the_first_worker_ends_with_the_cpu_seconds_of_its_session() -> None:
    with session(policy(session_cpu_seconds=1.0, cell_seconds=20.0)) as opened:
        error = opened.execute("while True: pass", echo).error
        assert (error.limit, error.session_ended) == ("limits.session_cpu_seconds", True)
        assert not opened.alive


def test_a_cell_that_cannot_be_interrupted_is_killed_and_the_session_resumed() -> None:
    calls: list[str] = []

    def counted(call: Call) -> object:
        calls.append(call.prompts[0])
        return f"answer {len(calls)}"

    with session(policy(grace_seconds=0.2)) as opened:
        opened.load_context("context_0", "all of it")
        opened.execute("said = llm_query('once')", counted)
        result = opened.execute("said = sum(range(10**12))", counted, seconds=0.3)
        assert isinstance(result.error, CellTimeout)
        assert result.resumed
        assert opened.execute("print(said, context_0)", counted).stdout == "answer 1 all of it\n"
        assert calls == ["once"]


def test_a_worker_that_keeps_dying_ends_its_session() -> None:
    with session(policy(grace_seconds=0.1, resumes=1)) as opened:
        first = opened.execute("sum(range(10**12))", echo, seconds=0.2)
        second = opened.execute("sum(range(10**12))", echo, seconds=0.2)
        assert (first.resumed, second.resumed) == (True, False)
        assert second.error is not None
        assert second.error.session_ended
        with pytest.raises(SessionEnded):
            opened.execute("1", echo)


def test_a_forbidden_call_ends_the_session() -> None:
    with session(screen=False) as opened:
        result = opened.execute("import socket\nsocket.socket()", echo)
        assert isinstance(result.error, WallViolation)
        assert not opened.alive


#: A result that the worker writes itself, so many times, before it goes on.
FORGED = """
import gc, json, os
[channel] = [found for found in gc.get_objects() if type(found).__name__ == "FrameChannel"]
said = {{"op": "done", "stdout": "forged", "stderr": "", "dropped": 0, "variables": {{}}, "answer": None, "error": None}}
body = json.dumps({{**said, "cpu": 0.0, "peak": 1, "nonce": channel.nonce}}).encode()
os.write(3, (len(body).to_bytes(4, "big") + body) * {0})
while True: pass
"""


def test_a_second_result_is_no_result_of_the_next_cell() -> None:
    with session(screen=False) as opened:
        assert opened.execute(FORGED.format(2), echo).stdout == "forged"
        result = opened.execute("print('the next cell')", echo)
        assert isinstance(result.error, WallViolation) and "spoke when it was not asked" in str(result.error)
        assert not opened.alive


def test_an_answer_before_its_request_was_read_is_none() -> None:
    early = FORGED.format(1).replace("while True: pass", "import time\ntime.sleep(0.3)\nos.write(3, b'')")
    again = "os.write(3, len(body).to_bytes(4, 'big') + body)\nwhile True: pass"
    with session(screen=False) as opened:
        assert opened.execute(early + again, echo).stdout == "forged"
        result = opened.execute("print('the next cell')", echo)
        assert isinstance(result.error, WallViolation) and "before it had read" in str(result.error)
        assert not opened.alive


def test_a_result_is_none_of_a_request_that_was_read_after_it_was_made() -> None:
    late = FORGED.format(1).replace("while True: pass", "import time\ntime.sleep(0.3)\nchannel.receive()\n")
    late += "os.write(3, len(body).to_bytes(4, 'big') + body)\nwhile True: pass"
    with session(screen=False) as opened:
        assert opened.execute(late, echo).stdout == "forged"
        with pytest.raises(ProtocolViolation, match="had not read what it was told"):
            opened.execute("print('the next cell')", echo)
        assert not opened.alive


@pytest.mark.parametrize("said", [0.0, 1e6])
def test_what_a_cell_used_is_what_its_supervisor_measured(said: float) -> None:
    burn = "import time\nend = time.process_time() + 0.3\nwhile time.process_time() < end: pass\n"
    with session(screen=False) as opened:
        result = opened.execute(burn + FORGED.format(1).replace('"cpu": 0.0', f'"cpu": {said}'), echo)
        assert result.stdout == "forged" and 0.3 <= result.cpu_seconds < 10
        assert result.cpu_seconds <= opened._log_seconds < 10


@pytest.mark.parametrize("way_out", ["os._exit(0)", "sum(range(10**12))"])
def test_a_cell_that_ended_with_its_worker_says_what_it_used(way_out: str) -> None:
    burn = "import os, time\nend = time.process_time() + 0.2\nwhile time.process_time() < end: pass\n"
    with session(policy(grace_seconds=0.2), screen=False) as opened:
        for _ in range(2):  # and not what the cells before it have used
            assert opened.execute(burn, echo).error is None
        result = opened.execute(burn + way_out, echo, seconds=3.0)
        assert result.error is not None and 0.2 <= result.cpu_seconds < (0.5 if way_out == "os._exit(0)" else 10)


def test_a_cell_that_ended_with_its_sandbox_used_the_time_that_passed() -> None:
    with session() as opened:
        timer = threading.Timer(0.5, opened.lease.process.kill)
        timer.start()
        result = opened.execute(ENDLESS, echo)
        assert isinstance(result.error, CellCrashed) and 0.2 <= result.cpu_seconds < 10


@pytest.mark.parametrize("said", [0.0, 1e6])
def test_without_a_clock_a_cell_used_the_time_that_passed(said: float, monkeypatch: pytest.MonkeyPatch) -> None:
    found = BrokerClient._events

    def unmeasured(*values: Any, **options: Any) -> Any:
        events = found(*values, **options)
        return replace(events, frame=events.frame and replace(events.frame, cpu_seconds=None))

    monkeypatch.setattr(BrokerClient, "_events", unmeasured)
    code = "import time\ntime.sleep(0.3)\nllm_query('x')\n"
    with session(screen=False) as opened:

        def slow(_call: Call) -> str:
            time.sleep(1.0)
            return "x"

        began = time.monotonic()
        result = opened.execute(code + FORGED.format(1).replace('"cpu": 0.0', f'"cpu": {said}'), slow)
        passed = time.monotonic() - began
        assert result.stdout == "forged"
        assert 0.3 <= result.cpu_seconds <= opened._log_seconds < 10
        assert result.cpu_seconds <= passed - 1.0  # it did not run while its call was answered


#: Page tables, of which no limit of the kernel's counts a byte: 16 KiB for two pages.
SCATTERED = """
import ctypes, time
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
for place in range(1 << 36, (1 << 36) + (12000 << 31), 1 << 31):
    there = libc.mmap(place - 4096, 8192, 1, 0x4022, -1, 0)
    ctypes.string_at(there + 4095, 2)
time.sleep(600)
"""


@pytest.mark.parametrize("namespaces", [True, False])
def test_a_worker_that_holds_too_much_ends_its_session_with_the_limit_that_it_broke(namespaces: bool) -> None:
    small = policy(memory_bytes=64 << 20, cell_seconds=30.0)
    with session(small, screen=False, namespaces=namespaces) as opened:
        opened.execute("x = 1", echo)
        result = opened.execute(SCATTERED, echo)
        assert isinstance(result.error, CellMemoryLimit) and result.error.session_ended
        assert (result.error.limit, result.error.wall) == ("limits.memory_bytes", "rlimits")
        assert not opened.alive  # what led there is not run again


def test_a_worker_is_weighed_after_its_interrupt_as_well() -> None:
    small = policy(memory_bytes=64 << 20, cell_seconds=0.3, grace_seconds=30.0)
    told = """
import gc, signal
[worker] = [found for found in gc.get_objects() if hasattr(type(found), "_checkpoint")]
told = []
type(worker).interrupt = lambda self: told.append(1)
while not told: pass
"""
    with session(small, screen=False) as opened:
        began = time.monotonic()
        result = opened.execute(told + SCATTERED, echo)
        assert isinstance(result.error, CellMemoryLimit) and result.error.limit == "limits.memory_bytes"
        assert time.monotonic() - began < 15  # and not after the grace


def test_a_worker_at_rest_runs_no_more() -> None:
    with session(screen=False) as opened:
        assert opened.execute(FORGED.format(1), echo).stdout == "forged"
        deadline = time.monotonic() + 10
        while "T" not in states(opened.lease.process.pid) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert "T" in states(opened.lease.process.pid)


@pytest.mark.parametrize("seconds", [None, 0.4])
def test_nobody_is_asked_for_a_cell_whose_time_is_over(seconds: float | None) -> None:
    with session(policy(cell_seconds=0.5, grace_seconds=20.0), screen=False, tools={"tool": ""}) as opened:
        asked = Asked()
        result = opened.execute(LATE, asked, seconds=seconds)
        assert (result.stdout, asked.calls) == ("the run was stopped\n" * 2, [])
        assert isinstance(result.error, CellTimeout) and result.error.limit == "limits.cell_seconds"
        assert opened._tool_calls == 0 and opened.alive


def states(supervisor: int) -> set[str]:
    """What the kernel says that the processes of a supervisor do."""
    found = [Path(f"/proc/{pid}/stat").read_text() for pid in pidfd.descendants(supervisor)]
    return {stat.rpartition(")")[2].split()[0] for stat in found}


def test_a_worker_that_crashes_is_named_a_crash_and_resumed() -> None:
    with session(screen=False) as opened:
        opened.execute("x = 1", echo)
        deep = "t = ()\nfor _ in range(2_000_000): t = (t,)\nhash(t)"
        result = opened.execute(deep, echo)
        assert isinstance(result.error, CellCrashed)
        assert result.resumed
        assert opened.execute("print(x)", echo).stdout == "1\n"


def test_what_is_run_again_has_no_more_time_than_its_caller(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_REPLAY_LEAST_SECONDS", 60.0)
    with session(screen=False) as opened:
        until = time.time() + 0.1
        opened.execute(f"import os, time\nx = 1\nif time.time() > {until}: time.sleep(6)", echo)
        time.sleep(max(until - time.time(), 0))
        started = time.monotonic()
        result = opened.execute("os._exit(0)", echo, seconds=0.2)
        assert result.error is not None and not result.error.session_ended
        opened.interrupt()  # nobody's cell: what is run again goes on
        waiting = opened.execute("print(x)", echo, seconds=0.2)
        assert isinstance(waiting.error, CellTimeout) and "did not begin" in waiting.stderr
        assert time.monotonic() - started < 4
        assert opened.execute("print(x)", echo).stdout == "1\n"


def test_closing_does_not_wait_for_what_is_run_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replay, "_REPLAY_LEAST_SECONDS", 60.0)
    with session(screen=False) as opened:
        until = time.time() + 0.1
        opened.execute(f"import os, time\nif time.time() > {until}: time.sleep(6)", echo)
        time.sleep(max(until - time.time(), 0))
        assert "is being resumed" in opened.execute("os._exit(0)", echo, seconds=0.2).stderr
        started = time.monotonic()
        opened.close()
        assert time.monotonic() - started < 4


def test_closing_from_another_thread_ends_a_running_cell() -> None:
    with session() as opened:
        timer = threading.Timer(0.3, opened.close)
        timer.start()
        started = time.monotonic()
        result = opened.execute(ENDLESS, echo)
        timer.join()
        assert result.error is not None
        assert result.error.session_ended
        assert time.monotonic() - started < 5
        assert not opened.alive


def test_who_closes_late_does_not_end_a_sandbox_that_was_given_back(monkeypatch: pytest.MonkeyPatch) -> None:
    """It may be another session's by then."""
    with session() as opened:
        lease, done = opened.lease, []

        class Late(Turn):
            """Another thread closes the session in the moment before, and has not given the turn back."""

            def acquire(self, blocking: bool = True, give_up: GiveUp | None = None) -> bool:
                if not blocking:
                    opened._end("it was closed", release=True)
                return blocking and super().acquire(give_up=give_up)

        monkeypatch.setattr(lease, "release", lambda: done.append("release"))
        monkeypatch.setattr(lease, "kill", lambda: done.append("kill"))
        opened._lock = Late()
        opened.close()
        assert done == ["release"]
        lease.close()


def test_a_supervisor_that_is_killed_ends_the_session_with_a_typed_error() -> None:
    with session() as opened:
        timer = threading.Timer(0.3, opened.lease.process.kill)
        timer.start()
        started = time.monotonic()
        result = opened.execute(ENDLESS, echo)
        timer.join()
        assert isinstance(result.error, CellCrashed)
        assert time.monotonic() - started < 3
        with pytest.raises(SessionEnded):
            opened.execute("1", echo)


def test_the_limit_of_cells_ends_the_session() -> None:
    with session(policy(cells=1)) as opened:
        opened.execute("1", echo)
        with pytest.raises(SessionEnded, match=r"limits\.cells = 1"):
            opened.execute("1", echo)


def test_walls_hold_without_namespaces_and_the_report_says_which() -> None:
    with session(namespaces=False) as opened:
        full = {status.wall for status in opened.report.walls if status.level is Level.FULL}
    assert {
        Wall.LANGUAGE, Wall.SEPARATE_PROCESS, Wall.EMPTY_ENVIRONMENT, Wall.NO_INHERITED_FDS, Wall.UNPRIVILEGED_UID,
        Wall.NO_CAPABILITIES, Wall.NO_NEW_PRIVS, Wall.NOT_DUMPABLE, Wall.LANDLOCK, Wall.SECCOMP, Wall.RLIMITS,
        Wall.WALL_CLOCK, Wall.OUTPUT_CAP,
    } <= full  # fmt: skip
    assert not full & {Wall.USER_NAMESPACE, Wall.PID_NAMESPACE, Wall.EMPTY_ROOT, Wall.MOUNT_NAMESPACE}


def test_a_cell_that_was_stopped_is_never_run_again() -> None:
    """Its log entry would take another path, or for ever: such a session ends with its worker."""
    with session(policy(grace_seconds=0.2)) as opened:
        assert opened.execute("n = 0\nwhile True: n += 1", echo, seconds=0.3).error is not None
        started = time.monotonic()
        result = opened.execute("sum(range(10**12))", echo, seconds=0.3)
        assert not result.resumed
        assert time.monotonic() - started < 5
        assert not opened.alive


def test_the_next_session_of_a_broker_finds_no_context_and_no_question_of_the_last() -> None:
    with session(kind=ListeningLease) as opened:
        client = opened._client
        opened.load_context("context", "a secret")
        asked: list[tuple[int, dict[str, object]]] = []
        raw = Raw(opened.lease)
        stranger = threading.Thread(
            target=lambda: asked.append(raw.ask("POST", "/enqueue", b'{"type":"single","prompt":"a secret"}'))
        )
        stranger.start()
        time.sleep(0.5)  # its id is taken: a later one that came first would make it stale
        assert client.pending(wait=0).asked
        client.end(seconds=5)
        assert client.pending(wait=0).asked, "a session that is resumed goes on where it was"
        client.end(seconds=5, fresh=True)
        stranger.join(10)
        assert asked[0][0] == 409 and client.pending(wait=0).empty
        client.start({}, "worker", seconds=20)
        client.pending(wait=20)  # its ready frame
        with pytest.raises(Declined, match="context 0 is not here"):
            client.execute({"op": "context", "name": "context", "kind": "str", "length": 8}, wait=5, upload=0)
