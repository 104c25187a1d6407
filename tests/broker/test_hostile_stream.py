"""An exec's stream that is filled by an attacker: what the host reads, writes and keeps for it has an end."""

from __future__ import annotations

import base64
import itertools
import json
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from rlm_secure.broker.client import BrokerClient
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports import BadResponse, TransportLost
from rlm_secure.broker.transports.lines import MAX_LINE, Lines, fields
from rlm_secure.broker.transports.stdio import StdioTransport
from rlm_secure.broker.transports.tube import PIECE, WINDOW
from rlm_secure.errors import ProtocolViolation
from tests.growth.cost import assert_linear

HELLO = b'{"hello":1}\n'
#: More than a stream may say in vain, with what each piece of it is charged.
ENOUGH = 8 * WINDOW
SECONDS = 60.0


class Filled:
    """A pipe whose other end says hello, and `pieces` once it is told to. Counts what is read from it and written."""

    undelivered = 0

    def __init__(self, pieces: Iterator[bytes]) -> None:
        self._pieces = itertools.chain([HELLO], pieces)
        self._greeted = False
        self.go = threading.Event()
        self.reads = self.taken = self.written = 0
        self.lines: list[dict[str, Any]] = []
        self.closed = False

    def write(self, data: bytes, deadline: float) -> None:
        self.written += len(data)
        if len(self.lines) < 10_000:
            self.lines.append(json.loads(data))

    def read(self, deadline: float) -> bytes:
        if self._greeted and not self.go.wait(max(deadline - time.monotonic(), 0)):
            raise TimeoutError
        self._greeted = True
        data = next(self._pieces, None)
        if data is None:
            time.sleep(max(deadline - time.monotonic(), 0))
            raise TimeoutError
        self.reads += 1
        self.taken += len(data)
        return data

    def close(self) -> None:
        self.closed = True


def line(**said: object) -> bytes:
    return json.dumps(said).encode() + b"\n"


def until(true: Callable[[], object], seconds: float = SECONDS) -> None:
    deadline = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < deadline, "it goes on and on"
        time.sleep(0.01)


FLOODS: dict[str, Callable[[], Iterator[bytes]]] = {
    "closed connections": lambda: (line(n=n, a=0, c=9, d="QUFB" * 9000) for n in itertools.count(1)),
    "ends": lambda: (line(n=n, a=0, c=n + 5, end=True) for n in itertools.count(1)),
    "an idle connection": lambda: (line(n=n, a=0, c=1, d="QUFB") for n in itertools.count(1)),
    "nothing": lambda: itertools.repeat(b"{}\n" * 2000),
    "empty lines": lambda: itertools.repeat(b"\n" * 4000),
    "hellos": lambda: itertools.repeat(HELLO * 1000),
    "doubles": lambda: itertools.chain([line(n=1, c=9)], itertools.repeat(line(n=1, c=9))),
    "gaps": lambda: (line(n=n, c=9) for n in itertools.count(5)),
    "bytes": lambda: itertools.repeat(b"x"),
    "a line without end": lambda: itertools.repeat(b"x" * 65_536),
    "repeats": lambda: itertools.repeat(line(a=0, again=True) * 1000),
}


@pytest.mark.parametrize("flood", FLOODS.values(), ids=FLOODS)
def test_a_stream_that_says_what_nobody_asked_for_is_closed(flood) -> None:
    pipe = Filled(flood())
    transport = StdioTransport(lambda _: pipe)
    channel = transport._take(time.monotonic() + SECONDS)
    channel.asked = False  # its request is over
    pipe.go.set()
    until(lambda: pipe.closed)
    assert "more than 8,388,608 bytes that nobody asked for" in channel._tube.broken
    assert pipe.taken <= ENOUGH
    assert pipe.reads <= ENOUGH // 64
    assert pipe.written <= ENOUGH // 64
    transport.close()


def test_a_stream_that_broke_is_closed_before_anybody_asks_again() -> None:
    class Broken(Filled):
        def read(self, deadline: float) -> bytes:
            if self._greeted and self.go.wait(SECONDS):
                raise TransportLost("its log grew too long")
            return super().read(deadline)

    pipe = Broken(iter(()))
    transport = StdioTransport(lambda _: pipe)
    transport._take(time.monotonic() + SECONDS)
    pipe.go.set()
    until(lambda: pipe.closed, 5.0)
    transport.close()


def test_small_lines_of_an_answer_are_charged_too() -> None:
    one = base64.b64encode(b"x").decode()
    pipe = Filled(line(n=n, a=0, c=1, d=one) for n in itertools.count(1))
    transport = StdioTransport(lambda _: pipe)
    channel = transport._take(time.monotonic() + SECONDS)
    channel.settimeout(SECONDS)
    pipe.go.set()
    with pytest.raises(BrokenPipeError, match="nobody asked for"):
        while channel.recv(65_536):
            pass
    assert pipe.reads <= ENOUGH // 64
    transport.close()


def test_an_answer_in_full_lines_is_not_charged() -> None:
    full = base64.b64encode(b"x" * PIECE).decode()
    pipe = Filled(line(n=n, a=0, c=1, d=full) * 2 for n in range(1, 1001))
    transport = StdioTransport(lambda _: pipe)
    channel = transport._take(time.monotonic() + SECONDS)
    channel.settimeout(SECONDS)
    pipe.go.set()
    got = 0
    while got < 1000 * PIECE:
        got += len(channel.recv(1 << 20))
    assert not channel._tube.broken
    transport.close()


def test_what_is_asked_for_again_and_again_is_sent_a_few_times() -> None:
    pipe = Filled(itertools.chain((line(a=0, again=True) for _ in range(1500)), itertools.repeat(b"\n")))
    transport = StdioTransport(lambda _: pipe)
    channel = transport._take(time.monotonic() + SECONDS)
    channel.settimeout(SECONDS)
    while pipe.written < WINDOW:
        channel.send(b"x" * PIECE)
    once = pipe.written
    pipe.go.set()
    until(lambda: pipe.closed)
    assert pipe.written - once <= ENOUGH + once
    transport.close()


def test_who_has_everything_sent_again_for_ever_is_given_up() -> None:
    def repeats() -> Iterator[bytes]:
        while True:
            yield line(a=0, again=True)
            time.sleep(0.26)

    pipe = Filled(repeats())
    transport = StdioTransport(lambda _: pipe)
    channel = transport._take(time.monotonic() + SECONDS)
    channel.settimeout(SECONDS)
    while pipe.written < WINDOW:
        channel.send(b"x" * PIECE)
    pipe.go.set()
    until(lambda: pipe.closed)
    assert "sent again" in channel._tube.broken
    assert 4 * WINDOW < pipe.written < 14 * WINDOW
    transport.close()


def test_a_stream_that_is_closed_for_what_it_says_is_dialled_three_times() -> None:
    pipes: list[Filled] = []

    def dial(_: float) -> Filled:
        pipes.append(Filled(itertools.repeat(b"x" * 65_536)))
        pipes[-1].go.set()
        return pipes[-1]

    client = BrokerClient(StdioTransport(dial), SessionKey(), frame_bytes=100_000)
    with pytest.raises(ProtocolViolation, match="3 streams were dialled, and the last one had to be closed"):
        client.health(seconds=SECONDS)
    with pytest.raises(ProtocolViolation, match="3 streams"):
        client.health(seconds=SECONDS)
    assert len(pipes) == 3
    client.close()


def test_a_connection_on_which_something_came_unasked_is_not_used_again() -> None:
    pipe = Filled(iter([line(n=1, a=0, c=1, d="QUFB")]))
    transport = StdioTransport(lambda _: pipe)
    deadline = time.monotonic() + SECONDS
    channel = transport._take(deadline)
    channel.asked = False
    transport._idle.append(channel)
    pipe.go.set()
    until(lambda: channel.unasked)
    assert not channel.inbound
    other = transport._take(deadline)
    assert other is not channel
    assert [each["end"] for each in pipe.lines if each.get("c") == 1] == [True]
    other.settimeout(0.01)
    with pytest.raises((TransportLost, TimeoutError)):
        other.recv(1)
    transport.close()


# -- the parsers --------------------------------------------------------------------------------------------


def cut(data: bytes, piece: int) -> list[bytes]:
    lines = Lines()
    return [each for at in range(0, len(data), piece) for each in lines.take(data[at : at + piece])]


@pytest.mark.parametrize(
    ("work", "size"),
    [
        (lambda n: cut(b"x" * n, 1), 40_000),
        (lambda n: cut(b"x" * n, 60), 250_000),
        (lambda n: cut(b"x\n" * n, 65_536), 20_000),
        (lambda n: cut(b"\n" * n, 1), 10_000),
        (lambda n: fields({"d": "A" * n}), 40_000),
    ],
    ids=["byte by byte", "without end", "short lines", "empty lines", "base64"],
)
def test_lines_cost_in_proportion_to_their_size(work, size) -> None:
    assert_linear(int, work, begin=size, fixed=True)


def test_nearly_base64_costs_in_proportion_to_its_size() -> None:
    def refused(size: int) -> None:
        with pytest.raises(ValueError, match="data is not base64"):
            fields({"d": "A" * size + "=" * size + "?"})

    assert_linear(int, refused, begin=40_000, fixed=True)


def test_a_line_that_is_too_long_is_dropped_and_the_next_one_is_not() -> None:
    lines = Lines()
    for _ in range(100):
        assert not list(lines.take(b"x" * 65_536))
        assert len(lines) <= MAX_LINE
    assert list(lines.take(b"x\ny" + b"y" * 10)) == []
    assert list(lines.take(b"\n\nz\n")) == [b"y" * 11, b"", b"z"]
    assert list(lines.take(b"z" * MAX_LINE + b"\n" + b"z" * (MAX_LINE + 1) + b"\nq\n")) == [b"z" * MAX_LINE, b"q"]


def test_what_was_not_asked_for_is_garbled_to_whoever_asks() -> None:
    transport = StdioTransport(lambda _: Filled(iter(())))
    transport._spoiled = 3
    with pytest.raises(BadResponse):
        transport.request("GET", "/", {}, b"", limit=1, deadline=time.monotonic() + SECONDS)
    transport.close()


# -- who waits for another -------------------------------------------------------------------------------------


def took(work: Callable[[], object]) -> float:
    began = time.monotonic()
    work()
    return time.monotonic() - began


class Slow:
    """A dial that takes as long as it may, and counts how often it is begun."""

    def __init__(self) -> None:
        self.begun = threading.Event()

    def __call__(self, deadline: float) -> Any:
        self.begun.set()
        time.sleep(max(deadline - time.monotonic(), 0))
        raise TransportLost("the provider started no program in time")


def test_who_waits_for_another_s_dial_waits_until_the_own_deadline() -> None:
    slow = Slow()
    transport = StdioTransport(slow)
    until_late = time.monotonic() + 5.0

    def dial() -> None:
        with pytest.raises(TransportLost, match="no program in time"):
            transport._take(until_late)

    dialling = threading.Thread(target=dial)
    dialling.start()
    assert slow.begun.wait(SECONDS)
    with pytest.raises(TransportLost, match="is being dialled"):
        transport._take(time.monotonic() + 0.2)
    transport.close()
    assert time.monotonic() < until_late - 2.0
    with pytest.raises(TransportLost, match="the transport is closed"):
        transport._take(until_late + SECONDS)
    dialling.join()


def test_what_was_dialled_for_a_transport_that_is_closed_is_closed() -> None:
    pipe = Filled(iter(()))
    transport: StdioTransport

    def dial(_: float) -> Filled:
        transport.close()
        return pipe

    transport = StdioTransport(dial)
    with pytest.raises(TransportLost, match="the transport is closed"):
        transport._take(time.monotonic() + SECONDS)
    assert pipe.closed
    assert pipe.reads == 0


def test_who_waits_to_write_beside_another_waits_until_the_own_deadline() -> None:
    class Full(Filled):
        """A pipe that takes nothing until it is closed."""

        writing = threading.Event()

        def write(self, data: bytes, deadline: float) -> None:
            self.writing.set()
            end = min(deadline, time.monotonic() + 8.0)
            while not self.closed and time.monotonic() < end:
                time.sleep(0.01)
            raise TransportLost("the stream to the container broke: timed out")

    pipe = Full(iter(()))
    transport = StdioTransport(lambda _: pipe)
    first, second = (transport._take(time.monotonic() + SECONDS) for _ in range(2))
    first.settimeout(SECONDS)
    second.settimeout(0.2)

    def write() -> None:
        with pytest.raises(TransportLost):
            first.send(b"x")

    writing = threading.Thread(target=write)
    writing.start()
    assert pipe.writing.wait(SECONDS)

    def beside() -> None:
        with pytest.raises(TransportLost, match="does not read"):
            second.send(b"x")

    assert took(beside) < 4.0
    assert took(transport.close) < 4.0
    writing.join()
