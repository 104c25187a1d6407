"""A local session: what cells leave behind, what ends them, and what the host is told."""

from __future__ import annotations

import threading
import time

import pytest

from rlm_secure import (
    CellCrashed,
    CellException,
    CellMemoryLimit,
    CellRefused,
    CellTimeout,
    Sandbox,
    SessionEnded,
    WallViolation,
)
from rlm_secure.environments.local import pool
from rlm_secure.environments.local.session import open_session
from rlm_secure.policy import load_policy
from rlm_secure.testing import unscreened

#: Far less than the 30 s that a cell has where it is not told otherwise, and more than a busy machine needs.
SECONDS = 10.0


def strict(**limits):
    policy = load_policy("strict")
    return policy.model_copy(update={"limits": policy.limits.model_copy(update=limits)})


def no_calls(_call):
    return None


@pytest.fixture
def sandbox():
    with Sandbox() as box:
        yield box


def test_state_lasts_from_run_to_run(sandbox):
    sandbox.run("x = 20")
    result = sandbox.run("x += 1\nprint(x * 2)")
    assert (result.stdout, result.stderr, result.error, result.locals["x"]) == ("42\n", "", None, 21)


def test_variables_before_an_exception_are_kept(sandbox):
    result = sandbox.run("kept = 1\n1 / 0")
    assert isinstance(result.error, CellException)
    assert "Cell, line 2" in result.stderr
    assert "ZeroDivisionError" in result.stderr
    assert sandbox.run("print(kept)").stdout == "1\n"


@pytest.mark.parametrize(
    "code", ["raise SystemExit(3)", "raise KeyboardInterrupt", "raise GeneratorExit", "exit(3)", "quit('why')", "exit(0.0)"]
)
def test_exits_end_the_cell_and_not_the_session(sandbox, code):
    assert sandbox.run(code).error is not None
    assert sandbox.run("print(1)").stdout == "1\n"


@pytest.mark.parametrize(
    "code",
    ["exit()", "quit(0)", "raise SystemExit", "raise SystemExit(None)", "class E(SystemExit):\n    code = 3\nraise E(False or 0)"],
)
def test_an_exit_without_a_code_ends_the_cell_as_planned(sandbox, code):
    result = sandbox.run(f"kept = 1\nprint('before')\n{code}\nprint('after')")
    assert (result.stdout, result.stderr, result.error) == ("before\n", "", None)
    assert sandbox.run("print(kept)").stdout == "1\n"


def test_an_exit_in_a_cell_whose_time_is_used_up_is_no_plan(sandbox):
    result = sandbox.run("try:\n    while True: pass\nfinally: exit()", timeout=0.3)
    assert isinstance(result.error, CellTimeout)


@pytest.mark.parametrize(
    "code",
    [
        "while True: pass",
        "while True:\n    try:\n        while True: pass\n    except:\n        pass",
        "while True:\n    try:\n        while True: pass\n    except BaseException:\n        pass",
        "import re\nre.match(r'(a+)+b', 'a' * 60)",
        "9 ** 9 ** 9",
    ],
)
def test_a_soft_interrupt_ends_a_loop_and_keeps_the_state(sandbox, code):
    sandbox.run("before = 7")
    started = time.monotonic()
    result = sandbox.run(code, timeout=0.3)
    assert time.monotonic() - started < SECONDS
    assert isinstance(result.error, CellTimeout)
    assert (result.error.limit, result.error.wall) == ("limits.cell_seconds", "wall-clock")
    assert sandbox.run("print(before)").stdout == "7\n"


@pytest.mark.parametrize("code", ["sum(range(10**11))", "import itertools\n10 in itertools.count(11)"])
def test_what_cannot_be_interrupted_is_killed_and_the_state_comes_back(sandbox, code):
    sandbox.run("before = [1]")
    started = time.monotonic()
    result = sandbox.run(code, timeout=0.3)
    assert time.monotonic() - started < SECONDS
    assert isinstance(result.error, CellTimeout)
    assert not result.error.session_ended
    assert "the session was resumed" in result.stderr
    assert sandbox.run("print(before)").stdout == "[1]\n"


def test_a_session_from_the_pool_holds_nothing_of_its_warming_up():
    with Sandbox(policy="standard"):
        deadline = time.monotonic() + 10
        while not pool.ready() and time.monotonic() < deadline:
            time.sleep(0.01)
    assert pool.ready()
    with Sandbox(policy="standard") as box:
        result = box.run("print(1)").check()
        assert (result.stdout, result.stderr, result.locals) == ("1\n", "", {})
        assert "NameError" in box.run("x").stderr


def test_what_was_drawn_since_a_checkpoint_is_drawn_again():
    with Sandbox(policy="standard") as box:
        box.run("import random, statistics").check()
        assert box._repl._session.checkpoint()
        # The second draws from the standard library's own generator.
        box.run("drawn = [random.random(), *statistics.NormalDist().samples(3)]").check()
        before = box.run("print(drawn)").check().stdout
        assert "the session was resumed" in box.run("sum(range(10**11))", timeout=0.2).stderr
        assert box.run("print(drawn)").check().stdout == before


def test_ids_stay_the_same_in_a_session_and_its_checkpoints_and_tell_nothing_about_another():
    asked = "n = id(len)\nprint(n)"  # an object that both have from the zygote, at the same address
    with open_session(strict()) as one, open_session(strict()) as other:
        one.execute("x = 1", no_calls)
        assert one.checkpoint()
        first = one.execute(asked, no_calls).stdout
        one._worker.kill()
        assert one.execute("print(id(len) == n)", no_calls).stdout == "True\n"
        assert one.execute(asked, no_calls).stdout == first
        assert other.execute(asked, no_calls).stdout not in ("", first)


def test_a_session_whose_first_cell_was_killed_draws_numbers_of_its_own():
    policy = load_policy("research")  # without a pool: what is ready there has drawn a seed already
    policy = policy.model_copy(update={"isolation": policy.isolation.model_copy(update={"pool": 0})})
    drawn = set()
    for _ in range(2):
        with Sandbox(policy=policy) as box:
            assert "the session was resumed" in box.run("sum(range(10**11))", timeout=0.2).stderr
            drawn.add(box.run("import random\nprint(random.random())").check().stdout)
    assert len(drawn) == 2


def test_a_crash_loses_only_its_cell(sandbox):
    sandbox.run("before = {'a': 1}")
    result = sandbox.run("t = ()\nfor i in range(300000): t = (t,)\nhash(t)")
    assert isinstance(result.error, CellCrashed)
    assert "SIGSEGV" in str(result.error)
    assert sandbox.run("print(before)").stdout == "{'a': 1}\n"


def test_resumes_are_limited():
    with Sandbox(policy=strict(resumes=1)) as box:
        assert not box.run("sum(range(10**11))", timeout=0.2).error.session_ended
        assert box.run("sum(range(10**11))", timeout=0.2).error.session_ended
        with pytest.raises(SessionEnded, match="start a new one"):
            box.run("1")


@pytest.mark.parametrize("code", ["x = 'a' * 10**10", "x = [0] * 10**9", "x = []\nwhile True: x.append('a' * 10**6)"])
def test_memory_is_capped_and_the_session_lives(code):
    with Sandbox(policy=strict(memory_bytes=128 << 20)) as box:
        result = box.run(code)
        assert isinstance(result.error, CellMemoryLimit)
        assert (result.error.limit, result.error.wall) == ("limits.memory_bytes", "rlimits")
        assert box.run("x = None\nprint(1)").stdout == "1\n"


@pytest.mark.parametrize("code", ["print('a' * 10**8)", "for i in range(10**5): print('b' * 1000)"])
def test_output_is_capped_while_it_is_produced(sandbox, code):
    result = sandbox.run(code)
    assert result.error is None
    assert len(result.stdout) == load_policy("strict").limits.stdout_bytes
    assert result.dropped_bytes >= 10**8 - len(result.stdout)


def test_wide_output_is_counted_in_bytes_and_never_breaks_a_character(sandbox):
    result = sandbox.run("print('\\U0001f600' * 10**6)")
    assert set(result.stdout) == {"\U0001f600"}
    assert len(result.stdout.encode()) <= load_policy("strict").limits.stdout_bytes


@pytest.mark.parametrize(
    "code",
    [
        "(" * 100_000 + "1" + ")" * 100_000,
        "1" + "+1" * 100_000,
        "-" * 100_000 + "1",
        "x" + ".a" * 100_000,
        "[" * 100_000,
    ],
)
def test_deep_source_is_refused(sandbox, code):
    assert isinstance(sandbox.run(code).error, CellRefused)
    assert sandbox.run("print(1)").stdout == "1\n"


@pytest.mark.parametrize(
    ("code", "rule"),
    [
        ("open('/etc/passwd')", "removed-builtin"),
        ("__import__('os')", None),
        ("().__class__.__base__.__subclasses__()", "dunder-attribute"),
        ("'{0.__code__}'.format(1)", "format-attribute"),
        ("def g(): yield\ng().gi_frame", None),
        ("import socket", "import-module"),
        ("import json\njson.codecs.builtins", None),
    ],
)
def test_a_refusal_names_its_rule(sandbox, code, rule):
    result = sandbox.run(code)
    assert result.error is not None
    assert result.stderr
    if rule:
        assert result.error.rule == rule
        assert rule in result.stderr


def test_a_forbidden_call_ends_the_session_as_a_violation():
    with unscreened() as box:
        box.run("x = 1")
        result = box.run("import ctypes; ctypes.CDLL(None).socket(2, 1, 0)")
        assert isinstance(result.error, WallViolation)
        assert (result.error.wall, result.error.session_ended) == ("seccomp", True)
        with pytest.raises(SessionEnded):
            box.run("1")


def test_cpu_seconds_are_a_budget_of_their_own():
    with Sandbox(policy=strict(cell_cpu_seconds=0.3, cell_seconds=20)) as box:
        result = box.run("while True: pass")
        assert result.error.limit == "limits.cell_cpu_seconds"


def test_time_in_the_host_does_not_count_against_the_cell():
    def slow():
        time.sleep(0.6)
        return "done"

    with Sandbox(policy=strict(cell_seconds=0.4), tools={"slow": slow}) as box:
        assert box.run("print(slow())").stdout == "done\n"
    with Sandbox(policy=strict(cell_seconds=0.4, exclude_host_time=False), tools={"slow": slow}) as box:
        assert box.run("slow()\nwhile True: pass").error.limit == "limits.cell_seconds"


def test_interrupt_from_another_thread(sandbox):
    threading.Timer(0.3, sandbox.interrupt).start()
    started = time.monotonic()
    result = sandbox.run("while True: pass")
    assert time.monotonic() - started < SECONDS
    assert (type(result.error), result.error.limit) == (CellTimeout, "interrupt")
    assert sandbox.run("print(1)").stdout == "1\n"


def test_close_from_another_thread_ends_a_running_cell(sandbox):
    threading.Timer(0.3, sandbox.close).start()
    result = sandbox.run("while True: pass")
    assert result.error.session_ended
    with pytest.raises(SessionEnded):
        sandbox.run("1")


def test_an_exception_in_a_host_call_reaches_the_caller_and_the_session_lives():
    class Stop(BaseException):
        pass

    def stop(call):
        raise Stop

    with open_session(load_policy("strict"), tools={"stop": ""}) as session:
        with pytest.raises(Stop):
            session.execute("before = 1\ntry:\n    stop()\nexcept Exception:\n    pass\nwhile True: pass", stop)
        assert session.execute("print(before)", stop).stdout == "1\n"


def test_tools_take_and_give_json_only():
    got = []

    def keep(*args, **kwargs):
        got.append((args, kwargs))
        return {"n": len(got)}

    with Sandbox(tools={"keep": keep}) as box:
        assert box.run("print(keep(1, 'a', [None, True], k={'b': 2.5}))").stdout == "{'n': 1}\n"
        assert got == [((1, "a", [None, True]), {"k": {"b": 2.5}})]
        assert "cross the wall" in box.run("keep(object())").stderr
        assert "cross the wall" in box.run("keep(lambda: 1)").stderr


def test_names_of_the_repl_come_back_when_a_cell_shadows_them():
    with Sandbox(context="data") as box:
        box.run("context = 1\nSHOW_VARS = 2\nllm_query = 3\nanswer = 4")
        assert box.run("print(context, SHOW_VARS(), callable(llm_query), answer)").stdout.startswith("data Available")


@pytest.mark.parametrize(
    ("code", "answer"),
    [
        ("answer['content'] = 'a'\nanswer['ready'] = True", "a"),
        ("answer['ready'] = True\nanswer['content'] = 'later'", "later"),
        ("answer.update(content='u', ready=True)", "u"),
        ("answer = {'content': 'rebound', 'ready': True}", "rebound"),
        ("answer['ready'] = True", ""),
        ("answer['content'] = 'no'", None),
        ("final_answer({'a': [1, 2]})", "{'a': [1, 2]}"),
        ("try:\n    final_answer('through')\nexcept:\n    pass\nprint('not reached')", "through"),
        ("v = 5\nprint(FINAL_VAR('v'))", "5"),
        ("FINAL_VAR('missing')", None),
    ],
)
def test_three_ways_to_finish(sandbox, code, answer):
    result = sandbox.run(code)
    assert result.final_answer == answer
    assert "not reached" not in result.stdout


def test_a_repr_never_runs_on_the_host_and_never_breaks_a_result(sandbox):
    result = sandbox.run(
        "class Evil:\n    def __repr__(self): raise ValueError\n    def __str__(self): return 'x' * 10**9\n"
        "evil = Evil()\nbig = 2 ** 65536\nnan = float('nan')\nloop = []\nloop.append(loop)\ns = '\\ud800'\n"
    )
    assert result.error is None
    assert result.locals["evil"] == "<Evil object>"
    assert result.locals["s"] == "\\ud800"
    assert sandbox.run("print(1)").stdout == "1\n"


def test_two_sandboxes_in_two_threads_share_nothing():
    outputs = {}

    def work(name):
        with Sandbox() as box:
            box.run(f"x = '{name}'")
            outputs[name] = "".join(box.run("print(x)").stdout for _ in range(20))

    threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outputs == {"a": "a\n" * 20, "b": "b\n" * 20}


def test_source_over_the_limit_is_refused_before_it_is_sent(sandbox):
    result = sandbox.run("x = 1 #" + "y" * 10**6)
    assert isinstance(result.error, CellRefused)
    assert result.error.rule == "source-bytes"


def test_cells_are_counted():
    with Sandbox(policy=strict(cells=2)) as box:
        box.run("1")
        box.run("1")
        with pytest.raises(SessionEnded, match="limits.cells"):
            box.run("1")


#: Calls with many prompts, then reads the answer piece by piece, steadily, and says that it is done.
SLOW_READER = """
import gc, json, os, signal, time
signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
def say(message):
    body = json.dumps(message).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
def take(size):
    data = b""
    while len(data) < size:
        data += os.read(3, size - len(data))
    return data
[channel] = [found for found in gc.get_objects() if type(found).__name__ == "FrameChannel"]
say({"op": "call", "call": "llm_query_batched", "prompts": ["a"], "model": None, "nonce": channel.nonce})
size = int.from_bytes(take(4), "big")
while size:
    last = take(min(size, 64 << 10))
    size -= len(last)
    time.sleep(0.03)
nonce = last.rpartition(b'"nonce": "')[2][:16].decode()
done = {"op": "done", "stdout": "", "stderr": "", "dropped": 0, "variables": {}, "answer": None, "error": None}
say({**done, "cpu": 0.0, "peak": 1, "nonce": nonce})
time.sleep(600)
"""


@pytest.mark.parametrize("grace", [0.2, 60.0])
def test_a_worker_that_reads_its_answer_slowly_is_ended_in_time(grace):
    # 16 MiB in pieces of 64 KiB take it 8 s. With a grace that long its result comes, too late.
    with unscreened(policy=strict(cell_seconds=1.0, grace_seconds=grace)) as box:
        started = time.monotonic()
        result = box._session.execute(SLOW_READER, lambda call: ["x" * (16 << 20)])
        assert isinstance(result.error, CellTimeout)
        assert result.error.limit == "limits.cell_seconds"
        assert grace > 1 or time.monotonic() - started < 5


#: A cell that does not let itself be interrupted, and asks for a model and a tool when its time is over.
LATE = """
import gc, json, os, time
[Worker] = {type(found) for found in gc.get_objects() if hasattr(type(found), "_checkpoint")}
[channel] = [found for found in gc.get_objects() if type(found).__name__ == "FrameChannel"]
Worker.interrupt = lambda self: None
def ask(**call):
    body = json.dumps({"op": "call", **call, "nonce": channel.nonce}).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
    return channel.receive()["error"]
while time.process_time() < 0.4: pass
time.sleep(0.8)
print(ask(call="llm_query_batched", prompts=["x"] * 100, model=None))
print(ask(call="tool", tool="tool", args=[], kwargs={}))
"""


class Asked:
    """What a run answers calls with: it looks at the run's end itself."""

    interruptible = True

    def __init__(self):
        self.calls = []

    def __call__(self, call):
        self.calls.append(call)
        return ["x"]


@pytest.mark.parametrize(
    ("limits", "seconds", "interrupted", "limit"),
    [
        ({"cell_seconds": 0.4}, None, False, "limits.cell_seconds"),
        ({}, 0.4, False, "limits.cell_seconds"),
        ({"run_seconds": 0.4}, None, False, "limits.run_seconds"),
        ({"cell_cpu_seconds": 0.2}, None, False, "limits.cell_cpu_seconds"),
        ({}, None, True, "interrupt"),
    ],
)
def test_nobody_is_asked_for_a_cell_whose_time_is_over(limits, seconds, interrupted, limit):
    with unscreened(policy=strict(**limits, grace_seconds=60.0)) as box:
        session, asked = box._session, Asked()
        timer = threading.Timer(0.2, session.interrupt)
        if interrupted:
            timer.start()
        result = session.execute(LATE, asked, seconds=seconds)
        assert (result.stdout, asked.calls) == ("the run was stopped\n" * 2, [])
        assert isinstance(result.error, CellTimeout) and result.error.limit == limit
        assert session._tool_calls == 0 and session.alive


@pytest.mark.parametrize("said", [1, 2**53])
def test_a_worker_held_no_more_than_it_could_whatever_it_says(said):
    with unscreened(policy=strict()) as box:
        limits = box._session._policy.limits
        honest = box.run("x = 'x' * (64 << 20)").peak_bytes
        assert 64 << 20 < honest < limits.memory_bytes + 4 * limits.context_bytes
        says = "import gc\n[Worker] = {type(found) for found in gc.get_objects() if hasattr(type(found), '_checkpoint')}\n"
        says += f"Honest = Worker._exec\nWorker._exec = lambda self, request: {{**Honest(self, request), 'peak': {said}}}"
        assert box.run(says).error is None
        assert box.run("x").peak_bytes == min(said, limits.memory_bytes + 4 * limits.context_bytes + (256 << 20))


@pytest.mark.parametrize("name", ["_assign", "_context"])
def test_a_request_that_runs_no_cell_names_its_own_limit(name):
    with unscreened(policy=strict(start_seconds=3.0)) as box:
        stuck = "import gc, time\n[Worker] = {type(found) for found in gc.get_objects() if hasattr(type(found), '_checkpoint')}\n"
        assert box.run(stuck + f"Worker.{name} = lambda self, request: time.sleep(600)").error is None
        with pytest.raises(CellTimeout, match=r"runs no cell took longer than .* 3 s \(limits.start_seconds\)") as raised:
            box._session.assign("x", 1) if name == "_assign" else box._session.load_context("x", "")
        assert raised.value.limit == "limits.start_seconds"
