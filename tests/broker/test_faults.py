"""Ways that break: a cell's calls and effects happen once, and what cannot be mended ends in bounded time."""

from __future__ import annotations

import contextlib
import os
import random
import signal
import socket
import ssl
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rlm_secure.broker.client import BrokerClient
from rlm_secure.broker.protocol import Call
from rlm_secure.broker.transports.https import HttpsTransport
from rlm_secure.environments.remote import RemoteSession
from rlm_secure.errors import CellCrashed, CellTimeout, EnvironmentUnavailable, SessionEnded
from tests.broker.support import ListeningLease, ProcessLease, policy, session

TLS = Path(__file__).parent / "tls"


class Proxy:
    """Between host and supervisor: cuts connections where `cut(direction, count)` says so."""

    def __init__(self, address: tuple[str, int]) -> None:
        self.address = address
        self.cut = lambda direction: False
        self.cuts = 0
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(self.address)
            except OSError:
                return
            for source, sink, direction in ((near, far, "request"), (far, near, "answer")):
                threading.Thread(target=self._carry, args=(source, sink, direction, (near, far)), daemon=True).start()

    def _carry(
        self, source: socket.socket, sink: socket.socket, direction: str, both: tuple[socket.socket, ...]
    ) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                if self.cut(direction):
                    self.cuts += 1
                    sink.sendall(data[: len(data) // 2])
                    break
                sink.sendall(data)
        for each in both:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()


class ProxiedLease(ListeningLease):
    def __init__(self, loaded, **options) -> None:
        super().__init__(loaded, **options)
        self.proxy = Proxy(self.address)
        self.client = ProcessLease.connect(self, HttpsTransport(self.proxy.url), loaded)

    def close(self) -> None:
        self.proxy.close()
        super().close()


@pytest.fixture(scope="module")
def proxied() -> Iterator[RemoteSession]:
    with session(kind=ProxiedLease) as opened:
        yield opened


CELL = """
ran += 1
for number in range(5):
    said.append(llm_query(f"{ran}.{number}"))
print(ran, len(said), len(set(said)))
"""


@pytest.mark.parametrize("directions", [("request",), ("answer",), ("request", "answer")], ids="+".join)
def test_calls_and_cells_happen_once_however_often_the_way_is_cut(proxied, directions) -> None:
    asked: list[str] = []

    def answer(call: Call) -> str:
        asked.append(call.prompts[0])
        return f"answer {len(asked)}"

    proxied.execute("ran = 0\nsaid = []", answer)
    dice = random.Random(7)
    proxied.lease.proxy.cuts = 0
    proxied.lease.proxy.cut = lambda direction: direction in directions and dice.random() < 0.4
    results = [proxied.execute(CELL, answer).stdout for _ in range(8)]
    proxied.lease.proxy.cut = lambda direction: False
    assert results == [f"{ran} {5 * ran} {5 * ran}\n" for ran in range(1, 9)]
    assert asked == [f"{ran}.{number}" for ran in range(1, 9) for number in range(5)]
    assert proxied.lease.proxy.cuts > 5


def test_a_context_is_resumed_where_it_was_cut(proxied) -> None:
    payload = "".join(map(str, range(3_000_000)))
    dice = random.Random(3)
    proxied.lease.proxy.cut = lambda direction: dice.random() < 0.01
    proxied.load_context("context_0", payload)
    proxied.lease.proxy.cut = lambda direction: False
    code = "print(len(context_0), context_0[:20], context_0[-20:], context_0.count('99'))"
    expected = f"{len(payload)} {payload[:20]} {payload[-20:]} {payload.count('99')}\n"
    assert proxied.execute(code, None).stdout == expected


def test_a_way_that_stays_cut_ends_the_session_in_bounded_time() -> None:
    loaded = policy(cell_seconds=1.0, grace_seconds=0.2)
    lease = ProxiedLease(loaded)
    lease.client._patience = 2.0
    with RemoteSession(lease, loaded, required=()) as opened:
        lease.proxy.cut = lambda direction: True
        started = time.monotonic()
        result = opened.execute("while True: pass", None)
        assert result.error is not None
        assert result.error.session_ended
        assert time.monotonic() - started < 15
        with pytest.raises(SessionEnded):
            opened.execute("1", None)


def test_a_supervisor_that_stops_answering_is_given_up_in_bounded_time() -> None:
    with session(policy(cell_seconds=1.0, grace_seconds=0.2)) as opened:
        opened.lease.client._patience = 2.0
        process = psutil.Process(opened.lease.process.pid)
        process.suspend()
        started = time.monotonic()
        result = opened.execute("print(1)", None)
        assert isinstance(result.error, CellCrashed | CellTimeout)
        assert time.monotonic() - started < 20


def test_a_supervisor_that_pauses_for_a_moment_goes_on() -> None:
    with session() as opened:
        process = psutil.Process(opened.lease.process.pid)
        process.suspend()
        threading.Timer(1.0, process.resume).start()
        assert opened.execute("print(1)", None).stdout == "1\n"


def test_a_supervisor_with_another_key_is_refused_at_once() -> None:
    from rlm_secure.broker.session import SessionKey

    loaded = policy()
    lease = ProcessLease(loaded)
    lease.client._key = SessionKey()
    started = time.monotonic()
    with pytest.raises(Exception, match="not signed"):
        RemoteSession(lease, loaded, required=())
    assert time.monotonic() - started < 5
    assert lease.process.poll() is not None


def test_a_host_without_the_walls_it_needs_gets_no_session() -> None:
    from rlm_secure.errors import EnforcementError

    loaded = policy()
    lease = ProcessLease(loaded, seccomp=False)
    with pytest.raises(EnforcementError, match="seccomp"):
        RemoteSession(lease, loaded)
    assert lease.process.poll() is not None


def test_a_broken_bundle_is_an_environment_that_is_not_there() -> None:
    loaded = policy(start_seconds=5.0)
    lease = ProcessLease(loaded)
    lease.process.kill()
    with pytest.raises(EnvironmentUnavailable, match="did not start"):
        RemoteSession(lease, loaded, required=())


def test_the_supervisor_and_its_worker_end_with_their_host() -> None:
    """The host is killed with SIGKILL in the middle of a cell: nothing of the session stays."""
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        os.setsid()
        with session(namespaces=False) as opened:
            pids = [opened.lease.process.pid]
            pids += [each.pid for each in psutil.Process(pids[0]).children(recursive=True)]
            os.write(writer, " ".join(map(str, pids)).encode())
            opened.execute("while True: pass", None)
        os._exit(0)
    pids = [int(pid) for pid in os.read(reader, 1000).split()]
    time.sleep(0.5)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    assert len(pids) >= 3
    deadline = time.monotonic() + 20
    while any(map(alive, pids)) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert [pid for pid in pids if alive(pid)] == []


def alive(pid: int) -> bool:
    try:
        return psutil.Process(pid).status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def test_a_silent_host_is_not_waited_for() -> None:
    loaded = policy()
    lease = ProcessLease(loaded, idle_seconds=1.0)
    with contextlib.suppress(Exception):
        assert lease.process.wait(timeout=10) == 0
    lease.close()
    assert lease.process.returncode == 0


def test_nothing_is_left_after_a_session() -> None:
    with session() as opened:
        pid = opened.lease.process.pid
        directory = Path(opened.lease.unix.directory)
        assert directory.exists()
        family = psutil.Process(pid).children(recursive=True)
    assert not alive(pid)
    deadline = time.monotonic() + 20
    while any(alive(each.pid) for each in family) and time.monotonic() < deadline:
        time.sleep(0.02)
    assert not any(alive(each.pid) for each in family)
    assert not directory.exists()


class TlsLease(ListeningLease):
    """The supervisor's port behind a TLS-terminating proxy with a certificate of its own."""

    def __init__(self, loaded, **options) -> None:
        super().__init__(loaded, **options)
        server = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        server.load_cert_chain(TLS / "certificate.pem", TLS / "key.pem")
        self._listener = socket.create_server(("127.0.0.1", 0))
        threading.Thread(target=self._accept, args=(server,), daemon=True).start()
        self.url = f"https://127.0.0.1:{self._listener.getsockname()[1]}"
        trusting = ssl.create_default_context(cafile=str(TLS / "certificate.pem"))
        self.client = ProcessLease.connect(self, HttpsTransport(self.url, context=trusting), loaded)

    def _accept(self, context: ssl.SSLContext) -> None:
        while True:
            try:
                near, _ = self._listener.accept()
            except OSError:
                return
            with contextlib.suppress(OSError):
                tls = context.wrap_socket(near, server_side=True)
                far = socket.create_connection(self.address)
                for source, sink in ((tls, far), (far, tls)):
                    threading.Thread(target=self._carry, args=(source, sink), daemon=True).start()

    def _carry(self, source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        self._listener.close()
        super().close()


def test_a_session_runs_over_an_ingress_with_tls() -> None:
    with session(kind=TlsLease) as opened:
        assert opened.execute("print(llm_query('x'))", lambda call: "over tls").stdout == "over tls\n"
        unknown = BrokerClient(HttpsTransport(opened.lease.url), opened.lease.key, frame_bytes=1000)
        with pytest.raises(Exception, match="does not speak TLS as it should"):
            unknown.health(seconds=1.0)
