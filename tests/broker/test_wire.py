"""Frames in the worker: whole or not at all, within their limits, with the descriptors that came with them."""

from __future__ import annotations

import json
import os
import socket
import struct
import threading
from collections.abc import Iterator

import pytest

from rlm_secure.guest import wire


@pytest.fixture
def ends(monkeypatch: pytest.MonkeyPatch) -> Iterator[tuple[wire.FrameChannel, socket.socket]]:
    """The worker's channel, and the host's end of it."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        monkeypatch.setattr(wire, "FD", ours.fileno())
        yield wire.FrameChannel(ours), theirs


def framed(message: object) -> bytes:
    body = json.dumps(message).encode("ascii")
    return struct.pack(">I", len(body)) + body


def test_frames_arrive_whole_however_they_are_cut(ends) -> None:
    channel, host = ends
    messages = [{"op": "exec", "code": "x" * 100_000}, {"op": "read", "name": "\ud800"}, {}]
    data = b"".join(map(framed, messages))

    def drip() -> None:
        for at in (0, 1, 3, 4, 5, 100_000, 100_040, len(data)):
            host.sendall(data[drip.sent : at])
            drip.sent = at

    drip.sent = 0
    writer = threading.Thread(target=drip)
    writer.start()
    assert [channel.receive() for _ in messages] == messages
    writer.join()


def test_a_frame_is_written_whole_where_it_is_within_its_limit(ends) -> None:
    channel, host = ends
    host.sendall(wire.frame({"op": "exec", "nonce": "n"}))
    assert channel.receive() == {"op": "exec"}
    message = {"op": "done", "stdout": "\ud800\u00e9\n", "numbers": [1, 2.5, None, True]}
    whole = {**message, "nonce": "n"}  # that of what it read last
    size = len(json.dumps(whole, separators=(",", ":")))
    assert not channel.send_within(message, size - 1)
    assert channel.send_within(message, size)
    data = host.recv(1 << 16)
    assert data == struct.pack(">I", size) + json.dumps(whole, separators=(",", ":")).encode()
    assert wire.frame(whole) == data
    assert wire.frame(whole, size - 1) == b""
    reader: list[bytes] = []
    thread = threading.Thread(target=lambda: reader.extend(iter(lambda: host.recv(1 << 20), b"")))
    thread.start()
    big = {"op": "done", "stdout": "x" * (3 << 20)}
    assert channel.send_within(big, wire.MAX_FRAME)  # more than a socket takes at once
    channel._socket.shutdown(socket.SHUT_WR)
    thread.join()
    assert b"".join(reader) == wire.frame({**big, "nonce": "n"})


def test_keys_stay_in_their_order_and_none_is_left_out() -> None:
    assert wire.frame({"b": 1, "a": 2})[4:] == b'{"b":1,"a":2}'
    with pytest.raises(TypeError):
        wire.frame({("no", "key"): 1})  # type: ignore[dict-item]


def test_measures_are_those_of_the_protocol() -> None:
    assert (wire.FD, wire.MAX_FRAME) == (3, 256 * 1024 * 1024)
    wire.bound(b"[" * wire.MAX_DEPTH + b"]]" + b"[" * 2)
    for deep in (b"[" * 1001, b"[[]" * 1000 + b"[", b'{"a":' * 1001):
        with pytest.raises(wire.MalformedJson, match="nested deeper than 1000"):
            wire.bound(deep)


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}, object()])
def test_what_is_no_json_is_never_written(ends, value: object) -> None:
    channel, host = ends
    with pytest.raises((TypeError, ValueError)):
        channel.send_within({"value": value}, wire.MAX_FRAME)
    host.setblocking(False)
    with pytest.raises(BlockingIOError):
        host.recv(1)


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\0\0\0",
        struct.pack(">I", wire.MAX_FRAME + 1),
        framed({"op": "exec"})[:-1],
        struct.pack(">I", 2) + b"[]",
        struct.pack(">I", 4) + b"nope",
        struct.pack(">I", 3) + b"{}}",
        struct.pack(">I", 4) + b'{"\xe9',
        framed({"value": "x"})[:4] + b"[" * 14,
        struct.pack(">I", 2002) + b"[" * 2002,
        struct.pack(">I", 5010) + b'{"value":' + b"9" * 5000 + b"}",
    ],
    ids=range(11),
)
def test_a_host_that_ends_or_sends_no_frame_is_nobody_to_work_for(ends, data: bytes) -> None:
    channel, host = ends
    host.sendall(data)
    host.shutdown(socket.SHUT_WR)
    with pytest.raises(wire.Closed):
        channel.receive()


def test_the_largest_frame_is_not_refused_for_its_length(ends) -> None:
    channel, host = ends
    host.sendall(struct.pack(">I", wire.MAX_FRAME) + b"{}")
    host.shutdown(socket.SHUT_WR)
    with pytest.raises(wire.Closed) as closed:
        channel.receive()
    assert str(closed.value) == ""  # it ended in the middle, which is another matter than a length over the limit


def test_a_reader_that_is_gone_is_noticed(ends) -> None:
    channel, host = ends
    host.close()
    with pytest.raises(wire.Closed):
        for _ in range(3):
            channel.send_within({"op": "done"}, 100)


def test_descriptors_come_with_their_frame(ends) -> None:
    channel, host = ends
    inodes = []
    for name in ("first", "second"):
        fd = os.memfd_create(name)
        os.write(fd, name.encode())
        inodes.append(os.fstat(fd).st_ino)
        socket.send_fds(host, [framed({"op": "context", "name": name})], [fd])
        os.close(fd)
    for name, inode in zip(("first", "second"), inodes, strict=True):
        assert channel.receive() == {"op": "context", "name": name}
        received = channel.take_fd()
        assert os.fstat(received).st_ino == inode
        os.close(received)


def test_other_ancillary_data_is_no_descriptor(ends) -> None:
    channel, host = ends
    channel._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    host.sendall(framed({"op": "retire"}))
    assert channel.receive() == {"op": "retire"}
    with pytest.raises(IndexError):
        channel.take_fd()
