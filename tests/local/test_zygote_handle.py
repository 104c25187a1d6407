"""The host's handle on a zygote that lacks something, answers nothing, or says what cannot be read."""

from __future__ import annotations

import contextlib
import errno
import gc
import json
import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from rlm_secure.environments.local import cgroup, listener, pidfd, pool, startup
from rlm_secure.environments.local import zygote as zygotes
from rlm_secure.environments.local.prefork import ProcessSetup
from rlm_secure.environments.local.process import SessionProcess
from rlm_secure.environments.replay import begin
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.policy import load_policy
from tests.local.kernels import in_child, refuse

pytestmark = pytest.mark.timeout(300)
#: Of a session that waits for its first cell: without these limits it would end at once.
BEGIN = {"op": "begin", "modules": [], "tools": [], "screen": True} | dict.fromkeys(
    ("source_bytes", "ast_nodes", "stdout_bytes", "value_bytes", "result_bytes"), 1 << 16
)
SETUP = ProcessSetup("worker", {"NPROC": 0}, json.dumps(BEGIN), None)


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))


def said(what: Callable[[zygotes.Zygote], Any], *refused: tuple[Any, ...]) -> str:
    """What comes of it with a zygote of a child's own, on a kernel that refuses these calls; it leaves no descriptor."""

    def body() -> object:
        source = zygotes.Zygote(zygotes.Plan())
        before = descriptors()
        try:
            what(source)
        except (EnvironmentUnavailable, TypeError) as error:
            assert descriptors() <= before
            return error
        finally:
            source.close()
        return None

    return in_child(body, *refused)


def test_a_kernel_without_pidfds_has_no_local_sessions() -> None:
    assert said(lambda source: source.spawn(SETUP), (434, errno.ENOSYS)) == "the zygote could not start a session: no pidfd"


def test_a_session_that_dies_before_it_is_told_anything_is_an_error() -> None:
    def breaks(source: zygotes.Zygote) -> None:
        refuse(("sendto", errno.EPIPE, (2, "GT", 40)))  # all but a request of the zygote
        source.spawn(SETUP)

    assert said(breaks) == "a session died before it began: [Errno 32] Broken pipe"


def test_a_session_that_cannot_be_told_what_it_is_for_is_ended() -> None:
    untold = ProcessSetup("worker", {"NPROC": object()}, "{}", None)
    assert said(lambda source: source.spawn(untold)) == "Object of type object is not JSON serializable"


def test_a_zygote_that_stands_still_is_given_up_and_killed() -> None:
    def stops(source: zygotes.Zygote) -> None:
        os.kill(source._process.pid, signal.SIGSTOP)
        for child in map(int, open(f"/proc/{source._process.pid}/task/{source._process.pid}/children").read().split()):
            os.kill(child, signal.SIGSTOP)
        try:
            source._ask({"op": "status", "pid": 1}, seconds=0.05)
        finally:
            source.close()
            assert source._process.returncode == -signal.SIGKILL

    assert said(stops) == "the zygote did not answer within 0.05 s"


def test_who_asks_waits_no_longer_than_was_said() -> None:
    source = zygotes.Zygote.__new__(zygotes.Zygote)
    source._lock, source._asking = threading.RLock(), False
    source._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs, source._control, pytest.raises(EnvironmentUnavailable, match="did not answer within 0.01 s"):
        source._ask({}, seconds=0.01)
    assert not source._asking


def test_a_zygote_that_ends_before_it_answers_is_gone() -> None:
    source = zygotes.Zygote.__new__(zygotes.Zygote)
    source._lock, source._asking = threading.RLock(), False
    source._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def read_and_end() -> None:
        with theirs:
            theirs.recv(1000)

    reading = threading.Thread(target=read_and_end)
    reading.start()
    with source._control, pytest.raises(EnvironmentUnavailable, match="^the zygote is gone: it closed its socket$"):
        source._ask({})
    reading.join()
    assert not source._asking and source._retired


def test_who_is_asked_while_it_is_asked_by_the_same_thread_says_so() -> None:
    source = zygotes.Zygote.__new__(zygotes.Zygote)
    source._lock, source._asking = threading.RLock(), True
    with pytest.raises(EnvironmentUnavailable, match="asked something else"):
        source._ask({})
    assert source._asking


def test_a_zygote_that_does_not_answer_knows_nobody_s_end() -> None:
    source = zygotes.Zygote.__new__(zygotes.Zygote)
    source._lock, source._asking = threading.RLock(), True
    assert source.status(1) is None


def test_what_comes_with_an_answer_that_cannot_be_read_is_closed() -> None:
    def confuses(source: zygotes.Zygote) -> None:
        control = source._control
        source._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with control, theirs:
            socket.send_fds(theirs, [b"{"], [0, 0])
            try:
                source._ask({"op": "fork"})
            finally:
                source._control.close()
                source._control = control

    assert said(confuses).startswith("the zygote is gone: the sandbox broke the protocol")


def blank(source: zygotes.Zygote) -> SessionProcess:
    process = source._preforked._blank
    assert process is not None
    return process


def test_the_first_session_is_the_process_that_was_forked_while_the_walls_were_tested() -> None:
    def body() -> object:
        grouped = isinstance(cgroup.parents(os.getpid()), cgroup.Parents)
        with contextlib.closing(zygotes.Zygote(zygotes.Plan(rlimits=False))) as source:
            assert blank(source).group is None, "nobody limits it"
        with contextlib.closing(zygotes.Zygote(zygotes.Plan())) as source:
            expected = blank(source)
            assert (expected.group is not None) is grouped
            first, second = source.spawn(SETUP), source.spawn(SETUP)
            assert first is expected and second.pid != first.pid
            for process in (first, second):
                process.end()
        return True

    assert in_child(body) == "True"


def test_a_first_session_that_died_before_it_was_wanted_is_replaced() -> None:
    def body() -> object:
        before = descriptors()
        with contextlib.closing(zygotes.Zygote(zygotes.Plan())) as source:
            blank(source).kill()
            assert pidfd.ended(blank(source).pidfd, 10)
            process = source.spawn(SETUP)
            assert process.alive()
            process.end()
        return descriptors() - before

    assert in_child(body) == "0"


@pytest.mark.parametrize("leave", [zygotes.Zygote.close, zygotes.Zygote.retire, zygotes.Zygote.forget])
def test_a_first_session_that_nobody_wanted_ends_with_its_zygote(leave: Callable[[zygotes.Zygote], None]) -> None:
    def body() -> object:
        before = descriptors()
        source = zygotes.Zygote(zygotes.Plan())
        process = os.dup(blank(source).pidfd)
        pid = source._process.pid
        leave(source)
        assert pidfd.ended(process, 10)
        os.close(process)
        if leave is zygotes.Zygote.forget:
            os.waitpid(pid, 0)
        return descriptors() - before

    assert in_child(body) == "0"


@pytest.mark.parametrize("error", [KeyboardInterrupt, EnvironmentUnavailable])
def test_a_zygote_that_does_not_come_up_leaves_nothing_of_its_first_session(error: type[BaseException]) -> None:
    def body() -> object:
        keep, kept = zygotes.Zygote._keep_first, []

        def breaks(source: zygotes.Zygote, *answer: Any) -> None:
            keep(source, *answer)
            kept.append(os.dup(blank(source).pidfd))
            raise error("the zygote did not answer within 60 s")

        before = descriptors()
        zygotes.Zygote._keep_first = breaks  # type: ignore[method-assign]
        try:
            zygotes.Zygote(zygotes.Plan())
        except (KeyboardInterrupt, EnvironmentUnavailable) as raised:
            assert isinstance(raised, error)
        assert pidfd.ended(kept[0], 10)
        os.close(kept[0])
        return descriptors() - before

    assert in_child(body) == "0"


def test_a_zygote_that_nobody_got_ends_at_once_with_its_first_session() -> None:
    """As where Ctrl-C comes behind its start: no collection is waited for."""

    def body() -> object:
        before = descriptors()
        gc.disable()
        source = zygotes.Zygote(zygotes.Plan())
        ends = [os.pidfd_open(source._process.pid), os.dup(blank(source).pidfd)]
        del source
        for end in ends:
            assert pidfd.ended(end, 10)
            os.close(end)
        return descriptors() - before

    assert in_child(body) == "0"


def test_a_first_session_that_is_prepared_for_another_keeps_its_group() -> None:
    def body() -> object:
        if isinstance(cgroup.parents(os.getpid()), str):
            return True
        setup = ProcessSetup("worker", {"NPROC": 0}, "null", cgroup.CgroupBounds(1 << 29, 4, 1.0))
        with contextlib.closing(zygotes.Zygote(zygotes.Plan())) as source:
            group = blank(source).group
            for _ in range(2):
                assert source._preforked.take(setup) is None
            process = source._preforked.prepare(source)
            assert process is not None and process.group is group and process.bounded
        return True

    assert in_child(body) == "True"


@pytest.mark.parametrize("gives_up", [KeyboardInterrupt, EnvironmentUnavailable])
def test_an_answer_that_nobody_waits_for_any_more_is_not_taken_for_the_next(gives_up: type[BaseException]) -> None:
    """Every later one would be one too late: of another session's end, or process."""

    class Impatient:
        def register(self, *_: object) -> None: ...

        def poll(self, _: float) -> list[Any]:
            raise gives_up

    def body() -> object:
        source = zygotes.Zygote(zygotes.Plan())
        source.spawn(SETUP).end()  # the one that came with the walls, for which nobody has to ask
        before, patient = descriptors(), select.poll
        select.poll = Impatient  # type: ignore[assignment, misc]
        with contextlib.suppress(gives_up):
            source.spawn(SETUP)
        select.poll = patient  # type: ignore[misc]
        with contextlib.closing(source):
            process = source.spawn(SETUP)
            process.kill()
            assert pidfd.ended(process.pidfd, 10)
            status = source.status(process.pid)
            process.end()
            return status, descriptors() - before

    # Killed; or ended by itself before that, as it does where so little of its limits is said.
    assert in_child(body) in ("(9, 0)", f"({70 << 8}, 0)")


def test_ctrl_c_after_any_call_of_a_question_leaves_a_zygote_that_answers() -> None:
    """Python handles a signal after a call of C's, whatever that has done: an answer may be read, and not yet noted."""

    def body() -> object:
        source = zygotes.Zygote(zygotes.Plan())
        with contextlib.closing(source):
            for calls in range(1000):
                left = calls

                def interrupts(_frame: FrameType, event: str, _argument: object) -> None:
                    nonlocal left
                    if event == "c_return":
                        left -= 1
                        if left < 0:
                            raise KeyboardInterrupt

                try:
                    sys.setprofile(interrupts)
                    source._ask({"op": "status", "pid": 1})
                    return calls > 10
                except KeyboardInterrupt:
                    pass
                finally:
                    sys.setprofile(None)
                answer, _ = source._ask({"op": "status", "pid": 1}, seconds=10)
                assert answer["status"] is None
        return None

    assert in_child(body) == "True"


def test_what_is_prepared_and_not_wanted_leaves_no_descriptor() -> None:
    def body() -> object:
        policy = load_policy("strict")
        spec = pool.WorkerSpec(zygotes.Plan(), policy.limits, True, True, json.dumps(begin(policy, None, screen=True)), 9)
        pool.fork_worker(spec).discard()
        before = descriptors()
        for _ in range(6):
            pool.fork_worker(spec).discard()
        return descriptors() - before <= 2  # those of the process that the zygote has ready, or has not yet

    assert in_child(body) == "True"


def test_where_the_interpreters_library_lies_is_told_to_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LD_LIBRARY_PATH", "/opt/python/lib")
    assert startup.environment()["LD_LIBRARY_PATH"] == "/opt/python/lib"
    monkeypatch.delenv("LD_LIBRARY_PATH")
    assert "LD_LIBRARY_PATH" not in startup.environment()


def test_a_listener_is_closed_once() -> None:
    number = os.open("/dev/null", os.O_RDONLY)
    held = listener.Listener(number)
    held.close()
    another = os.open("/dev/null", os.O_RDONLY)
    assert another == number
    held.close()
    os.close(another)


def test_whether_it_has_ended_is_asked_without_a_pidfd_where_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    source = zygotes.Zygote(zygotes.Plan())

    def ends_meanwhile(_pid: int) -> int:
        source._process.kill()
        return os.open("/nowhere", os.O_RDONLY)

    try:
        monkeypatch.setattr(zygotes.os, "pidfd_open", lambda _pid: os.open("/nowhere", os.O_RDONLY))
        assert not source._ended(0.01)
        monkeypatch.setattr(zygotes.os, "pidfd_open", ends_meanwhile)
        assert source._ended(10)
    finally:
        monkeypatch.undo()
        source.close()
