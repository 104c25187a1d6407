"""The host's Unix socket: a connection that speaks out of turn, or breaks, is not used again."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure.broker.client import BrokerClient, Lost
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports import TransportLost, uds
from rlm_secure.broker.transports.uds import SOCKET_NAME, UnixTransport
from rlm_secure.errors import ProtocolViolation
from tests.emulators.base import anybodys_python, as_user


@pytest.fixture
def transport() -> Iterator[UnixTransport]:
    made = UnixTransport({"file": b"data"})
    yield made
    made.close()
    made.close()


def connected(transport: UnixTransport) -> tuple[socket.socket, socket.socket]:
    """Both ends of a connection that was used once, and is idle."""
    theirs = socket.socket(socket.AF_UNIX)
    theirs.connect(f"{transport.directory}/{SOCKET_NAME}")
    ours = transport._take(time.monotonic() + 20)
    transport._give_back(ours, True)
    return ours, theirs


def test_only_a_connection_that_is_quiet_is_used_again(transport: UnixTransport) -> None:
    ours, theirs = connected(transport)
    assert transport._take(time.monotonic() + 20) is ours
    transport._give_back(ours, True)
    theirs.send(b"x")
    fresh = socket.socket(socket.AF_UNIX)
    fresh.connect(f"{transport.directory}/{SOCKET_NAME}")
    taken = transport._take(time.monotonic() + 20)
    assert taken is not ours
    assert ours.fileno() < 0
    transport._give_back(taken, False)
    assert taken.fileno() < 0
    for each in (theirs, fresh):
        each.close()


def test_a_connection_that_broke_is_not_quiet() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        theirs = socket.create_connection(listener.getsockname())
        ours, _ = listener.accept()
    with ours:
        assert uds._quiet(ours)
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        deadline = time.monotonic() + 20
        while uds._quiet(ours) and time.monotonic() < deadline:
            time.sleep(0.01)
        assert not uds._quiet(ours)


HELLO = "import socket, sys\ns = socket.socket(socket.AF_UNIX)\ns.connect(sys.argv[1])\nprint(len(s.recv(1)))"


@pytest.mark.root
@pytest.mark.attack
def test_nobody_but_who_connected_first_is_spoken_to(transport: UnixTransport) -> None:
    """A worker that broke out would be told what the supervisor is told, and could keep it."""
    for each in (Path(transport.directory).parent, Path(transport.directory)):
        each.chmod(0o711)  # a container sees it by a mount of its own
    path = f"{transport.directory}/{SOCKET_NAME}"

    def visitor(uid: int) -> subprocess.Popen[str]:
        command = [anybodys_python(uid), "-I", "-S", "-c", HELLO, path]
        return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd="/", **as_user(uid))

    first = visitor(65533)
    ours = transport._take(time.monotonic() + 20)
    stranger = visitor(65534)
    deadline = time.monotonic() + 20
    while stranger.poll() is None and time.monotonic() < deadline:
        with pytest.raises(TransportLost):
            transport._take(deadline)
    assert stranger.communicate(timeout=90)[0] == "0\n"  # nothing but the end of it
    again = visitor(65533)  # the control: the supervisor's next connection
    ours.send(b"x")
    deadline = time.monotonic() + 20
    while True:
        try:
            transport._take(deadline).send(b"x")
            break
        except TransportLost:
            assert time.monotonic() < deadline
    assert [each.communicate(timeout=90)[0] for each in (first, again)] == ["1\n", "1\n"]


def test_connections_that_broke_or_speak_first_are_looked_past(transport: UnixTransport) -> None:
    strays = []
    for number in range(6):
        stray = socket.socket(socket.AF_UNIX)
        stray.connect(f"{transport.directory}/{SOCKET_NAME}")
        if number % 2:
            stray.send(b"HTTP/1.1 200 OK\r\n\r\n")
            strays.append(stray)
        else:
            stray.close()
    honest = socket.socket(socket.AF_UNIX)
    honest.connect(f"{transport.directory}/{SOCKET_NAME}")
    taken = transport._take(time.monotonic() + 20)
    honest.send(b"x")
    assert taken.recv(1) == b"x"
    for each in (taken, honest, *strays):
        each.close()


def test_who_floods_the_socket_is_looked_past_so_many_times_a_request(transport: UnixTransport, monkeypatch) -> None:
    looks, done = [], threading.Event()
    quiet = uds._quiet
    monkeypatch.setattr(uds, "_quiet", lambda connection: looks.append(connection) or quiet(connection))

    def flood() -> None:
        while not done.is_set():
            with socket.socket(socket.AF_UNIX) as stray, contextlib.suppress(OSError):
                stray.settimeout(0.1)
                stray.connect(f"{transport.directory}/{SOCKET_NAME}")
                stray.send(b"x")

    threads = [threading.Thread(target=flood, daemon=True) for _ in range(4)]
    for thread in threads:
        thread.start()
    sent = []
    request = transport.request
    transport.request = lambda *rest, **options: sent.append(1) or request(*rest, **options)  # type: ignore[method-assign]
    client = BrokerClient(transport, SessionKey(), frame_bytes=1000)
    with pytest.raises((Lost, ProtocolViolation)):
        client.health(seconds=3.0)
    done.set()
    for thread in threads:
        thread.join(20)
    assert len(sent) <= 20
    assert len(looks) <= 64 * len(sent)
    assert all(each.fileno() < 0 for each in looks)


def test_where_nobody_connects_the_request_is_cut(transport: UnixTransport) -> None:
    with pytest.raises(TransportLost, match="nobody connected from the sandbox"):
        transport._take(time.monotonic() + 0.05)


def test_the_directory_is_one_that_this_user_may_write_to(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("RLM_SECURE_SOCKETS", str(tmp_path))
    assert uds._runtime_directory() == str(tmp_path)
    monkeypatch.delenv("RLM_SECURE_SOCKETS")
    monkeypatch.setattr(uds, "_RUNTIME_DIRECTORIES", (f"{tmp_path}/none", f"{tmp_path}/{{uid}}"))
    assert uds._runtime_directory() is None
    (tmp_path / str(os.getuid())).mkdir()
    assert uds._runtime_directory() == f"{tmp_path}/{os.getuid()}"


def test_what_a_living_host_listens_on_is_not_swept(tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("RLM_SECURE_SOCKETS", str(tmp_path))
    inner = tmp_path / "rlm-secure-lives" / "d"
    inner.mkdir(parents=True)
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(inner / SOCKET_NAME))
        listener.listen()
        assert uds.sweep(0.0) == 0 and inner.exists()
    monkeypatch.delattr(socket, "SO_PEERCRED")
    assert uds.sweep(0.0) == 0 and inner.exists(), "a system on which no session has one"
    monkeypatch.undo()
    monkeypatch.setenv("RLM_SECURE_SOCKETS", str(tmp_path))
    assert uds.sweep(0.0) == 1 and not inner.exists()
