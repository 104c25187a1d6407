"""What the broker does on a slow or far network, and what a hostile sandbox gains by looking like one."""

from __future__ import annotations

import base64
import json
import os
import threading
import time
import zlib
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.broker.transports import Stored, TransportLost, http1, tube
from rlm_secure.broker.transports.http1 import SLOWEST_RATE, Pace, exchange
from rlm_secure.broker.transports.stdio import StdioTransport
from rlm_secure.broker.transports.tube import PIECE, WINDOW
from rlm_secure.guest.supervisor import dial, fetch, uploads
from rlm_secure.guest.supervisor.fetch import Fetch

SECONDS = 60.0


class Link:
    """A pipe with a queue, as a provider's SDK has one: what is written is delivered when the test says so."""

    def __init__(self) -> None:
        self.undelivered = 0
        self.lines: list[dict[str, Any]] = []
        self._said = [b'{"hello":1}\n']
        self._change = threading.Condition()
        self.holds = False

    def write(self, data: bytes, deadline: float) -> None:
        with self._change:
            self.lines.append(json.loads(data))
            self.undelivered += len(data) if self.holds else 0

    def read(self, deadline: float) -> bytes:
        with self._change:
            if not self._change.wait_for(lambda: self._said, max(deadline - time.monotonic(), 0)):
                raise TimeoutError
            return self._said.pop(0)

    def say(self, **fields: object) -> None:
        with self._change:
            self._said.append(json.dumps(fields).encode() + b"\n")
            self._change.notify_all()

    def close(self) -> None:
        pass

    def numbered(self) -> list[int]:
        return [line["n"] for line in self.lines if "n" in line]


@pytest.fixture
def link() -> Link:
    return Link()


def channel_over(link: Link) -> tuple[StdioTransport, Any]:
    transport = StdioTransport(lambda _: link)
    channel = transport._take(time.monotonic() + SECONDS)
    channel.settimeout(SECONDS)
    return transport, channel


def test_what_waits_on_this_side_is_not_sent_again(link: Link, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tube, "_RESEND_SECONDS", (0.3, 3.0))
    transport, channel = channel_over(link)
    channel._tube._resend_after = 0.3
    link.holds = True
    channel.send(b"x" * PIECE)
    channel.send(b"y" * PIECE)
    link.say(a=0, again=True)  # not even when it is asked for: it would only arrive after what waits
    time.sleep(1.5)
    assert link.numbered() == [1, 2]
    link.undelivered, link.holds = 0, False
    deadline = time.monotonic() + SECONDS
    while len(link.numbered()) < 4:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    assert link.numbered()[:4] == [1, 2, 1, 2]
    transport.close()


def test_how_soon_lines_are_sent_again_follows_the_round_trips(link: Link) -> None:
    transport, channel = channel_over(link)
    stream = channel._tube
    now = time.monotonic()
    for number in range(1, 9):
        stream._unacknowledged.append((number, 0, {"c": 9}))
        stream._oldest_at = now - 4.0
        stream._acknowledge(number, now)
    assert 5.5 < stream._resend_after <= 6.0
    stream._ambiguous = 9  # sent twice: which of both was acknowledged is unknown
    stream._unacknowledged.append((9, 0, {"c": 9}))
    stream._oldest_at = now - 100.0
    stream._acknowledge(9, now)
    assert stream._resend_after <= 6.0
    for number in range(10, 30):
        stream._unacknowledged.append((number, 0, {"c": 9}))
        stream._oldest_at = now - 1000.0
        stream._acknowledge(number, now)
    assert stream._resend_after == 30.0
    transport.close()


def test_the_guest_counts_from_when_its_lines_are_written() -> None:
    lines = dial.Sequencer()
    lines.line({"c": 1}, 10)
    now = time.monotonic()
    assert lines.overdue(now + 5.0, unwritten=True) == []
    assert lines.overdue(now + 6.0, unwritten=False) == []
    assert len(lines.overdue(now + 7.1, unwritten=False)) == 1
    assert lines.overdue(now + 9.2, unwritten=False) == [], "after a vain wait, it waits longer"
    assert len(lines.overdue(now + 10.2, unwritten=False)) == 1
    lines.acknowledged(1, now + 11.0)
    assert lines.overdue(now + 99.0, unwritten=False) == []
    lines.line({"c": 1}, 10)
    lines._oldest_at = now
    lines.acknowledged(2, now + 8.0)
    lines.line({"c": 1}, 10)
    lines._oldest_at = now
    assert lines.overdue(now + 5.9, unwritten=False) == []


def test_both_ends_acknowledge_with_what_they_send_anyway(link: Link) -> None:
    transport, channel = channel_over(link)
    channel.send(b"x")
    link.say(n=1, a=1, c=1, d="QUFB")
    assert channel.recv(9) == b"AAA"
    channel.send(b"y")
    assert [(line.get("n"), line["a"]) for line in link.lines] == [(1, 0), (2, 1)]
    time.sleep(2.0)
    assert all("n" in line for line in link.lines), "it was acknowledged"
    link.say(n=2, a=2, c=1, d="QUFB")
    deadline = time.monotonic() + SECONDS
    while {"a": 2} not in link.lines:  # nothing is sent, so it goes alone
        assert time.monotonic() < deadline
        time.sleep(0.01)
    transport.close()


def test_a_window_is_acknowledged_long_before_it_is_full(link: Link) -> None:
    transport, channel = channel_over(link)
    full = "A" * (4 * PIECE // 3)
    for number in range(1, WINDOW // PIECE // 2):
        link.say(n=number, a=0, c=1, d=full)
    deadline = time.monotonic() + 0.9
    while not link.lines and time.monotonic() < deadline:
        time.sleep(0.01)
    assert link.lines
    assert link.lines[0]["a"] <= WINDOW // 8 // PIECE + 1
    transport.close()
    lines = dial.Sequencer()
    now = time.monotonic()
    lines.accept(1, 10, now)
    assert lines.acknowledges_in(now + 0.4) == pytest.approx(0.6)
    assert lines.acknowledges_in(now + 1.0) == 0.0
    for number in range(2, 2 + WINDOW // 8 // PIECE + 1):
        lines.accept(number, PIECE, now)
    assert lines.acknowledges_in(now) == 0.0
    lines.stamp({})
    assert lines.acknowledges_in(now) > 10**6


# -- the pace of a request ---------------------------------------------------------------------------------


class Clock:
    """The time, for what asks for it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 1000.0
        monkeypatch.setattr(http1.time, "monotonic", lambda: self.now)


def test_a_request_has_the_time_that_its_bytes_take(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pace = Pace(clock.now + 500.0, 10.0, lambda: 0)
    for _ in range(100):
        clock.now += 1.0
        assert pace.left() > 0
        pace.moved(SLOWEST_RATE)
    clock.now += 9.9
    assert pace.left() == pytest.approx(0.1)
    clock.now += 0.2
    with pytest.raises(TransportLost):
        pace.left()


def test_a_byte_now_and_then_gains_no_time(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    began = clock.now
    pace = Pace(clock.now + 10_000.0, 10.0, lambda: int(clock.now))  # something is acknowledged all the time
    with pytest.raises(TransportLost):
        while True:
            assert clock.now < began + 12.0
            pace.left()
            pace.moved(1)
            clock.now += 1.0


def test_a_request_ends_at_its_deadline_however_fast_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = Clock(monkeypatch)
    pace = Pace(clock.now + 5.0, 10.0, lambda: 0)
    pace.moved(1 << 30)
    clock.now += 5.0
    with pytest.raises(TransportLost):
        pace.left()


def test_a_sandbox_that_acknowledges_slowly_is_left_at_the_slowest_rate(link: Link) -> None:
    """A line is acknowledged every 0.2 s for ever: progress, and yet the request ends."""
    transport, _ = channel_over(link)
    stop = threading.Event()

    def acknowledge() -> None:
        number = 0
        while not stop.wait(0.2):
            number += 1
            link.say(a=number)

    helper = threading.Thread(target=acknowledge)
    helper.start()
    began = time.monotonic()
    body = b"x" * (2 * SLOWEST_RATE)
    try:
        with pytest.raises(TransportLost):
            transport.request("PUT", "/x", {}, body, limit=10, deadline=began + SECONDS, patience=1.0)
    finally:
        stop.set()
        helper.join()
    assert time.monotonic() - began < 6.0
    transport.close()


def test_acknowledgements_are_progress_while_an_answer_is_waited_for(link: Link) -> None:
    transport, _ = channel_over(link)
    answer = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"

    def acknowledge() -> None:
        for number in range(1, 9):
            time.sleep(0.5)
            link.say(a=number)
        link.say(n=1, a=9, c=2, d=base64.b64encode(answer).decode())

    helper = threading.Thread(target=acknowledge)
    helper.start()
    got = transport.request("PUT", "/x", {}, b"x" * (8 * PIECE), limit=10, deadline=time.monotonic() + 60, patience=1.5)
    helper.join()
    assert got.body == b"ok"
    transport.close()


def test_a_full_window_is_waited_for_while_anything_is_acknowledged(link: Link) -> None:
    transport, _ = channel_over(link)
    body = b"x" * (WINDOW + 3 * PIECE)
    lines = 1 + -(-len(body) // PIECE)

    def acknowledge() -> None:
        while len(link.lines) < 1 + (WINDOW - 1000) // PIECE:
            time.sleep(0.01)
        time.sleep(2.0)
        link.say(a=1)  # the head: it makes no room for a piece
        time.sleep(2.5)
        while len(link.lines) < lines:
            link.say(a=len(link.lines))
            time.sleep(0.05)
        link.say(n=1, a=lines, c=2, d=base64.b64encode(b"HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n").decode())

    helper = threading.Thread(target=acknowledge)
    helper.start()
    got = transport.request("PUT", "/x", {}, body, limit=10, deadline=time.monotonic() + 60, patience=4.0)
    helper.join()
    assert got.status == 200
    transport.close()


# -- files -----------------------------------------------------------------------------------------------------

NAME = "0123456789abcdef" * 2


def fetched(directory: Path, content: bytes, size: int, *, packed: bool, stored: int | None = None) -> bytes:
    (directory / NAME).write_bytes(content)
    made = Fetch(str(directory), NAME, len(content) if stored is None else stored, size, packed)
    pieces = []
    try:
        while piece := made.read():
            assert len(piece) <= 64 * 1024
            pieces.append(piece)
    except BaseException:
        made.close()
        raise
    made.remove()
    return b"".join(pieces)


def test_a_file_becomes_its_bytes_and_is_removed(tmp_path: Path) -> None:
    data = os.urandom(1000) * 300
    assert fetched(tmp_path, zlib.compress(data), len(data), packed=True) == data
    assert not (tmp_path / NAME).exists()
    assert fetched(tmp_path, data, len(data), packed=False) == data
    assert not (tmp_path / NAME).exists()


def test_pieces_of_a_file_that_hold_nothing_are_passed_over(tmp_path: Path) -> None:
    head, rest = zlib.compress(b"abc")[:2], zlib.compress(b"abc")[2:]
    packed = head + b"\0\0\0\xff\xff" * 20_000 + rest  # blocks of no bytes
    assert fetched(tmp_path, packed, 3, packed=True) == b"abc"


def test_a_file_never_becomes_more_than_was_announced(tmp_path: Path) -> None:
    bomb = zlib.compress(b"\0" * 8_000_000)
    assert fetched(tmp_path, bomb, 1000, packed=True) == b"\0" * 1000
    assert fetched(tmp_path, b"x" * 5000, 1000, packed=False) == b"x" * 1000


@pytest.mark.parametrize(
    ("content", "size", "packed", "stored"),
    [
        (zlib.compress(b"x" * 10), 11, True, None),
        (zlib.compress(b"x" * 10) + b"x" * 70_000, 11, True, None),
        (zlib.compress(b"x" * 100_000)[:-20], 100_000, True, None),
        (b"no archive", 10, True, None),
        (b"x" * 10, 11, False, None),
        (b"x" * 10, 10, False, 9),
        (b"x" * 10, 10, False, 11),
        (b"x" * 10, 0, False, None),
        (b"x", fetch.MAX_CHUNK + 1, False, None),
        (b"x", 1, False, fetch.MAX_CHUNK + 1),
    ],
)
def test_a_file_that_is_not_as_announced_is_refused(
    tmp_path: Path, content: bytes, size: int, packed: bool, stored: int | None
) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each has its own words
        fetched(tmp_path, content, size, packed=packed, stored=stored)


@pytest.mark.parametrize("name", ["", "../guest.zip", "a" * 33, f"{NAME}\n", NAME.upper()])
def test_a_name_is_one_of_ours(tmp_path: Path, name: str) -> None:
    with pytest.raises(ValueError, match="names no file"):
        Fetch(str(tmp_path), name, 1, 1, False)


def test_nothing_but_a_plain_file_of_its_directory_is_read(tmp_path: Path) -> None:
    directory, outside = tmp_path / "stored", tmp_path / "outside"
    directory.mkdir()
    outside.write_bytes(b"secret")
    (directory / NAME).symlink_to(outside)
    with pytest.raises(OSError, match="symbolic"):
        Fetch(str(directory), NAME, 6, 6, False)
    (directory / NAME).unlink()
    os.mkfifo(directory / NAME)
    with pytest.raises(ValueError, match="not what was announced"):
        Fetch(str(directory), NAME, 6, 6, False)
    (directory / NAME).unlink()
    (directory / NAME).write_bytes(b"secret")
    (tmp_path / "link").symlink_to(directory)
    with pytest.raises(OSError):  # noqa: PT011 - ENOTDIR or ELOOP, as the kernel says it
        Fetch(str(tmp_path / "link"), NAME, 6, 6, False)
    before = len(os.listdir("/proc/self/fd"))
    with pytest.raises(OSError, match="No such file"):
        Fetch(str(directory), "f" * 32, 6, 6, False)
    assert len(os.listdir("/proc/self/fd")) == before


def test_a_file_in_a_directory_of_somebody_else_stays_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "unlink", refuse)
    assert fetched(tmp_path, b"abc", 3, packed=False) == b"abc"


def test_the_guest_and_the_supervisor_agree_on_a_chunk() -> None:
    assert fetch.MAX_CHUNK == uploads.MAX_CHUNK


def test_a_stored_body_is_named_and_not_sent(link: Link) -> None:
    transport, channel = channel_over(link)
    body = Stored(NAME, 5, memoryview(b"x" * 1000), packed=True)
    with pytest.raises(TransportLost):
        exchange(channel, "PUT", "/context/0", {}, body, limit=10, deadline=time.monotonic() + 0.2)
    (named,) = link.lines
    assert b"Content-Length: 1000" in base64.b64decode(named.pop("d"))
    assert named == {"n": 1, "a": 0, "c": 1, "f": NAME, "s": 5, "of": 1000, "z": True}
    transport.close()
