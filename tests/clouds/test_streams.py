"""What a provider's exec stream carries to the host, when whoever fills it says what nobody reads."""

from __future__ import annotations

import asyncio
import contextlib
import io
import socket
import struct
import threading
import time
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import docker
import pytest

from rlm_secure.broker.transports import BadResponse, TransportLost
from rlm_secure.broker.transports.lines import Charge
from rlm_secure.environments.cloud.lease import _lines
from rlm_secure.environments.cloud.stream import Loop, Stream
from rlm_secure.environments.docker import stream as docker_stream
from tests.growth.cost import assert_linear

SECONDS = 60.0


class Counted:
    """A program in no sandbox: what it says comes from two iterators, and how much was taken is counted."""

    def __init__(self, output: Iterator[bytes], errors: Iterator[bytes]) -> None:
        self.output, self.errors = output, errors
        self.taken = 0
        self.closed = threading.Event()

    async def start(self, stream: Stream) -> Counted:
        self.follower = asyncio.ensure_future(stream.follow(self._said(self.output), self._said(self.errors)))
        return self

    async def _said(self, pieces: Iterator[bytes]) -> AsyncIterator[bytes]:
        for piece in pieces:
            self.taken += 1
            yield piece
            await asyncio.sleep(0)
        await asyncio.sleep(SECONDS)

    async def write(self, data: bytes) -> None:
        pass

    async def close(self) -> None:
        self.follower.cancel()
        self.closed.set()

    drop = close


@contextlib.contextmanager
def said_by(program: Counted) -> Iterator[Stream]:
    loop = Loop("test")
    stream = Stream(loop, lambda error: (str(error), False), threading.Event())
    try:
        stream.open(program.start, SECONDS)
        yield stream
    finally:
        stream.close()
        loop.close()


def endless(piece: bytes) -> Iterator[bytes]:
    while True:
        yield piece


@pytest.mark.parametrize("size", [0, 1, 65_536])
def test_a_program_that_only_complains_is_ended(size: int) -> None:
    program = Counted(iter(()), endless(b"e" * size))
    with said_by(program) as stream:
        assert program.closed.wait(SECONDS)
        with pytest.raises(BadResponse, match="more on standard error than anybody reads"):
            stream.read(time.monotonic() + SECONDS)
        with pytest.raises(TransportLost):
            stream.write(b"x", time.monotonic() + SECONDS)
        assert program.taken <= 4 * 1024 * 1024 // (64 + size) + 100
        assert len(stream.errors) <= 4096
    assert program.closed.is_set()


def test_small_pieces_are_taken_so_many_a_second() -> None:
    program = Counted(endless(b"x"), iter(()))
    with said_by(program) as stream:
        began, got = time.monotonic(), 0
        while got < 4500:
            got += len(stream.read(began + SECONDS))
        assert program.taken <= 2000 * (time.monotonic() - began + 1) + 1


def test_large_pieces_are_taken_as_they_come() -> None:
    program = Counted(iter([b"x" * 1024] * 6000), iter(()))
    with said_by(program) as stream:
        got = 0
        while got < 6000 * 1024:
            got += len(stream.read(time.monotonic() + SECONDS))
        assert stream._small == 0


def test_a_stream_that_broke_takes_nothing_more() -> None:
    program = Counted(iter([b"x" * 65_536] * 1000), iter(()))
    with said_by(program) as stream:
        stream.finish("its log grew too long")
        deadline = time.monotonic() + SECONDS
        while program.taken < 1000:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert len(stream._inbound) <= 16 * 1024 * 1024


class Read:
    """A stream that gives what it has, in pieces."""

    def __init__(self, data: bytes, piece: int) -> None:
        self._pieces = iter([data[at : at + piece] for at in range(0, len(data), piece)])
        self.reads = 0

    def read(self, deadline: float) -> bytes:
        self.reads += 1
        return next(self._pieces, b"")


@pytest.mark.parametrize(
    "work",
    [
        lambda n: list(_lines(Read(b"x" * n, 1), 0.0)),  # type: ignore[arg-type]
        lambda n: list(_lines(Read(b"{}\n" * (n // 4), 1000), 0.0)),  # type: ignore[arg-type]
    ],
    ids=["byte by byte", "lines"],
)
def test_what_comes_before_a_supervisor_costs_in_proportion(work: Callable[[int], Any]) -> None:
    assert_linear(int, work, begin=7000, fixed=True)


@pytest.mark.parametrize(("data", "piece"), [(b"x", 1), (b"x" * 65_536, 65_536), (b"\n", 1000), (b"{}\n", 3000)])
def test_what_comes_before_a_supervisor_has_an_end(data: bytes, piece: int) -> None:
    stream = Read(data * (4_000_000 // len(data)), piece)
    with pytest.raises(TransportLost, match="the stream carries something else"):
        list(_lines(stream, 0.0))  # type: ignore[arg-type]
    assert stream.reads <= 1024 * 1024 // 64


def test_a_container_that_only_complains_is_not_listened_to() -> None:
    ours, theirs = socket.socketpair()

    def complain() -> None:
        frames = (struct.pack(">BxxxI", 2, 1) + b"e") * 1000
        with contextlib.suppress(OSError):
            while True:
                theirs.sendall(frames)

    thread = threading.Thread(target=complain, daemon=True)
    thread.start()
    stream = docker_stream.ExecStream(ours)
    with pytest.raises(BadResponse):
        stream.read(time.monotonic() + SECONDS)
    assert stream.last_words(0.2) == "e" * 400
    stream.close()
    theirs.close()
    thread.join(SECONDS)


class Talking:
    """The connection of a container that always has something to say."""

    def __init__(self, said: bytes) -> None:
        self._said = said
        self._until = time.monotonic() + 10.0

    def settimeout(self, seconds: float) -> None:
        pass

    def recv(self, size: int) -> bytes:
        assert time.monotonic() < self._until, "it is listened to for ever"
        return self._said


@pytest.mark.parametrize("kind", [1, 2])
@pytest.mark.parametrize("size", [1, 1000, 1 << 24])
def test_a_container_that_never_stops_talking_is_listened_to_until_the_deadline(kind: int, size: int) -> None:
    said = (struct.pack(">BxxxI", kind, size) + b"x" * size)[:10_000]  # the rest of a long one does not come
    stream = docker_stream.ExecStream(Talking(said if size < 10_000 else said[:1]))
    stream._buffer += said if size > 10_000 else b""
    stream._complaints = Charge(1 << 60)
    stream.last_words(0.05)
    if kind == 2 or size > 10_000:
        with pytest.raises(TimeoutError):
            stream.read(time.monotonic() + 0.05)


@pytest.mark.parametrize("early", [b"", b"\1\0\0\0\0\0\0\5early", b"\1\0\0\0\0\0"], ids=["nothing", "a frame", "half a header"])
def test_what_comes_in_one_piece_with_the_engines_answer_is_read(tmp_path: Path, early: bytes) -> None:
    """As on a busy machine: the program has spoken before the SDK has read that it was started."""
    frames = b"\1\0\0\0\0\0\0\5early\1\0\0\0\0\0\0\5later"
    opened = threading.Event()

    def engine(listening: socket.socket) -> None:
        connection, _ = listening.accept()
        with connection:
            said = b""
            while not said.endswith(b"}"):
                said += connection.recv(65536)
            connection.sendall(b"HTTP/1.1 101 UPGRADED\r\nConnection: Upgrade\r\nUpgrade: tcp\r\n\r\n" + early)
            opened.wait(SECONDS)
            connection.sendall(frames[len(early) :])

    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(tmp_path / "engine"))
        listening.listen()
        thread = threading.Thread(target=engine, args=(listening,), daemon=True)
        thread.start()
        with contextlib.closing(docker.APIClient(f"unix://{tmp_path}/engine", version="1.41")) as client:
            stream = docker_stream.ExecStream(client.exec_start("1", socket=True))
            opened.set()
            deadline = time.monotonic() + SECONDS
            assert [stream.read(deadline) for _ in range(3)] == [b"early", b"later", b""]
            stream.close()
        thread.join(SECONDS)


def test_a_connection_that_broke_meanwhile_says_so_to_who_reads() -> None:
    ours, theirs = socket.socketpair()
    theirs.sendall(b"x")
    reader = ours.makefile("rb")
    theirs.close()
    assert isinstance(reader, io.BufferedReader)
    hijacked: Any = reader.raw
    hijacked._response = SimpleNamespace(raw=SimpleNamespace(_fp=SimpleNamespace(fp=reader)))
    hijacked._timeout_occurred = True  # the raw reader refuses to read
    stream = docker_stream.ExecStream(hijacked)
    assert (stream._buffer, ours.recv(1)) == (b"", b"x")
    assert stream.read(time.monotonic() + SECONDS) == b""
    stream.close()
    ours.close()
