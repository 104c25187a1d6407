"""The supervisor's parts, one at a time: what is asked twice, too often, too late, or of a zygote that is gone."""

from __future__ import annotations

import contextlib
import errno
import hashlib
import json
import os
import select
import selectors
import signal
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import pytest

from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports.uds import UnixTransport
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.remote import start_configuration
from rlm_secure.environments.remote.session import UnfitImage
from rlm_secure.guest.kernel.leash import attach
from rlm_secure.guest.supervisor import server, supervisor, worker_link, zygote_link
from rlm_secure.guest.supervisor.exchange import Exchange
from rlm_secure.guest.supervisor.http import HttpError, SignedRequest
from tests.broker import support
from tests.broker.support import BUNDLE, Raw, environment, policy, raw_session, read_answer, session

CONFIG = {"key": "00" * 32, "context_bytes": 1000, "profiles": {"worker": None}, "idle_seconds": 60.0, "grace_seconds": 1.0}


@pytest.fixture
def raw() -> Iterator[Raw]:
    """One for each test: some of them end its session, or its supervisor."""
    with raw_session() as made:
        yield made


# -- a live one ---------------------------------------------------------------------------------------------------


def start(**changed: Any) -> bytes:
    options = {"limits": {"NPROC": 1, "NOFILE": [64, 64]}, "profile": "worker", "frame_bytes": 100_000}
    return json.dumps(options | changed).encode()


def test_a_session_is_started_once_and_with_what_there_is(raw) -> None:
    assert raw.ask("POST", "/session", start())[1]["rule"] == "session"
    assert raw.ask("DELETE", "/session")[0] == 200
    assert raw.ask("POST", "/execute", b'{"op":"exec"}')[1]["rule"] == "session"
    for changed, rule in (
        ({"profile": "none"}, "profile"),
        ({"frame_bytes": 1}, "fields"),
        ({"limits": {"NPROC": -1}}, "fields"),
        ({"limits": {"NOTHING": 1}}, "fields"),
        ({"limits": {"NPROC": [1, 2, 3]}}, "fields"),
    ):
        status, message = raw.ask("POST", "/session", start(**changed))
        assert (status, message["rule"]) == (422, rule)
    whole = raw.head("POST", "/session", start()) + start()
    first, again = raw.send(whole), raw.send(whole)
    assert first[0] == again[0] == 200
    assert first[1]["walls"] == again[1]["walls"]


def test_packages_that_the_zygote_cannot_import_are_told_in_one_sentence(monkeypatch) -> None:
    """As in an image that was made without them."""

    def asking_for_more(*values: Any, **options: Any) -> bytes:
        asked = json.loads(start_configuration(*values, **options))
        return json.dumps({**asked, "packages": {"names": ["of_another_image"], "paths": None}}).encode() + b"\n"

    monkeypatch.setattr(support, "start_configuration", asking_for_more)
    with pytest.raises(UnfitImage, match=r"No module named 'of_another_image'\); build one that"), session():
        pass


def test_a_worker_that_has_not_answered_is_not_asked_more(raw) -> None:
    body = json.dumps({"op": "exec", "code": "while True: pass"}).encode()
    status, message = raw.ask("POST", "/execute?wait=0", body)
    assert (status, message["worker"], message["pending"]) == (200, "busy", [])
    assert raw.ask("POST", "/execute", body)[1]["rule"] == "busy"
    assert raw.ask("GET", "/pending?wait=0.2")[1]["worker"] == "busy"
    assert raw.ask("POST", "/interrupt", b'{"grace_seconds":-1}')[1]["rule"] == "fields"
    assert raw.ask("POST", "/interrupt", b'{"grace_seconds":5}')[0] == 200
    assert raw.ask("GET", "/pending?wait=20")[1]["pending"][0]["stopped"] == "interrupt"


def test_a_worker_that_died_is_told_to_whoever_speaks_to_it_next(raw) -> None:
    lease = raw.session.lease
    worker = psutil.Process(lease.process.pid).children(recursive=True)[-1]
    worker.kill()
    deadline = time.monotonic() + 20
    while raw.ask("GET", "/health")[1]["worker"] != "none" and time.monotonic() < deadline:
        time.sleep(0.01)
    status, message = raw.ask("POST", "/execute?wait=1", b'{"op":"exec","code":"1"}')
    assert (status, message["pending"][0]["end"]["status"]) == (200, signal.SIGKILL)
    assert raw.ask("POST", "/respond", b'{"id":"1","response":{}}')[1]["rule"] == "unknown-id"


def test_a_worker_that_dies_while_its_call_is_answered_is_told(raw) -> None:
    worker = psutil.Process(raw.session.lease.process.pid).children(recursive=True)[-1]
    asked = raw.ask("POST", "/execute?wait=20", b'{"op":"exec","code":"llm_query(\'q\')"}')[1]["pending"][0]
    worker.kill()
    deadline = time.monotonic() + 20
    while raw.ask("GET", "/health")[1]["worker"] != "none" and time.monotonic() < deadline:
        time.sleep(0.01)
    body = json.dumps({"id": asked["id"], "response": {"value": "r"}}).encode()
    status, message = raw.ask("POST", "/respond?wait=1", body)
    assert (status, message["pending"][0]["end"]["status"]) == (200, signal.SIGKILL)


def test_what_comes_twice_is_done_once_and_noise_on_its_input_is_dropped(raw) -> None:
    process = raw.session.lease.process
    process.stdin.write(b"noise\n")
    process.stdin.flush()
    body = b'{"grace_seconds":5}'
    whole = raw.head("POST", "/interrupt", body) + body
    assert raw.send(whole) == raw.send(whole)
    assert raw.ask("POST", "/interrupt", body)[0] == 200
    assert raw.ask("POST", "/interrupt", b'{"grace_seconds":5,"more":1}')[1]["rule"] == "fields"
    assert raw.ask("GET", "/health")[0] == 200


def test_without_a_zygote_there_are_no_sessions_and_the_host_is_told_why(raw) -> None:
    family = psutil.Process(raw.session.lease.process.pid).children(recursive=True)
    for each in family:
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline and any(each.is_running() and each.status() != "zombie" for each in family):
        time.sleep(0.01)
    assert raw.ask("DELETE", "/session")[0] == 200
    status, message = raw.ask("POST", "/session", start())
    assert (status, message["rule"]) == (503, "zygote")
    assert "the zygote is gone" in message["error"]


def test_a_peer_whose_request_waits_is_released_with_what_it_sent_behind(raw) -> None:
    with raw.connect() as connection:
        connection.sendall(raw.head("GET", "/pending?wait=0.3") + raw.head("GET", "/health"))
        answers = b""
        while answers.count(b"HTTP/1.1 200 OK") < 2 or not answers.endswith(b"}"):
            data = connection.recv(65536)
            assert data, answers
            answers += data


# -- its start ------------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def supervising(*arguments: str, given: bytes = b"") -> Iterator[subprocess.Popen[bytes]]:
    unix = UnixTransport({BUNDLE: bundle().data})
    command = [sys.executable, "-I", "-S", "-B", "-X", "utf8", f"{unix.directory}/{BUNDLE}", "supervise", *arguments]
    streams = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen(command, env=environment(), **streams) as process:  # type: ignore[call-overload]
        try:
            with contextlib.suppress(BrokenPipeError):
                process.stdin.write(given)
                process.stdin.close()
            process.stdin = None
            yield process
        finally:
            process.kill()
            unix.close()


@pytest.mark.parametrize("given", [b"", b'{"key":', b"x" * 1_200_000], ids=["nothing", "a part", "too much"])
def test_without_a_configuration_it_ends_with_a_sentence(given: bytes) -> None:
    with supervising(given=given) as process:
        _, errors = process.communicate(timeout=120)
    assert process.returncode == 1
    assert errors == b"supervise: no configuration came on standard input\n"


def test_a_configuration_in_a_file_is_read_and_deleted(tmp_path: Path) -> None:
    path = tmp_path / "config"
    path.write_bytes(start_configuration(SessionKey(), policy(), listen=("127.0.0.1", 0), watch_stdin=False))
    with supervising(str(path)) as process:
        assert process.stdout is not None
        where = json.loads(process.stdout.readline())["listening"]
        assert where[0] == "127.0.0.1"
        assert not path.exists()
        with socket.create_connection(tuple(where)) as connection:
            connection.sendall(b"GET /health HTTP/1.1\r\n\r\n")
            assert read_answer(connection)[0] == 401


# -- alone ----------------------------------------------------------------------------------------------------------


class NoZygote:
    pid = 0
    walls: dict[str, list[str]] = {}
    details: dict[str, Any] = {}


@pytest.fixture
def alone() -> supervisor.Supervisor:
    """A supervisor that nobody started: its routes, without a worker."""
    return supervisor.Supervisor(dict(CONFIG), NoZygote(), {})  # type: ignore[arg-type]


@pytest.fixture
def peer() -> Iterator[server.Peer]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield server.Peer(ours, server.http.Reader(bytes(32), lambda *_: 1000))


def request(number: int, method: str, target: str, body: bytes = b"") -> SignedRequest:
    made = SignedRequest(method, target, number, hashlib.sha256(body).hexdigest(), f"{number:064}", len(body))
    made.body = bytearray(body)
    return made


def ask(one: supervisor.Supervisor, peer: server.Peer, asked: SignedRequest) -> Any:
    peer.request = asked
    return one._handle(peer, asked)


ENQUEUE = b'{"type":"single","prompt":"p"}'


def test_a_question_is_answered_to_who_asked(alone, peer, monkeypatch) -> None:
    told: list[tuple[int, dict[str, Any]]] = []
    monkeypatch.setattr(alone._server, "parked", lambda: [peer])
    monkeypatch.setattr(alone._server, "release", lambda _peer, status, message: told.append((status, message)))
    assert ask(alone, peer, request(1, "POST", "/enqueue", ENQUEUE)) is None
    _, events = ask(alone, peer, request(2, "GET", "/pending"))
    assert events["pending"] == [{"id": "q1", "request": {"type": "single", "prompt": "p"}}]
    assert ask(alone, peer, request(1, "POST", "/enqueue", ENQUEUE)) is None  # it came twice, and waits
    peer.request = request(1, "POST", "/enqueue", ENQUEUE)
    alone._handle(peer, request(3, "POST", "/respond", b'{"id":"q1","response":{"response":"r"}}'))
    assert told == [(200, {"response": "r"})]
    with pytest.raises(HttpError) as refused:  # the same question again, of somebody who lost the answer
        ask(alone, peer, request(1, "POST", "/enqueue", ENQUEUE))
    assert (refused.value.status, refused.value.rule) == (409, "answered")


def test_a_session_is_told_where_nobody_sees_what_its_worker_holds(alone, peer, monkeypatch) -> None:
    alone._zygote.walls = {"rlimits": ["full", "CORE 0"], "landlock": ["full", "ABI 7"]}
    monkeypatch.setattr(alone._exchange, "spawn", lambda *_: None)
    body = json.dumps({"limits": {}, "profile": next(iter(CONFIG["profiles"])), "frame_bytes": 5000}).encode()
    walls = ask(alone, peer, request(1, "POST", "/session", body))[1]["walls"]
    assert walls["rlimits"] == ["full", "CORE 0; the supervisor cannot see what a worker holds"]
    assert walls["landlock"] == ["full", "ABI 7"]


def test_questions_are_counted_and_end_with_time_or_session(alone, peer, monkeypatch) -> None:
    monkeypatch.setattr(supervisor, "MAX_ENQUEUED", 1)
    monkeypatch.setattr(supervisor, "ENQUEUED_SECONDS", 0.0)
    ask(alone, peer, request(1, "POST", "/enqueue", ENQUEUE))
    with pytest.raises(HttpError) as refused:
        ask(alone, peer, request(2, "POST", "/enqueue", ENQUEUE))
    assert (refused.value.status, refused.value.rule) == (429, "queue")
    alone._watch(time.monotonic())
    assert alone._enqueued == {}
    ask(alone, peer, request(3, "POST", "/enqueue", ENQUEUE))
    assert ask(alone, peer, request(4, "DELETE", "/session?fresh=1"))[0] == 200
    assert alone._enqueued == {}
    assert ask(alone, peer, request(5, "DELETE", "/context/7")) == (200, {"status": "ok"})
    assert ask(alone, peer, request(6, "DELETE", "/session?exit=1"))[0] == 200
    assert not alone._running


def test_only_so_many_ids_are_remembered_and_none_comes_back(alone, peer) -> None:
    for number in range(1, supervisor.REMEMBERED + 3):
        assert ask(alone, peer, request(number, "GET", "/health"))[0] == 200
    assert len(alone._applied) == supervisor.REMEMBERED
    for number, rule in ((1, "stale-id"), (2, "stale-id")):
        with pytest.raises(HttpError) as refused:
            ask(alone, peer, request(number, "GET", "/health"))
        assert refused.value.rule == rule
    other = request(supervisor.REMEMBERED, "GET", "/health")
    other.mac = "f" * 64
    with pytest.raises(HttpError) as refused:
        ask(alone, peer, other)
    assert refused.value.rule == "id-reused"
    with pytest.raises(HttpError) as first:
        ask(alone, peer, request(9999, "GET", "/nothing"))
    for method, target in (("POST", "/health"), ("GET", "/context"), ("GET", "/health/1"), ("PUT", "/context/x")):
        with pytest.raises(HttpError) as refused:
            ask(alone, peer, request(10_000 + len(method + target), method, target))
        assert refused.value.rule == first.value.rule == "route"


def test_a_host_that_is_silent_for_too_long_is_gone(alone) -> None:
    alone._watch(time.monotonic())
    assert alone._running
    alone._watch(time.monotonic() + 61)
    assert not alone._running


# -- the zygote, and a worker, from outside --------------------------------------------------------------------------


@pytest.fixture
def zygote() -> Iterator[tuple[zygote_link.ZygoteLink, socket.socket]]:
    made = zygote_link.ZygoteLink.__new__(zygote_link.ZygoteLink)
    made._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    made.walls, made.details, made._answers_due, made._uid = {}, {}, 1, None  # it is to boot
    with made._control, theirs:
        yield made, theirs


def test_what_a_zygote_says_is_an_answer_or_its_failure(zygote, monkeypatch) -> None:
    made, theirs = zygote
    theirs.send(b'{"walls":{"a":["full",""]},"details":{"x":1}}')
    made.boot()
    made.boot()
    assert (made.walls, made.details) == ({"a": ["full", ""]}, {"x": 1})
    theirs.send(b'{"status":9}')
    assert made.status(1) == 9
    theirs.send(b'{"status":null}')
    assert made.status(1) is None
    theirs.send(b"{}")
    made.signal(1, 9)
    theirs.send(b'{"error":"no room"}')
    with pytest.raises(zygote_link.LinkError, match="no room"):
        made.fork({}, "worker")
    ours, other = socket.socketpair()
    with ours, other:
        socket.send_fds(theirs, [b'{"pid":7}'], [ours.fileno()])
        connection, pidfd, pid, leash = made.fork({}, "worker")
        connection.close()
        assert (pidfd, pid, leash) == (None, 7, None)
        for beside in ([], [other.fileno()]):
            socket.send_fds(theirs, [b'{"pid":7}'], [ours.fileno(), *beside, *attach(os.getpid())])
            connection, pidfd, pid, leash = made.fork({}, "worker")
            connection.close()
            assert (pidfd is not None, leash is not None) == (bool(beside), True)
            leash.send(signal.SIGCONT)
            leash.close()
            if pidfd is not None:
                os.close(pidfd)
    monkeypatch.setattr(zygote_link, "_ANSWER_SECONDS", 0.01)
    with pytest.raises(zygote_link.LinkError, match=r"did not answer within 0\.01 s"):
        made._ask({})
    assert made.status(1) is None
    ours, other = socket.socketpair()
    with other:
        with ours:
            socket.send_fds(theirs, [b'{"pid":7}'], [ours.fileno()])  # what it was asked before: nobody waits for it
        theirs.send(b'{"status":11}')
        theirs.send(b'{"status":9}')
        assert made.status(1) == 9
        assert other.recv(1) == b""
    theirs.close()  # with something unread: the next read is a reset
    with pytest.raises(zygote_link.LinkError, match="the zygote is gone: .*reset"):
        made._receive(1.0)
    made.signal(1, 9)
    for ask in (lambda: made._send({}), lambda: made._receive(1.0)):
        with pytest.raises(zygote_link.LinkError, match="the zygote is gone"):
            ask()
    made._control.close()
    with pytest.raises((zygote_link.LinkError, ValueError)):
        made._receive(1.0)


def test_what_a_zygote_could_not_be_asked_it_does_not_answer(zygote, monkeypatch) -> None:
    made, theirs = zygote
    made._answers_due = 0
    monkeypatch.setattr(zygote_link, "_ANSWER_SECONDS", 1.0)

    def refuse(*_: object) -> int:
        raise OSError(errno.ENOBUFS, os.strerror(errno.ENOBUFS))

    with monkeypatch.context() as full:
        full.setattr(socket, "send_fds", refuse)
        assert made.status(1) is None
    theirs.send(b'{"status":9}')
    assert made.status(1) == 9


class Signals:
    """Where signals go that are sent by number: to the zygote, on kernels without pidfds."""

    def __init__(self) -> None:
        self.sent: list[tuple[int, int]] = []

    def signal(self, pid: int, number: int) -> None:
        self.sent.append((pid, number))


@contextlib.contextmanager
def worker(
    *, pidfd: bool = True, frame_bytes: int = 1000, extra_groups: Sequence[int] | None = None
) -> Iterator[tuple[worker_link.WorkerLink, socket.socket, Signals]]:
    ours, theirs = socket.socketpair()
    signals = Signals()
    with subprocess.Popen(["sleep", "60"], extra_groups=extra_groups) as process, theirs:
        number = os.pidfd_open(process.pid) if pidfd else None
        made = worker_link.WorkerLink(ours, number, process.pid, frame_bytes, signals)  # type: ignore[arg-type]
        try:
            yield made, theirs, signals
        finally:
            made.close()
            process.kill()


def framed(body: bytes) -> bytes:
    return struct.pack(">I", len(body)) + body


def test_a_frame_of_a_worker_is_counted_capped_and_plain() -> None:
    with worker() as (made, theirs, _):
        assert made.frame() is None
        assert not made.has_unread_output()
        data = framed(b'{"op":"done"}')
        for at in range(len(data)):
            theirs.send(data[at : at + 1])
            assert (made.frame() is None) is (at < len(data) - 1)
        theirs.send(framed(b"x" * 1000))
        assert made.frame() == "x" * 1000
        theirs.send(struct.pack(">I", 1001))
        with pytest.raises(zygote_link.LinkError, match="announced a frame of 1001 bytes, limit 1000"):
            made.frame()
    for body in (b"\xe9", b"\n", b"\0", b"\x7f"):
        with worker() as (made, theirs, _):
            theirs.send(framed(body))
            with pytest.raises(zygote_link.LinkError, match="not printable ASCII"):
                made.frame()
    with worker() as (made, theirs, _):
        theirs.close()
        assert made.frame() is None
        assert made.closed


def test_what_a_worker_does_not_read_waits_and_goes_with_its_descriptor() -> None:
    with worker() as (made, theirs, _):
        fd = os.memfd_create("context")
        body = b"y" * 3_000_000
        made.send(body, fd)
        assert made.sending
        with pytest.raises(OSError, match="Bad file descriptor"):
            os.fstat(fd)
        received, fds, _, _ = socket.recv_fds(theirs, 1 << 16, 4)
        while len(received) < len(body) + 4:
            made.flush()
            received += theirs.recv(1 << 20)
        made.flush()
        assert (received, len(fds), made.sending) == (framed(body), 1, False)
        os.close(fds[0])
        theirs.close()
        made.send(b"z", os.memfd_create("never sent"))
        assert not made.sending
        made.socket.setblocking(True)


def test_a_connection_that_broke_is_the_end_of_what_a_worker_says() -> None:
    with worker() as (made, theirs, _):
        theirs.send(b"x")
        made.send(b"unread")
        theirs.close()  # with something unread: the next read is a reset
        assert made.frame() is None
        made.frame()
        assert made.closed


def test_signals_and_the_cpu_clock_go_by_pidfd_and_else_by_number() -> None:
    with worker() as (made, _, signals):
        seen = made.cpu_seconds()
        assert seen >= 0.0
        made.signal(signal.SIGKILL)
        assert select.select([made.pidfd], [], [], 20)[0]
        os.waitpid(made.pid, 0)
        made.signal(signal.SIGKILL)
        assert made.cpu_seconds() == made.cpu_seconds() >= seen  # what was read last
        assert signals.sent == []
    with worker(pidfd=False) as (made, _, signals):
        assert made.cpu_seconds() >= 0.0
        made.signal(signal.SIGUSR1)
        assert signals.sent == [(made.pid, signal.SIGUSR1)]


def test_a_worker_that_cannot_be_seen_has_used_all_its_time() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        made = worker_link.WorkerLink(ours, None, 0, 1000, Signals())  # type: ignore[arg-type]
        assert 0.0 <= made.cpu_seconds() < made.cpu_seconds()
        assert not made.measured
        made.close()


def test_a_clock_that_says_nothing_is_none(monkeypatch) -> None:
    with worker() as (made, _, _):
        kernel = time.clock_gettime
        monkeypatch.setattr(worker_link.time, "clock_gettime", lambda _: kernel(-1))
        assert (made.cpu_seconds(), made.measured) == (0.0, False)
        monkeypatch.undo()
        deadline = time.monotonic() + 20
        while made.cpu_seconds() == 0.0 and time.monotonic() < deadline:  # it has not begun to run
            time.sleep(0.001)
        assert made.measured


def test_what_a_worker_holds_is_what_its_kernel_says_or_nothing(monkeypatch) -> None:
    with worker() as (made, _, _):
        assert 0 < made.held_bytes() < 64 << 20
        inside = worker_link.WorkerLink(socket.socketpair()[0], os.dup(made.pidfd), 1 << 30, 9, Signals())  # type: ignore[arg-type]
        assert inside.held_bytes() > 0  # the zygote knows it by another number
        inside.socket.close()
        os.close(inside.pidfd)
        assert made.visible
        monkeypatch.setattr(worker_link.os, "pread", lambda *_: b"no numbers")
        assert made.held_bytes() is None
        monkeypatch.undo()
        made.signal(signal.SIGKILL)
        os.waitpid(made.pid, 0)
        assert made.held_bytes() == 0


def sizes(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How much is asked for at once, of all that is read at a place."""
    asked: list[int] = []
    kernel = os.pread

    def pread(fd: int, size: int, at: int) -> bytes:
        asked.append(size)
        return kernel(fd, size, at)

    monkeypatch.setattr(worker_link.os, "pread", pread)
    return asked


def test_what_the_kernel_says_of_a_worker_is_read_into_little_memory(monkeypatch) -> None:
    with worker() as (made, _, _):
        asked = sizes(monkeypatch)
        assert made.held_bytes() > 0 and made.users() == [os.getuid()] * 4
        assert sum(asked) <= 3 * 4096


@pytest.mark.root
def test_however_many_groups_a_worker_has_it_is_weighed(monkeypatch) -> None:
    with worker() as (few, _, _), worker(extra_groups=range(70_000, 70_000 + 65_536)) as (many, _, _):
        assert many.visible and many.users() == [os.getuid()] * 4
        asked = sizes(monkeypatch)
        status = many._read("status")
        assert asked == [4096, 1 << 20] and status.index(b"VmPTE:") > 65_536
        assert worker_link._words(status, b"VmPTE")[1:] == [b"kB"] and worker_link._words(status, b"NoSuch") == []
        # Both numbers were found; what is theirs alone depends on what each has run.
        assert many.held_bytes() > 0.1 * few.held_bytes() > 0


def test_a_worker_that_was_never_seen_is_not_weighed() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        made = worker_link.WorkerLink(ours, None, 0, 1000, Signals())  # type: ignore[arg-type]
        assert (made.visible, made.held_bytes(), made.users()) == (False, None, [])
        made.close()


def test_where_nothing_says_who_dies_first_the_start_goes_on(monkeypatch) -> None:
    def refused(*_: object, **__: object) -> Any:
        raise PermissionError

    monkeypatch.setattr(zygote_link, "open", refused, raising=False)
    with zygote_link._likelier_victim():
        pass


# -- turns ------------------------------------------------------------------------------------------------------------


class Hatchery(Signals):
    """Gives workers whose frames the test writes."""

    def __init__(self, *, pidfd: bool) -> None:
        super().__init__()
        self.process = subprocess.Popen(["sleep", "60"])
        self.theirs: socket.socket | None = None
        self._pidfd = pidfd

    def boot(self) -> None:
        pass

    def fork(self, _limits: object, _profile: str) -> tuple[socket.socket, int | None, int, None]:
        ours, self.theirs = socket.socketpair()
        return ours, os.pidfd_open(self.process.pid) if self._pidfd else None, self.process.pid, None

    def status(self, _pid: int) -> int | None:
        return None


@contextlib.contextmanager
def exchanging(*, pidfd: bool = True, **limits: int) -> Iterator[tuple[Exchange, Hatchery, Any]]:
    hatchery, selector = Hatchery(pidfd=pidfd), selectors.DefaultSelector()
    made = Exchange(hatchery, selector, lambda: None)  # type: ignore[arg-type]

    def turn() -> None:
        for key, events in selector.select(20):
            key.data(events)

    made.spawn(limits, "worker", 100_000)
    try:
        yield made, hatchery, turn
    finally:
        made.close()
        hatchery.process.kill()
        hatchery.process.wait()
        selector.close()


def test_a_frame_is_written_while_the_worker_reads_it_and_answered_once() -> None:
    with exchanging() as (made, hatchery, turn):
        theirs = hatchery.theirs
        theirs.send(framed(b'{"op":"ready"}'))
        turn()
        assert made.event == {"id": "1", "frame": '{"op":"ready"}', "cpu": None}
        made._update_interest(made._worker)
        made._update_interest(made._worker)  # nobody is listened to, twice
        body = b"y" * 3_000_000
        made.send_request(body, None, 5.0)
        received = b""
        while len(received) < len(body) + 4:
            received += theirs.recv(1 << 20)
            if not made.free and made._worker.sending:
                turn()
        assert received == framed(body)
        theirs.send(framed(b'{"op":"done"}'))
        while made.expecting:
            turn()
        assert made.event["id"] == "2" and 0 <= made.event["cpu"] < 1
        worker = made._worker
        made.end()
        made._on_ready(worker, selectors.EVENT_READ)  # of a worker that is no longer ours
        made._on_exit(worker)
        assert (made.event, made.state) == (None, "none")


def test_a_worker_that_announces_too_much_is_ended_with_what_it_did() -> None:
    with exchanging() as (made, hatchery, turn):
        hatchery.theirs.send(struct.pack(">I", 100_001))
        turn()
        assert made.event["end"]["said"] == "the worker announced a frame of 100001 bytes, limit 100000"
        assert made.state == "none"


@pytest.mark.parametrize("held", [64 << 20, 200 << 20])
def test_a_worker_that_holds_too_much_is_ended_between_its_frames_and_at_them(monkeypatch, held: int) -> None:
    monkeypatch.setattr(worker_link.WorkerLink, "held_bytes", lambda self: held)
    said = "the worker held more memory than its limit"
    too_much = held > 100 << 20
    with exchanging(DATA=64 << 20) as (made, _, _):
        made.watch(time.monotonic() + 1.0, 5.0)
        assert (made.event["end"]["said"] == said) if too_much else made.expecting
    with exchanging(DATA=64 << 20) as (made, hatchery, turn):
        hatchery.theirs.send(framed(b'{"op":"ready"}'))
        turn()
        assert made.event["end"]["said"] == said if too_much else made.event["frame"]


def test_a_worker_that_is_being_stopped_is_looked_at_as_well(monkeypatch) -> None:
    held = [0]
    monkeypatch.setattr(worker_link.WorkerLink, "held_bytes", lambda self: held[0] or 1)
    with exchanging(DATA=64 << 20) as (made, hatchery, _):
        made.interrupt("interrupt", 3600.0)
        now = time.monotonic()
        again = made.watch(now, 5.0)
        assert made.expecting and now < again <= now + 0.1
        assert made.watch(now + 0.01, 5.0) == again  # nothing is due
        assert hatchery.process.wait() == -signal.SIGUSR1
        held[0] = 200 << 20
        made.watch(now + 0.2, 5.0)
        assert made.event["stopped"] == "memory"


def test_a_worker_that_hides_later_on_is_ended_and_one_that_was_never_seen_is_not(monkeypatch) -> None:
    with exchanging(DATA=64 << 20) as (made, _, _):
        made.watch(time.monotonic(), 5.0)
        assert made.sees_memory and made.expecting
        monkeypatch.setattr(worker_link.WorkerLink, "held_bytes", lambda self: None)
        made._worker.visible = False
        made.watch(time.monotonic() + 1.0, 5.0)
        assert made.expecting and not made.sees_memory
        made._worker.visible = True
        made.watch(time.monotonic() + 2.0, 5.0)
        assert "was hidden from its supervisor" in made.event["end"]["said"] and "stopped" not in made.event


def test_without_pidfds_the_end_of_its_channel_is_the_end_of_a_worker() -> None:
    with exchanging(pidfd=False) as (made, hatchery, turn):
        hatchery.theirs.close()
        turn()
        assert made.event["end"]["said"] is None
        assert hatchery.sent[-1] == (hatchery.process.pid, signal.SIGKILL)


# -- connections --------------------------------------------------------------------------------------------------------


class Driven:
    """A server, turned by hand."""

    def __init__(self, handle: Any) -> None:
        self.selector = selectors.DefaultSelector()
        self.server = server.Server(bytes(32), self.selector, lambda *_: 1 << 20, handle)

    def turn(self, seconds: float = 5.0) -> None:
        for key, events in self.selector.select(seconds):
            key.data(events)

    @property
    def peers(self) -> list[server.Peer]:
        return list(self.server._peers.values())

    def close(self) -> None:
        for each in self.peers:
            self.server._hang_up(each)
        if self.server._listener is not None:
            self.server._listener.close()
        self.selector.close()


@contextlib.contextmanager
def driven(handle: Any) -> Iterator[Driven]:
    made = Driven(handle)
    try:
        yield made
    finally:
        made.close()


def asking(number: int = 1) -> bytes:
    signed = SessionKey(bytes(32)).headers(number, "GET", "/health", hashlib.sha256(b"").hexdigest())
    return ("GET /health HTTP/1.1\r\n" + "".join(f"{name}: {value}\r\n" for name, value in signed.items()) + "\r\n").encode()


def test_who_does_not_read_its_answer_is_hung_up_on() -> None:
    with driven(lambda *_: (200, {"much": "x" * 20_000_000})) as made:
        address = made.server.listen(["127.0.0.1", 0])
        with socket.create_connection(tuple(address)) as client:
            client.sendall(asking())
            while not made.peers or not made.peers[0].outbound:
                made.turn()
            made.turn(0)
            made.server.tick(time.monotonic())
            assert made.peers
            made.server.tick(time.monotonic() + 100)
            assert not made.peers


def test_who_says_nothing_is_hung_up_on_once() -> None:
    with driven(lambda *_: None) as made:
        address = made.server.listen(["127.0.0.1", 0])
        with socket.create_connection(tuple(address)):
            made.turn()
            (peer,) = made.peers
            made.server.tick(time.monotonic() + 10_000)
            assert made.peers == []
            made.server._hang_up(peer)


def test_who_hangs_up_while_it_is_answered_harms_nobody() -> None:
    with driven(lambda *_: None) as made:
        address = made.server.listen(["127.0.0.1", 0])
        client = socket.create_connection(tuple(address))
        client.sendall(asking())
        while not made.server.parked():
            made.turn()
        (peer,) = made.peers
        made.server.park(peer, None)
        made.server._on_ready(peer, 0)
        made.server._on_ready(peer, selectors.EVENT_READ)  # nothing is there to read
        assert made.peers == [peer]
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()
        deadline = time.monotonic() + 20
        while made.peers and time.monotonic() < deadline:
            peer.request = peer.request or request(1, "GET", "/health")
            made.server.answer(peer, 200, {})
        assert not made.peers
        made.server.answer(peer, 200, {})  # to nobody
        made.server.park(peer, 1.0)


def test_the_last_connection_is_turned_away_where_all_others_wait() -> None:
    with driven(lambda *_: None) as made:
        address = made.server.listen(["127.0.0.1", 0])
        made.server._accept(0)  # nobody is there
        with contextlib.ExitStack() as clients:
            for number in range(server.MAX_CONNECTIONS):
                clients.enter_context(socket.create_connection(tuple(address))).sendall(asking(number + 1))
                while len(made.server.parked()) <= number:
                    made.turn()
            last = clients.enter_context(socket.create_connection(tuple(address)))
            made.turn()
            assert last.recv(1) == b""
            assert len(made.server.parked()) == server.MAX_CONNECTIONS


def test_connections_to_a_host_are_kept_and_made_again(tmp_path: Path) -> None:
    path = f"{tmp_path}/host"
    with driven(lambda *_: None) as made, socket.socket(socket.AF_UNIX) as host:
        host.bind(path)
        host.listen(0)
        made.server.keep_connected(path)
        made.server.tick(time.monotonic())
        assert 0 < len(made.peers) < 4  # its queue is full
        assert not made.server.host_gone
        made.server.tick(time.monotonic() + 10_000)
        assert made.peers  # nobody's turn to be hung up on: they wait for the host
        host.close()
        made.server.tick(time.monotonic() + 20_000)
        assert made.server.host_gone
