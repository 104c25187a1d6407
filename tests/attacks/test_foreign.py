"""Sessions of somebody else's: whatever their host does, it is killed in time, and the next one is another."""

from __future__ import annotations

import contextlib
import io
import json
import os
import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psutil
import pytest

from rlm_secure.guarantees import Guarantee
from rlm_secure.testing import Adapter, Said, corpus
from rlm_secure.testing.corpus import Layer, Need
from rlm_secure.testing.foreign import Abilities, Ground
from rlm_secure.testing.judge import HostDied, HostLate, SessionFailed
from rlm_secure.testing.target import Bounds, Target, prelude_cell

BOUNDS = Bounds(seconds=0.3, grace=0.1)


class Cells(Adapter):
    """Plain exec(), like examples/adapters/plain.py."""

    def __init__(self):
        self.names = {"session": self}

    def run(self, code, timeout):
        if code == "raise in the adapter":
            raise RuntimeError("out of \ud800 order")
        if code == "return in the adapter":
            return "one"
        out, error = io.StringIO(), None
        with contextlib.redirect_stdout(out):
            try:
                exec(code, self.names if self.keeps_state else dict(self.names))
            except Exception as raised:
                error = repr(raised)
        return Said(out.getvalue(), "", error)

    def limit(self, limits):
        self.names["limits"] = limits

    def load_context(self, context):
        self.names["context"] = context

    def close(self):
        os.write(1, b"closed")


class Forgets(Cells):
    keeps_state = False


class Answers(Cells):
    """Has what a session for language models has, and no modules."""

    def __init__(self):
        self.names = {"answer": {"content": ""}, "llm_query": print, "__builtins__": {"print": print}}


class Silent(Cells):
    def run(self, code, timeout):
        return Said()


class NeverStarts(Cells):
    def __init__(self):
        raise OSError("there is no such sandbox")


def something_else():
    return object()


def named(kind):
    return f"{__name__}:{kind}"


@pytest.fixture(scope="module")
def target():
    with Target() as made:
        yield made


@pytest.fixture(scope="module")
def ground(target):
    made = Ground(named("Cells"), BOUNDS)
    yield made
    made.close()


@pytest.fixture
def program(ground, target):
    """What opens sessions in a host that is new for each test."""
    found = ground.opener(target)
    found.begin()
    return found


@contextlib.contextmanager
def opened(target, kind):
    ground = Ground(kind, BOUNDS)
    try:
        yield ground.opener(target)
    finally:
        ground.close()


def said(session, code):
    result = session.run(code)
    assert result.error is None, result.error
    return result.stdout


def gone(pid):
    deadline = time.monotonic() + 5
    while psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


# -- what a session is given ------------------------------------------------------------------------


def test_names_stay_and_sessions_are_apart(program):
    one, other = program(), program()
    said(one, "x = 1")
    assert said(one, "print(x)") == "1\n"
    assert other.run("print(x)").error is not None
    assert (one.report.environment, tuple(one.report.walls)) == ("foreign", ())


def test_a_session_without_state_is_told_the_first_cell_each_time(target):
    with opened(target, named("Forgets")) as program:
        session = program()
        said(session, "x = [1]")
        assert said(session, "x += [2]; print(x)") == "[1, 2]\n"
        assert said(session, "x += [3]; print(x)") == "[1, 3]\n"


def test_limits_context_and_the_end_reach_the_adapter(program):
    session = program()
    assert said(session, "print(list(limits))") == f"{[BOUNDS.seconds, BOUNDS.memory_bytes, BOUNDS.stdout_bytes]}\n"
    assert said(session, "print(context[:9])") == "the quick\n"
    session.close()
    assert session.spilled() == "closed"
    session.close()


def test_the_secrets_are_in_its_host(program, target):
    session = program()
    known = target.facts("", BOUNDS, session.host)
    said(session, prelude_cell(known) + "import ctypes, os")
    assert known["host"] == int(said(session, "print(os.getpid())")) != os.getpid()
    for place, code in {
        "variable": "open('/proc/self/environ').read()",
        "memory": "ctypes.string_at(TARGET['address'], TARGET['length'])",
        "descriptor": "os.pread(TARGET['fd'], 100, 0)",
        "file": "open(TARGET['link']).read()",
    }.items():
        assert target.leaked(said(session, f"print({code})")) == [place]


def test_its_host_has_no_descriptor_of_ours(program):
    """Attacks on descriptor 3 mean our worker's channel."""
    found = said(program(), "import os; print(sorted(n for n in map(int, os.listdir('/proc/self/fd')) if n < 200))")
    assert 3 not in json.loads(found)[3:] or os.readlink("/proc/self/fd/3").startswith("/memfd")
    links = said(
        program(), "import os; print([os.readlink(f'/proc/self/fd/{n}') for n in %s if n > 2])" % found[:-2] + "]"
    )
    assert "socket" not in links


def test_what_it_writes_past_its_capture_is_seen_once(program):
    session = program()
    said(session, "import os; os.write(1, b'to one'); os.write(2, b'to two \\xff'); os.system('echo child')")
    assert session.spilled() == "to oneto two \ufffdchild\n"
    program.begin()
    assert program().spilled() == ""


@pytest.mark.parametrize("where", ["x = b'x' * (80 << 20)", """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "x = b'x' * (80 << 20); print(flush=True); input()"], stdin=-1, stdout=-1)
child.stdout.readline()"""])  # fmt: skip
def test_what_its_host_and_children_hold_is_seen(program, where):
    session = program()
    before = session.held_bytes()
    said(session, where)
    assert (session.held_bytes() - before) >> 20 in range(78, 110)


# -- what becomes of a host -------------------------------------------------------------------------

SOCKET = """
import os, signal, stat, time
fd = max(n for n in map(int, os.listdir("/proc/self/fd")) if os.path.exists(f"/proc/self/fd/{n}") and stat.S_ISSOCK(os.fstat(n).st_mode))
def say(*data):
    for each in data:
        while each:
            each = each[os.write(fd, each):]
    time.sleep(60)
"""
UNREADABLE = "says what cannot be read"
DEATHS = {
    "killed": ("os.kill(os.getpid(), 9)", "died of SIGKILL"),
    "aborted": ("os.abort()", "died of SIGABRT"),
    "exit": ("os._exit(3)", "ended with status 3"),
    "SystemExit": ("raise SystemExit", "ended with status 0"),
    "parent killed": ("os.kill(os.getppid(), 9); time.sleep(60)", "is gone, and so is its parent"),
    "hangs up and stays": ("os.closerange(3, 1000); time.sleep(60)", "died of SIGKILL"),
    "dies with an heir": ("os.fork() and os._exit(3); time.sleep(60)", "ended with status 3"),
    "huge frame": ("say(b'\\xff' * 9)", UNREADABLE),
    "no JSON": ("say(b'\\0\\0\\0\\5hello')", UNREADABLE),
    "no UTF-8": ("say(b'\\0\\0\\0\\3\"\\xff\"')", UNREADABLE),
    "a list": ("say(b'\\0\\0\\0\\2[]')", UNREADABLE),
    "deep": ("say(b'\\0\\1\\0\\0' + b'[' * 65536)", UNREADABLE),
    "endless output": ("while True: os.write(1, b'x' * 65536)", UNREADABLE),
}


@pytest.mark.parametrize("way", DEATHS)
def test_a_host_that_ends_or_babbles_is_dead_and_the_next_one_works(program, way):
    code, evidence = DEATHS[way]
    session = program()
    said(session, SOCKET)
    before, started = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss, time.monotonic()
    with pytest.raises(HostDied, match=evidence):
        session.run(code, 5)
    assert time.monotonic() - started < 5
    assert len(session.spilled()) <= 8 << 20
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 64 << 10, "KiB"
    with pytest.raises(HostDied):
        session.run("1", 5)
    session.close()
    program.begin()
    assert gone(session.host.pid)
    assert said(program(), "print(6 * 7)") == "42\n"


@pytest.mark.parametrize(
    "code", ["time.sleep(60)", "while True: pass", "say(b'\\0')", "say(b'\\0\\1\\0\\0' + b' ' * 99)"]
)
def test_a_host_that_does_not_answer_is_killed(program, code):
    session = program()
    said(session, SOCKET)
    with pytest.raises(HostLate, match="where 1.6 s were allowed"):
        session.run(code)
    assert gone(session.host.pid)


@pytest.mark.parametrize("ending", ["begin", "close"])
def test_children_that_got_away_are_killed(target, ending, tmp_path):
    with opened(target, named("Cells")) as program:
        session = program()
        said(session, SOCKET)
        code = "os.fork() == 0 and (os.setsid(), open({!r}, 'w').write(str(os.getpid()))); time.sleep(60)"
        with pytest.raises(HostLate):
            session.run("os.fork() and os._exit(0) if os.fork() == 0 else 0\n" + code.format(f"{tmp_path}/pid"), 0.1)
        pid = int((tmp_path / "pid").read_text())
        getattr(program, ending)()
        assert gone(pid)


def test_nothing_stays_from_one_attempt_to_the_next(program):
    said(program(), "import builtins, os; builtins.len = None; os.environ['x'] = 'y'; os.chdir('/')")
    assert program().run("len('')").error is not None
    before = program().host.pid
    program.begin()
    assert program().host.pid != before
    assert said(program(), "import os; print(len('abc'), os.environ.get('x'), os.getcwd() == '/')") == "3 None False\n"


def test_what_it_says_is_cut_and_of_no_other_kind(program):
    session = program()
    assert len(said(session, "print('\\xe9' * (5 << 20))")) == 2 << 20
    said(session, "session.run = lambda code, timeout: ([[1]], None, 7)")
    result = session.run("1")
    assert (result.stdout, result.stderr, str(result.error)) == ("[[1]]", "None", "7")


def test_programs_side_by_side(target):
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target()) for _ in range(4)]
        ground = Ground(named("Cells"), BOUNDS)
        stack.callback(ground.close)
        gate = threading.Barrier(4)

        def look(own):
            session = ground.opener(own)()
            gate.wait(60)
            return said(session, "print(open('/proc/self/environ').read())")

        with ThreadPoolExecutor(4) as pool:
            looks = list(pool.map(look, targets))
        for own, seen in zip(targets, looks, strict=True):
            assert [other for other in targets if other.leaked(seen)] == [own]
            assert ground.opener(own) is ground.opener(own)


# -- adapters that fail -----------------------------------------------------------------------------


def test_an_exception_of_the_adapter_is_told_with_its_trace(program):
    session = program()
    with pytest.raises(SessionFailed, match=r"the adapter raised RuntimeError: out of \\ud800 order") as failed:
        session.run("raise in the adapter")
    assert "in run\n" in failed.value.trace and failed.value.trace.isascii()
    with pytest.raises(SessionFailed, match="TypeError"):
        session.run("return in the adapter")
    assert said(session, "print(1)") == "1\n"


@pytest.mark.parametrize(
    ("kind", "evidence"),
    [
        (named("NeverStarts"), "the adapter raised OSError: there is no such sandbox"),
        (named("something_else"), "TypeError: object is no rlm_secure.testing.Adapter"),
        (named("nothing"), "cannot be imported: AttributeError"),
        (named("BOUNDS"), "TypeError: 'Bounds' object is not callable"),
        ("no.such:module", "cannot be imported: ModuleNotFoundError: No module named 'no'"),
        ("antigravity_:", "cannot be imported: ModuleNotFoundError"),
        (named("Silent"), "a cell that prints was run, and nothing came out"),
    ],
)
def test_what_is_no_adapter_is_said(target, kind, evidence):
    ground = Ground(kind, BOUNDS)
    try:
        with pytest.raises(SessionFailed, match=evidence):
            ground.abilities(target)
    finally:
        ground.close()


# -- what a session has -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("Cells", Abilities(True, frozenset({Need.CTYPES}))),
        ("Forgets", Abilities(True, frozenset({Need.CTYPES}))),
        ("Answers", Abilities(False, frozenset({Need.ANSWER, Need.LLM_QUERY}))),
    ],
)
def test_what_a_session_has_is_tried(target, kind, found):
    ground = Ground(named(kind), BOUNDS)
    try:
        assert ground.abilities(target) == found
    finally:
        ground.close()


def attack(layer, *needs):
    guarantee, harm = Guarantee.NO_HOST_FILES, corpus.Harm.HARMLESS
    return corpus.Attack("any", "Any.", guarantee, layer, corpus.Win.PRINTS, harm, ("",), frozenset(needs))


def test_what_it_lacks_is_said():
    bare, plain = Abilities(False, frozenset({Need.CTYPES})), Abilities(True, frozenset())
    assert plain.lacks(attack(Layer.KERNEL)) == bare.lacks(attack(Layer.BOTH, Need.CTYPES)) == ""
    assert bare.lacks(attack(Layer.KERNEL)).startswith("it is plain Python; `import os` was tried")
    assert plain.lacks(attack(Layer.KERNEL, Need.CTYPES, Need.ANSWER)).startswith(
        "it needs answer, ctypes; that was tried"
    )
    assert "the channel of our worker" in plain.lacks(attack(Layer.BOTH, Need.CHANNEL, Need.CTYPES))
