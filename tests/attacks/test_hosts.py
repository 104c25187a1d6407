"""Whatever becomes of a host of somebody else's sessions, it is killed in time, and the next one is another."""

from __future__ import annotations

import contextlib
import os
import resource
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from rlm_secure.testing import foreign
from rlm_secure.testing.foreign import ForeignGround
from rlm_secure.testing.session import HostDied, HostLate, SessionFailed
from rlm_secure.testing.target import Target
from tests.attacks.cells import BOUNDS, gone, named, opened, said

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
        session.run(code, 0.3)
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
    said(program(), "import builtins, os; builtins.ascii = None; os.environ['x'] = 'y'; os.chdir('/')")
    assert program().run("ascii(1)").error is not None
    before = program().host.pid
    program.begin()
    assert program().host.pid != before
    assert said(program(), "import os; print(ascii(3), os.environ.get('x'), os.getcwd() == '/')") == "3 None False\n"


@pytest.mark.root
def test_what_is_mounted_is_seen_at_the_host_and_gone_with_it(program, target):
    inbox = f"{target.directory}/inbox"
    code = "import ctypes\nprint(ctypes.CDLL(None).mount(b'tmpfs', {!r}, b'tmpfs', 0, None))"
    host = (session := program()).host
    assert said(session, code.format(os.fsencode(inbox))) == "0\n"
    assert (target.mounted(), target.mounted(host)) == ([], [inbox])
    program.begin()
    assert (target.mounted(host), target.mounted(program().host)) == ([], [])  # the first is nobody's pid by now


def test_what_it_says_is_cut_and_of_no_other_kind(program):
    session = program()
    assert len(said(session, "print('\\xe9' * (5 << 20))")) == 2 << 20
    said(session, "session.run = lambda code, timeout: ([[1]], None, 7)")
    result = session.run("1")
    assert (result.stdout, result.stderr, str(result.error)) == ("[[1]]", "None", "7")


def test_programs_side_by_side(target):
    with contextlib.ExitStack() as stack:
        targets = [stack.enter_context(Target()) for _ in range(4)]
        ground = stack.enter_context(contextlib.closing(ForeignGround(named("Cells"), BOUNDS)))
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


def test_a_program_that_names_a_process_of_others_is_not_believed(program, monkeypatch):
    """The judge would look at that one, and end it."""
    assert [foreign._parent(number) for number in (-5, 1 << 22)] == [0, 0]
    assert foreign._parent(os.getpid()) == os.getppid()
    monkeypatch.setattr(foreign, "_parent", lambda pid: 1)
    with pytest.raises(SessionFailed, match="none of its own"):
        program.begin()
