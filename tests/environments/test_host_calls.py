"""What a cell asks of the host never holds the host: time, number and results of tool calls, and who may call back.

The tests run in every environment: see tests/clouds/test_host_calls.py and tests/docker/test_host_calls.py.
"""

from __future__ import annotations

import asyncio
import contextlib
import dataclasses
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rlm_secure import CellException, CellTimeout, Policy, RLMSecureError, Sandbox, SessionEnded
from rlm_secure.clients import get_client
from rlm_secure.compat.environments import LocalREPL
from rlm_secure.environments import replies, request_log
from rlm_secure.environments.deadline import Deadline
from rlm_secure.environments.local.session import open_session
from rlm_secure.environments.turn import Served, Turn, refuse, serve
from rlm_secure.errors import CallRefused, CellCallsRefused, TimeoutExceededError
from rlm_secure.events import Violation
from rlm_secure.logger import AuditLog
from rlm_secure.policy import Decision, load_policy
from rlm_secure.rlm.handler import LMHandler
from tests.broker.support import session as broker_session
from tests.loops import Heard, cell, scripted

#: Gives a sandbox with these tools, options and limits in the environment that is tried.
Open = Callable[..., Sandbox]
#: A tool that hangs does so for this long: a test that fails must end, too.
HANG_SECONDS = 20.0


def strict(**limits: Any) -> Policy:
    policy = load_policy("strict")
    return policy.model_copy(update={"limits": policy.limits.model_copy(update=limits)})


@pytest.fixture
def opened() -> Open:
    def local(**options: Any) -> Sandbox:
        limits = options.pop("limits", {})
        return Sandbox(policy=strict(**limits), **options)

    return local


class Told:
    """An audit that keeps the rules of refusals."""

    def __init__(self) -> None:
        self.rules: list[str] = []

    def session_start(self, *_: Any, **__: Any) -> None: ...
    def session_end(self, *_: Any, **__: Any) -> None: ...
    def violation(self, *_: Any, **__: Any) -> None: ...
    def limit(self, *_: Any, **__: Any) -> None: ...

    def refusal(self, _session: str, *, rule: str, reason: str) -> None:
        assert reason.isascii() and reason.isprintable()
        self.rules.append(rule)


# -- time ------------------------------------------------------------------------------------------------


def test_a_timeout_is_wall_time_whatever_a_tool_does(opened: Open, hang: Any) -> None:
    with opened(tools={"hang": hang}) as box:
        box.run("x = 1").check()
        began = time.monotonic()
        result = box.run("hang()", timeout=1)
        assert time.monotonic() - began < 8
        assert isinstance(result.error, CellTimeout) and result.error.limit == "limits.cell_seconds"
        assert box.run("print(x)").stdout == "1\n"


def test_a_caller_may_give_a_cell_time_of_its_own(opened: Open) -> None:
    def slow() -> str:
        time.sleep(0.8)
        return "done"

    with opened(tools={"slow": slow}) as box:
        assert box.run("print(slow())", timeout=0.5, exclude_host_time=True).stdout == "done\n"


def test_a_policys_time_is_the_cells_own(opened: Open) -> None:
    def slow() -> str:
        time.sleep(1.2)
        return "done"

    with opened(tools={"slow": slow}, limits={"cell_seconds": 1.0}) as box:
        assert box.run("print(slow())").stdout == "done\n"


def test_run_seconds_bound_every_cell(opened: Open, hang: Any) -> None:
    with opened(tools={"hang": hang}, limits={"run_seconds": 1.0}) as box:
        began = time.monotonic()
        result = box.run("hang()")
        assert isinstance(result.error, CellTimeout) and result.error.limit == "limits.run_seconds"
        assert time.monotonic() - began < 8


def test_a_slow_tool_is_left_behind_and_the_cell_goes_on(opened: Open, hang: Any) -> None:
    audit = Told()
    with opened(tools={"hang": hang}, limits={"tool_seconds": 0.3}, audit=audit) as box:
        code = "try:\n    hang()\nexcept Exception as error:\n    print(error)"
        assert box.run(code).stdout.startswith("the tool hang did not return within limits.tool_seconds = 0.3 s and was")
        assert audit.rules == ["tool-seconds"]
        assert box.run("print(2)").stdout == "2\n"


def test_what_one_session_leaves_behind_refuses_no_other(opened: Open, hang: Any) -> None:
    limits = {"tool_seconds": 0.1, "abandoned_calls": 1}
    with opened(tools={"hang": hang}, limits=limits) as box, opened(tools={"quick": lambda: 1}, limits=limits) as other:
        assert "was left behind" in box.run("hang()").stderr
        assert "limits.abandoned_calls = 1" in box.run("hang()").stderr
        assert other.run("print(quick())").stdout == "1\n"


def test_what_is_left_behind_is_counted_and_bounded(opened: Open, hang: Any) -> None:
    audit = Told()
    over = threading.Event()
    limits = {"tool_seconds": 0.2, "abandoned_calls": 2}
    tools = {"hang": lambda: over.wait(HANG_SECONDS), "quick": lambda: 1}
    code = "for n in range(5):\n    try:\n        print(hang())\n    except Exception as error:\n        print(str(error)[:40])"
    with opened(tools=tools, limits=limits, audit=audit) as box:
        lines = box.run(code).stdout.splitlines()
        assert [line[:10] for line in lines] == ["the tool h"] * 2 + ["limits.aba"] * 3
        assert audit.rules == ["tool-seconds", "abandoned-calls"]
        assert "abandoned_calls" in box.run("quick()").stderr
        over.set()
        deadline = time.monotonic() + 10
        while not (result := box.run("print(quick())")).stdout and time.monotonic() < deadline:
            time.sleep(0.05)
        assert result.stdout == "1\n"


def test_tool_calls_are_counted(opened: Open) -> None:
    made: list[int] = []
    audit = Told()
    with opened(tools={"tool": lambda: made.append(1)}, limits={"tool_calls": 3}, audit=audit) as box:
        box.run("tool()\ntool()").check()
        result = box.run("tool()\ntool()")
        assert "limits.tool_calls = 3" in result.stderr
        assert len(made) == 3 and audit.rules == ["tool-calls"]


@pytest.mark.parametrize("kind", ["handler", "subcall_fn", "LMHandler"])
def test_a_timeout_is_wall_time_whatever_a_model_does(hang: Any, kind: str) -> None:
    options: dict[str, Any] = {kind: lambda *_: hang()}
    if kind != "subcall_fn":
        client = get_client("scripted", {"replies": lambda _prompt: hang()})
        options = {"lm_handler_address": LMHandler(client).start() if kind == "LMHandler" else lambda _call: hang()}
    with LocalREPL(**options) as repl:
        began = time.monotonic()
        query = "rlm_query" if kind == "subcall_fn" else "llm_query"
        assert isinstance(repl.execute_code(f"{query}('x')", timeout=1).error, CellTimeout)
        threading.Timer(0.5, repl.interrupt).start()
        result = repl.execute_code(f"{query}('x')")
        assert isinstance(result.error, CellTimeout) and result.error.limit == "interrupt"
        assert time.monotonic() - began < 12
        assert repl.execute_code("print(1)").stdout == "1\n"


@pytest.mark.parametrize(
    ("limits", "rule"),
    [({"tool_calls": 0}, "tool-calls"), ({"tool_seconds": 0.2}, "tool-seconds"), ({}, "tool-result")],
    ids=["number", "time", "result"],
)
def test_the_limits_of_tools_hold_in_a_run(hang: Any, limits: dict[str, Any], rule: str) -> None:
    heard, audit = Heard(), Told()
    rlm = scripted(
        [cell("try:\n    tool()\nexcept Exception as error:\n    final_answer(str(error))")],
        custom_tools={"tool": object if rule == "tool-result" else hang},
        policy=strict(**limits),
        on_event=heard,
        audit=audit,
    )
    response = rlm.completion("c").response
    assert [(each.rule, each.message) for each in heard.of(Violation)] == [(rule, response)]
    assert audit.rules == [rule]


def test_a_tool_has_no_more_time_than_its_run(hang: Any) -> None:
    began = time.monotonic()
    with pytest.raises(TimeoutExceededError):
        scripted([cell("hang()")], custom_tools={"hang": hang}, max_timeout=1).completion("c")
    assert time.monotonic() - began < 8


# -- interrupts ------------------------------------------------------------------------------------------


def test_an_interrupt_does_not_wait_for_a_tool(opened: Open, hang: Any) -> None:
    with opened(tools={"hang": hang}) as box:
        box.run("x = 1")
        threading.Timer(0.5, box.interrupt).start()
        began = time.monotonic()
        result = box.run("hang()")
        assert time.monotonic() - began < 8
        assert isinstance(result.error, CellTimeout) and result.error.limit == "interrupt"
        assert box.run("print(x)").stdout == "1\n"


def test_a_close_does_not_wait_for_a_tool(opened: Open, hang: Any) -> None:
    box = opened(tools={"hang": hang})
    threading.Timer(0.5, box.close).start()
    began = time.monotonic()
    assert box.run("hang()").error is not None
    assert time.monotonic() - began < 10
    with pytest.raises(SessionEnded):
        box.run("1")


def test_ctrl_c_does_not_wait_for_a_tool(opened: Open, hang: Any) -> None:
    with opened(tools={"hang": hang}) as box:
        box.run("x = 1")
        threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
        began = time.monotonic()
        with pytest.raises(KeyboardInterrupt):
            box.run("hang()")
        assert time.monotonic() - began < 10
        assert box.run("print(x)").stdout == "1\n"


@pytest.mark.parametrize("face", ["Sandbox", "RLM"])
def test_a_tool_that_never_ends_does_not_keep_the_process(face: str) -> None:
    if face == "Sandbox":
        use = "with Sandbox(tools={'hang': hang}) as box:\n    print(type(box.run('hang()', timeout=0.5).error).__name__)"
    else:
        use = (
            "try:\n"
            "    RLM(backend='scripted', backend_kwargs={'turns': ['```repl\\nhang()\\n```']}, max_timeout=1,\n"
            "        custom_tools={'hang': hang}).completion('c')\n"
            "except Exception as error:\n    print(type(error).__name__)"
        )
    program = f"import threading\nfrom rlm_secure import RLM, Sandbox\nhang = lambda: threading.Event().wait()\n{use}"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=150)
    assert (done.stdout, done.stderr) == ("CellTimeout\n" if face == "Sandbox" else "TimeoutExceededError\n", "")


def test_what_a_coroutine_awaits_is_cancelled_with_its_cell(opened: Open) -> None:
    ended = threading.Event()

    async def hang() -> None:
        try:
            await asyncio.sleep(HANG_SECONDS)
        finally:
            ended.set()

    with opened(tools={"hang": hang}) as box:
        assert isinstance(box.run("hang()", timeout=0.5).error, CellTimeout)
        assert ended.wait(5)


# -- results ---------------------------------------------------------------------------------------------


class Text(str):
    """A str whose methods lie."""

    __slots__ = ()

    def __str__(self) -> str:
        raise ValueError

    __repr__ = __str__


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = __str__


class Hooked(dict):  # type: ignore[type-arg]
    def __iter__(self) -> Any:
        raise SystemExit

    items = keys = values = __iter__


@dataclasses.dataclass
class Found:
    title: str
    values: Any


def raises(error: BaseException) -> Callable[[], Any]:
    def tool() -> Any:
        raise error

    return tool


def nested(depth: int) -> list[Any]:
    value: list[Any] = []
    for _ in range(depth):
        value = [value]
    return value


def circular() -> list[Any]:
    value: list[Any] = []
    value.append({"itself": value})
    return value


def endless() -> Iterator[int]:
    while True:
        yield 1


UNHOLDABLE: dict[str, Callable[[], Any]] = {
    "nan": lambda: float("nan"),
    "infinity": lambda: [float("-inf")],
    "huge integer": lambda: 1 << 2_000_000,
    "deep": lambda: nested(100),
    "very deep": lambda: nested(200_000),
    "circular": circular,
    "bytes": lambda: b"\xff",
    "object": object,
    "objects": lambda: {"a": [object()]},
    "function": lambda: circular,
    "class": lambda: object,
    "lone surrogate": lambda: "\ud800",
    "lone surrogate in a key": lambda: {"\ud800": 1},
    "generator": endless,
    "generator in a list": lambda: [endless()],
    "generator in a dataclass": lambda: Found("x", endless()),
    "two keys of one name": lambda: {1: "a", "1": "b"},
    "too long": lambda: "x" * 5_000_000,
    "too many": lambda: [0] * 5_000_000,
    "over json's size": lambda: ["\u0100" * 100] * 9_000,
}
FAILING: dict[str, BaseException] = {
    "exception": OSError("/etc/secret"),
    "without words": Unspeakable(),
    "exit": SystemExit(3),
    "interrupt": KeyboardInterrupt(),
    "generator exit": GeneratorExit(),
    "stop iteration": StopIteration(),
    "base exception": BaseException("secret"),
}


def test_no_result_of_a_tool_ends_a_session(opened: Open) -> None:
    audit = Told()
    tools = {f"tool_{number}": tool for number, tool in enumerate(UNHOLDABLE.values())}
    with opened(tools=tools, audit=audit) as box:
        for name in tools:
            assert f"{name} returned" in box.run(f"{name}()").stderr
        assert len(audit.rules) == len(tools)
        assert box.run("print(1)").stdout == "1\n"


@pytest.mark.parametrize("name", UNHOLDABLE)
def test_a_result_that_cannot_be_held_fails_in_the_cell_and_nowhere_else(opened: Open, name: str) -> None:
    audit = Told()
    with opened(tools={"tool": UNHOLDABLE[name]}, audit=audit) as box:
        box.run("x = 1").check()
        result = box.run("try:\n    tool()\nexcept Exception as error:\n    print('failed:', error)")
        assert result.error is None and result.stdout.startswith("failed: tool returned")
        assert audit.rules in (["tool-result"], ["tool-result-bytes"])
        assert box.run("print(x)").stdout == "1\n"


@pytest.mark.parametrize("name", FAILING)
def test_whatever_a_tool_raises_fails_in_the_cell_and_tells_only_its_kind(opened: Open, name: str) -> None:
    error = FAILING[name]
    with opened(tools={"tool": raises(error)}) as box:
        box.run("x = 1").check()
        result = box.run("tool()")
        assert isinstance(result.error, CellException)
        assert result.stderr.endswith(f"tool failed: {type(error).__name__}\n")
        assert "secret" not in result.stderr
        assert box.run("print(x)").stdout == "1\n"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Text("text"), "text"),
        ({"a": Text("text")}, {"a": "text"}),
        (Hooked(a=1), {"a": 1}),
        ((1, [None, True, 2.5], {"k": {"v"}}), [1, [None, True, 2.5], {"k": ["v"]}]),
        (Found("t", (1, 2)), {"title": "t", "values": [1, 2]}),
        ("\U0001f600\u0100", "\U0001f600\u0100"),
        (-(10**40), -(10**40)),
        ({2: 1, None: 2, True: 3}, {"2": 1, "null": 2, "true": 3}),
    ],
)
def test_what_can_be_held_arrives_as_plain_json(opened: Open, value: Any, shown: Any) -> None:
    with opened(tools={"tool": lambda: value, "same": lambda got: got == shown}) as box:
        assert box.run("print(same(tool()))").stdout == "True\n"


def test_an_answer_of_any_host_call_is_json_or_a_failure(opened: Open) -> None:
    with opened(tools={"tool": lambda: 1}) as box:
        session = box._repl.session
        for answer in (object(), {"a": float("nan")}, nested(200_000), {1, 2}):
            result = session.execute("tool()", lambda _call, answer=answer: answer)
            assert "which JSON cannot hold" in result.stderr
        assert session.execute("print(tool())", lambda _call: {"a": 1}).stdout == "{'a': 1}\n"


@pytest.mark.parametrize("name", ["context", "llm_query", "answer", "_hidden", "a b"])
def test_a_tool_that_no_cell_could_call_is_an_error_of_its_owner(opened: Open, name: str) -> None:
    with pytest.raises(ValueError, match="tool"):
        opened(tools={name: lambda: 1})


def test_arguments_are_checked_by_the_tools_signature(opened: Open) -> None:
    def tool(n: int) -> int:
        return n

    audit = Told()
    with opened(tools={"tool": tool}, audit=audit) as box:
        assert "n: Input should be a valid integer" in box.run("tool('7')").stderr
        assert r"unexpected keyword argument '\x1b[31m'" in box.run("tool(1, **{'\\x1b[31m': 1})").stderr
        assert box.run("print(tool(7))").stdout == "7\n"
        assert audit.rules == ["tool-arguments"] * 2


def test_refusals_are_written_into_the_audit_log(tmp_path: Any) -> None:
    path = tmp_path / "audit.jsonl"
    with Sandbox(tools={"tool": object}, audit=AuditLog(path)) as box:
        box.run("tool()")
    assert '"rule":"tool-result"' in path.read_text().replace(": ", ":")


def test_a_cell_that_goes_on_asking_for_tools_is_ended(opened: Open) -> None:
    with opened(tools={"tool": lambda: 1}, limits={"tool_calls": 3}) as box:
        box.run("x = 1").check()
        code = "n = 0\nwhile True:\n    n += 1\n    try:\n        tool()\n    except Exception:\n        pass"
        result = box.run(code)
        assert isinstance(result.error, CellTimeout) and result.error.limit == "limits.tool_calls"
        assert box.run("print(x)").stdout == "1\n"


def test_what_a_cell_is_told_is_bounded_in_bytes(opened: Open) -> None:
    entry = request_log.LogEntry({"op": "exec", "code": "x"})
    for _ in range(100_000):
        entry.answered({"op": "reply", "error": "no such tool, and " * 10})
    assert entry.heavy and not entry.replies
    with opened(tools={"tool": lambda: "y" * 2_000_000}) as box:
        session = box._repl.session
        for _ in range(40):
            box.run("x = tool(); y = tool(); z = tool()").check()
            log = session._log  # type: ignore[attr-defined]
            assert log is None or sum(len(reply["value"]) for each in log for reply in each.replies) <= request_log.LOG_BYTES
        assert box.run("print(len(x))").stdout == "2000000\n"


def test_an_answer_that_no_worker_reads_fails_in_the_cell(opened: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(replies, "ANSWER_BYTES", 1_000_000)
    with opened() as box:
        session = box._repl.session
        result = session.execute("llm_query_batched(['a'] * 3)", lambda call: ["\U0001f600" * 90_000] * 3)
        assert "the answer takes 3,240,012 bytes" in result.stderr
        answered = session.execute("print(len(llm_query('a')))", lambda call: "x" * 900_000)
        assert answered.stdout == "900000\n"


# -- who calls back --------------------------------------------------------------------------------------


def test_a_tool_that_uses_its_own_sandbox_is_told_so(opened: Open) -> None:
    made: list[Sandbox] = []

    def tool(what: str) -> str:
        box = made[0]
        uses: dict[str, Callable[[], Any]] = {
            "run": lambda: box.run("1"),
            "close": box.close,
            "interrupt": box.interrupt,
            "exit": lambda: box.__exit__(None, None, None),
            "variables": lambda: box._repl.read_text("x"),
            "context": lambda: box._repl.add_context("c"),
            "session": lambda: box._repl.session.assign("x", 2),
            "task": lambda: asyncio.run(asyncio.to_thread(box.run, "1")),
        }
        try:
            uses[what]()
        except RLMSecureError as error:
            return type(error).__name__
        return "nothing"

    with opened(tools={"tool": tool}) as box:
        made.append(box)
        names = ["run", "close", "interrupt", "exit", "variables", "context", "session", "task"]
        result = box.run(f"x = 1\nprint([tool(what) for what in {names}])", timeout=20)
        assert result.stdout == f"{['ReentrantCall'] * len(names)}\n"
        assert box.run("print(x)").stdout == "1\n"


def test_a_thread_that_a_tool_waits_for_is_told_so_too(opened: Open) -> None:
    made: list[Sandbox] = []

    def tool() -> list[str]:
        said: list[str] = []

        def work() -> None:
            try:
                made[0].run("1")
            except RLMSecureError as error:
                said.append(type(error).__name__)

        thread = threading.Thread(target=work)
        thread.start()
        thread.join(HANG_SECONDS)
        return said

    with opened(tools={"tool": tool}) as box:
        made.append(box)
        began = time.monotonic()
        assert box.run("print(tool())").stdout == "['ReentrantCall']\n"
        assert time.monotonic() - began < 10


def test_a_sandbox_in_a_tool_of_another_may_not_go_back_to_it() -> None:
    made: list[Sandbox] = []

    def back() -> str:
        try:
            return made[0].run("1").stdout
        except RLMSecureError as error:
            return type(error).__name__

    def inner() -> str:
        with Sandbox(tools={"back": back}) as other:
            return other.run("print(1 + 1, back())").stdout

    with Sandbox(tools={"inner": inner}) as box:
        made.append(box)
        assert box.run("print(inner())", timeout=20).stdout == "2 ReentrantCall\n\n"


def test_threads_that_are_no_tools_take_turns() -> None:
    ready, said = threading.Event(), []

    def tool() -> int:
        ready.set()
        time.sleep(1.5)
        return 1

    with Sandbox(tools={"tool": tool}) as box:
        waiting = threading.Thread(target=lambda: (ready.wait(10), said.append(box.run("print(2)").stdout)))
        waiting.start()
        assert box.run("print(tool())").stdout == "1\n"
        waiting.join(10)
    assert said == ["2\n"]


def test_a_tool_may_start_what_uses_the_sandbox_later() -> None:
    made: list[Sandbox] = []
    said: list[str] = []
    threads: list[threading.Thread] = []
    go = threading.Event()

    def tool() -> None:
        threads.append(threading.Thread(target=lambda: (go.wait(10), said.append(made[0].run("print(3)").stdout))))
        threads[0].start()

    with Sandbox(tools={"tool": tool}) as box:
        made.append(box)
        box.run("tool()").check()
        go.set()
        threads[0].join(10)
    assert said == ["3\n"]


@pytest.mark.parametrize("use", ["close", "completion"])
def test_a_tool_of_a_persistent_run_may_not_use_its_session(use: str) -> None:
    made: list[Any] = []

    def tool() -> str:
        try:
            made[0].close() if use == "close" else made[0].completion("again")
        except RLMSecureError as error:
            return type(error).__name__
        return "nothing"

    options: dict[str, Any] = {"persistent": True, "max_timeout": 20}
    with scripted([cell("final_answer(tool())")], custom_tools={"tool": tool}, **options) as rlm:
        made.append(rlm)
        assert rlm.completion("c").response == "ReentrantCall"
    made.clear()
    # Nor may the model that a cell waits for, where it is a client of the user's own.
    with scripted([cell("final_answer(llm_query('q'))")], lambda _prompt: tool(), **options) as rlm:
        made.append(rlm)
        assert rlm.completion("c").response == "ReentrantCall"


# -- calls that are refused -------------------------------------------------------------------------------

#: A cell that calls as long as it is let, and counts.
CALLS = "n = 0\nwhile True:\n    n += 1\n    try:\n        {}\n    except Exception:\n        pass"


def given_back(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What deadlines are given back from here on, in seconds."""
    seconds: list[float] = []
    extend = Deadline.extend
    monkeypatch.setattr(Deadline, "extend", lambda deadline, more: (seconds.append(more), extend(deadline, more)))
    return seconds


@pytest.mark.parametrize("call", ["llm_query('x')", "llm_query_batched(['x', 'y'])", "tool(1, 2)"])
def test_a_cell_whose_calls_are_refused_is_ended_after_so_many(opened: Open, call: str) -> None:
    served: list[int] = []
    with opened(tools={"tool": served.append}) as box:
        box.run("x = 1").check()
        result = box.run(CALLS.format(call))
        assert isinstance(result.error, CellCallsRefused) and result.error.limit == "lm.refusals"
        assert served == []
        assert box._repl.session._given == 0.0  # type: ignore[attr-defined]  # no refused call gave the cell time
        assert box.run("print(x)").stdout == "1\n"
        assert box.run("for n in range(100):\n    llm_query('x')\nprint(n)").stdout == "99\n"  # the next counts anew


@contextlib.contextmanager
def local_session(policy: Policy) -> Iterator[Any]:
    with open_session(policy) as session:
        yield session


@pytest.mark.parametrize("place", [local_session, broker_session], ids=["local", "broker"])
def test_what_refuses_a_call_says_so_and_what_serves_one_gives_its_time(place: Any, monkeypatch: Any) -> None:
    decision = Decision(False, "lm-batch", "no")

    def refused(call: Any) -> str:
        asked.append(call)
        refuse()
        return "Error: no"

    def denied(call: Any) -> str:
        asked.append(call)
        raise CallRefused(decision)

    def late(call: Any) -> str:  # it was served, and what came of it is refused
        raise CallRefused(Decision(False, "tool-result", "too long"))

    def slow(call: Any) -> str:
        time.sleep(0.05)
        return "yes"

    asked: list[Any] = []
    policy = load_policy("strict")
    alone = policy.isolation.model_copy(update={"checkpoints": False})  # what they take is given back as well
    few = policy.model_copy(update={"lm": policy.lm.model_copy(update={"refusals": 5}), "isolation": alone})
    for calls in (refused, denied):
        asked.clear()
        with place(few) as session:
            seconds = given_back(monkeypatch)
            result = session.execute(CALLS.format("llm_query('x')"), calls)
            assert isinstance(result.error, CellCallsRefused)
            assert len(asked) == 6
            assert abs(sum(seconds)) < 1e-6
    with place(few) as session:
        seconds = given_back(monkeypatch)
        for calls in (slow, late):
            loop = "for n in range(10):\n    try:\n        llm_query('x')\n    except Exception:\n        pass"
            assert session.execute(loop, calls).error is None
        assert sum(seconds) > 0.4


def test_a_refusal_of_a_child_is_not_its_parents() -> None:
    outer, inner = Served(Turn()), Served(Turn())
    serve(outer, lambda: serve(inner, refuse))
    assert (outer.refused, inner.refused) == (False, True)
    refuse()  # nobody is served here
