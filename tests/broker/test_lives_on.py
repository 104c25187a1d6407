"""What a supervisor does with failures that nothing brings about at will: no memory here, no room in the kernel there."""

from __future__ import annotations

import contextlib
import errno
import os
import resource
import select
import socket
import time
from typing import Any

import pytest

from rlm_secure.broker.client import Declined
from rlm_secure.environments.remote.contexts import Contexts
from rlm_secure.guest.supervisor import http, server, supervisor, worker_link, zygote_link
from tests.broker.test_supervisor import CONFIG, NoZygote, asking, driven, exchanging, framed, request


def fails(error: BaseException) -> Any:
    def failing(*_: object, **__: object) -> Any:
        raise error

    return failing


SHORT = OSError(errno.EMFILE, os.strerror(errno.EMFILE))


@pytest.mark.parametrize("error", [MemoryError(), SHORT, RuntimeError("\x1b[2J")], ids=repr)
def test_a_route_that_fails_is_a_refusal_and_is_repeated_as_one(error: BaseException, monkeypatch) -> None:
    alone = supervisor.Supervisor(dict(CONFIG), NoZygote(), {})  # type: ignore[arg-type]
    monkeypatch.setitem(alone._routes, "GET /health", fails(error))
    asked = request(1, "GET", "/health")
    for _ in range(2):
        with pytest.raises(server.HttpError) as refused:
            alone._handle(None, asked)  # type: ignore[arg-type]
        assert (refused.value.status, refused.value.rule) == (500, "failed")
        assert str(refused.value).isprintable()
    monkeypatch.undo()
    assert alone._handle(None, request(2, "GET", "/health"))[0] == 200  # type: ignore[arg-type,index]


def test_turns_that_fail_are_followed_by_others_until_there_are_too_many(monkeypatch) -> None:
    config = {**CONFIG, "watch_stdin": False, "supervisor": {}}
    alone = supervisor.Supervisor(config, NoZygote(), {})  # type: ignore[arg-type]
    monkeypatch.setattr(supervisor.privileges, "drop", lambda *_, **__: {})
    monkeypatch.setattr(supervisor.os, "kill", lambda *_: None)
    monkeypatch.setattr(supervisor, "_SHORT_SECONDS", 0.0)
    turns = iter([MemoryError(), SHORT, None])

    def turn() -> None:
        error = next(turns)
        if error is not None:
            raise error
        alone._running = False

    monkeypatch.setattr(alone, "_turn", turn)
    alone.serve()
    alone._running = True
    monkeypatch.setattr(alone, "_turn", fails(SHORT))
    with pytest.raises(SystemExit, match="no turn was done 200 times in a row: OSError EMFILE"):
        alone.serve()


def test_its_input_that_cannot_be_read_is_its_end_but_for_a_moment(monkeypatch) -> None:
    alone = supervisor.Supervisor(dict(CONFIG), NoZygote(), {})  # type: ignore[arg-type]
    monkeypatch.setattr(supervisor.os, "read", fails(BlockingIOError()))
    alone._host_spoke(0)
    assert alone._running
    monkeypatch.setattr(supervisor.os, "read", fails(OSError(errno.EIO, "")))
    alone._host_spoke(0)
    assert not alone._running


def test_what_goes_wrong_with_a_connection_is_the_end_of_that_one(monkeypatch) -> None:
    with driven(lambda *_: (200, {})) as made:
        address = made.server.listen(["127.0.0.1", 0])
        with socket.create_connection(tuple(address)) as one, socket.create_connection(tuple(address)) as other:
            made.turn()
            made.turn()
            first, second = made.peers
            monkeypatch.setattr(first.reader, "receive", fails(MemoryError()))
            one.sendall(asking())
            while len(made.peers) > 1:
                made.turn()
            assert made.peers == [second] and made.server.refused == {"failed": 1}
            other.sendall(asking(2))
            made.turn()
            assert other.recv(12) == b"HTTP/1.1 200"
            monkeypatch.setattr(made.selector, "register", fails(SHORT))
            with socket.create_connection(tuple(address)) as third:
                made.turn()
                assert third.recv(1) == b"" and made.peers == [second]


def test_a_host_that_cannot_be_reached_for_lack_of_room_is_not_gone(tmp_path, monkeypatch) -> None:
    path = f"{tmp_path}/host"
    with driven(lambda *_: None) as made, socket.socket(socket.AF_UNIX) as host:
        host.bind(path)
        host.listen(8)
        made.server.keep_connected(path)
        with monkeypatch.context() as full:
            full.setattr(server.socket, "socket", fails(SHORT))
            made.server.tick(time.monotonic())
        assert not made.server.host_gone and made.peers == []
        made.server.tick(time.monotonic() + 1)
        assert made.peers


@pytest.mark.parametrize("error", [MemoryError(), OSError(errno.ENOBUFS, "")], ids=repr)
def test_a_worker_to_whom_nothing_can_be_said_is_killed_as_one_that_did_nothing(error, monkeypatch) -> None:
    with exchanging() as (made, hatchery, turn):
        hatchery.theirs.send(framed(b'{"op":"ready"}'))
        turn()
        monkeypatch.setattr(made._worker, "send", fails(error))
        made.send_request(b"{}", None, None)
        assert made.state == "none" and made.event["end"]["said"] is None


@pytest.mark.parametrize("error", [SHORT, MemoryError()], ids=repr)
def test_a_worker_that_cannot_be_listened_to_is_not_begun(error, monkeypatch) -> None:
    with exchanging() as (made, hatchery, _):
        made.end()
        monkeypatch.setattr(made._selector, "register", fails(error))
        hatchery.process = type(hatchery.process)(["sleep", "60"])
        with pytest.raises((zygote_link.LinkError, MemoryError)):
            made.spawn({}, "worker", 1000)
        assert made.state == "none"
        assert hatchery.theirs.recv(1) == b""
        assert hatchery.process.wait(20) == -9


def test_a_worker_that_cannot_be_looked_at_is_not_begun(monkeypatch) -> None:
    with exchanging() as (made, hatchery, _):
        made.end()
        monkeypatch.setattr(worker_link.os, "open", fails(SHORT))
        hatchery.process = type(hatchery.process)(["sleep", "60"])
        with pytest.raises(zygote_link.LinkError, match="cannot be looked at"):
            made.spawn({}, "worker", 1000)
        assert hatchery.process.wait(20) == -9


@pytest.fixture
def zygote() -> Any:
    made = zygote_link.ZygoteLink.__new__(zygote_link.ZygoteLink)
    made._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made._errors, writer = os.pipe()
    made.walls, made.details, made._answers_due = {}, {}, 1  # it is to boot
    with made._control, theirs:
        yield made, theirs
    os.close(made._errors)
    os.close(writer)


@pytest.mark.parametrize("said", [b"[]", b'{"walls":[]}', b'{"walls":{},"details":1}', b"[" * 2000, b"{}"])
def test_a_zygote_that_says_no_walls_did_not_boot(zygote, said: bytes) -> None:
    made, theirs = zygote
    os.set_blocking(made._errors, False)
    theirs.send(said)
    with pytest.raises(zygote_link.LinkError):
        made.boot()


def test_a_signal_for_which_there_is_no_room_is_tried_again_and_then_the_end(zygote, monkeypatch) -> None:
    made, theirs = zygote
    made._answers_due = 0
    monkeypatch.setattr(zygote_link, "_SHORT_SECONDS", 0.0)
    tried = []
    kernel = socket.send_fds

    def send(*arguments: Any) -> int:
        tried.append(1)
        if len(tried) < 3:
            raise OSError(errno.ENOBUFS, "")
        return kernel(*arguments)

    monkeypatch.setattr(socket, "send_fds", send)
    theirs.send(b"{}")
    made.signal(7, 9)
    assert len(tried) == 3
    monkeypatch.setattr(socket, "send_fds", fails(OSError(errno.ENOBUFS, "")))
    with pytest.raises(SystemExit, match="nobody else can stop its worker"):
        made.signal(7, 9)


def test_a_context_that_cannot_be_dropped_keeps_its_number() -> None:
    class Client:
        refuses = True

        def upload(self, *_: object, **__: object) -> None:
            pass

        def drop(self, *_: object, **__: object) -> None:
            if self.refuses:
                raise Declined(500, "failed", "no")

    class Lease:
        client = Client()
        rooms: list[int] = []

        def make_room(self, size: int) -> None:
            self.rooms.append(size)

        def stored(self, data: memoryview) -> None:
            return None

    contexts = Contexts(Lease())  # type: ignore[arg-type]
    first = contexts.send(memoryview(b"x" * 5000), None, seconds=1)
    contexts.bind("history", first)
    contexts.keep([])
    assert contexts.send(memoryview(b""), None, seconds=1).number == 1
    Lease.client.refuses = False
    contexts.keep([])
    assert contexts.send(memoryview(b"x"), None, seconds=1).number == 0
    assert Lease.rooms == [8192, 8192, 8192 + 4096]


def test_what_goes_wrong_with_a_worker_that_has_ended_changes_nothing() -> None:
    with exchanging() as (made, _, _):
        ended = made._worker
        made.end()
        with made._reaped_on_error(ended):
            raise MemoryError
        assert made.state == "none" and made.event is None


def test_who_cannot_be_accepted_costs_a_stranger_its_place_and_waits() -> None:
    with driven(lambda *_: None) as made:
        address = made.server.listen(["127.0.0.1", 0])
        with socket.create_connection(tuple(address)) as stranger:
            made.turn()
            with socket.create_connection(tuple(address)) as other:
                before = resource.getrlimit(resource.RLIMIT_NOFILE)
                resource.setrlimit(resource.RLIMIT_NOFILE, (3, before[1]))
                try:
                    made.turn()
                finally:
                    resource.setrlimit(resource.RLIMIT_NOFILE, before)
                assert stranger.recv(1) == b"" and made.peers == []
                made.turn(0)
                assert made.peers == []  # nobody listens for a while: it would be asked without an end
                made.server.tick(time.monotonic() + 10)
                made.turn()
                assert len(made.peers) == 1
                other.close()


def test_of_too_many_connections_the_one_that_rests_longest_goes() -> None:
    with driven(lambda *_: (200, {})) as made, contextlib.ExitStack() as clients:
        address = made.server.listen(["127.0.0.1", 0])
        for number in range(server.MAX_CONNECTIONS):
            client = clients.enter_context(socket.create_connection(tuple(address)))
            client.sendall(asking(number + 1))
            while not select.select([client], [], [], 0)[0]:
                made.turn()
            assert client.recv(12) == b"HTTP/1.1 200"
        first = made.peers[0]
        clients.enter_context(socket.create_connection(tuple(address)))
        made.turn()
        assert len(made.peers) == server.MAX_CONNECTIONS and first not in made.peers


@pytest.mark.parametrize(("what", "said"), [("read", b""), ("answered", b"HTTP/1.1 507")])
def test_a_request_without_memory_is_answered_or_ends_its_connection(what: str, said: bytes, monkeypatch) -> None:
    with driven(lambda *_: (200, {})) as made:
        address = made.server.listen(["127.0.0.1", 0])
        with socket.create_connection(tuple(address)) as client:
            made.turn()
            (peer,) = made.peers
            if what == "read":
                monkeypatch.setattr(peer.reader, "next", fails(MemoryError()))
            else:
                answers = iter([fails(MemoryError()), http.answer])
                monkeypatch.setattr(server.http, "answer", lambda *given: next(answers)(*given))
            client.sendall(asking())
            made.turn()
            assert client.recv(12) == said


def test_a_zygote_that_cannot_be_heard_is_not_taken_for_one_that_is_gone(zygote, monkeypatch) -> None:
    made, theirs = zygote
    theirs.send(b"{}")
    with monkeypatch.context() as full:
        full.setattr(zygote_link.socket, "recv_fds", fails(OSError(errno.ENOMEM, "")))
        with pytest.raises(zygote_link.LinkError, match="cannot be heard") as failed:
            made._receive(1.0)
    assert type(failed.value) is zygote_link.LinkError
    assert made._receive(1.0) == ({}, [])


def test_a_worker_that_died_before_it_was_told_anything_leaves_no_descriptor(zygote) -> None:
    made, theirs = zygote
    made._answers_due, made._uid = 0, os.getuid()
    ours, gone = socket.socketpair()
    reader, writer = os.pipe()
    gone.close()
    with ours:
        socket.send_fds(theirs, [b'{"pid":7}'], [ours.fileno(), writer])
    os.close(writer)
    with pytest.raises(zygote_link.LinkError, match="died before it began"):
        made.fork({}, "worker")
    assert os.read(reader, 1) == b""  # nobody has the other end
    os.close(reader)


def test_a_worker_whose_number_or_queue_the_kernel_does_not_tell(monkeypatch) -> None:
    with exchanging() as (made, _, _):
        worker = made._worker
        with monkeypatch.context() as another, open(os.devnull, "rb") as no_process:
            another.setattr(worker, "pidfd", no_process.fileno())
            assert worker._pid_here() == 0
        monkeypatch.setattr(worker_link.fcntl, "ioctl", fails(OSError(errno.ENOTTY, "")))
        assert worker.has_unread_requests() is False
