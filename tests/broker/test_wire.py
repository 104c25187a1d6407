"""Frames in the worker: whole or not at all, within their limits, with the descriptors that came with them."""

from __future__ import annotations

import inspect
import json
import os
import socket
import struct
import sys
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
    assert channel.send_within(message, size - 1) is False
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


_ENDED = ""
_DEEP = b"[" * 900 + b"]" * 900


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", _ENDED),
        (b"\0\0\0", _ENDED),
        (struct.pack(">I", wire.MAX_FRAME + 1), f"frame of {wire.MAX_FRAME + 1} bytes"),
        (framed({"op": "exec"})[:-1], _ENDED),
        (struct.pack(">I", 2) + b"[]", "a frame is no object"),
        (struct.pack(">I", 4) + b"nope", "a frame is not JSON in ASCII"),
        (struct.pack(">I", 3) + b"{}}", "a frame is something stands behind the value"),
        (struct.pack(">I", 3) + b'{"\xe9', "a frame is not JSON in ASCII"),
        (framed({"value": "x"})[:4] + b"[" * 14, "a frame is not JSON in ASCII"),
        (struct.pack(">I", 2002) + b"[" * 2002, "a frame is nested deeper than 1000"),
        (struct.pack(">I", 5010) + b'{"value":' + b"9" * 5000 + b"}", "a frame is a number of more than 4300 digits"),
    ],
    ids=range(11),
)
def test_a_host_that_ends_or_sends_no_frame_is_nobody_to_work_for(ends, data: bytes, why: str) -> None:
    channel, host = ends
    host.sendall(data)
    host.shutdown(socket.SHUT_WR)
    with pytest.raises(wire.Closed) as closed:
        channel.receive()
    assert str(closed.value) == why


def test_a_frame_for_which_there_is_no_stack_left_is_the_end(ends) -> None:
    channel, host = ends
    host.sendall(struct.pack(">I", len(_DEEP)) + _DEEP)
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(len(inspect.stack(0)) + 100)
    try:
        with pytest.raises(wire.Closed, match="a frame is (maximum recursion depth exceeded|no object)"):
            channel.receive()  # newer interpreters bound their parser apart from this
    finally:
        sys.setrecursionlimit(before)


def test_nothing_is_awaited_behind_a_frame(ends) -> None:
    """However often a frame is read: with the first bytes, to the last byte, and byte by byte."""
    channel, host = ends
    channel._socket.settimeout(20)
    large = framed({"op": "exec", "code": "x" * 200_000})
    writer = threading.Thread(target=host.sendall, args=(framed({}) + large,))
    writer.start()
    assert channel.receive() == {}
    assert channel.receive()["op"] == "exec"
    writer.join()
    for byte in framed({"op": "retire"})[:4], framed({"op": "retire"})[4:]:
        host.sendall(byte)
    assert channel.receive() == {"op": "retire"}


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
    with pytest.raises(wire.Closed) as closed:
        for _ in range(3):
            channel.send_within({"op": "done"}, 100)
    assert isinstance(closed.value.__cause__, BrokenPipeError)


def test_a_connection_that_is_reset_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server, socket.create_connection(server.getsockname()) as ours:
        theirs, _ = server.accept()
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        theirs.close()
        monkeypatch.setattr(wire, "FD", ours.fileno())
        with pytest.raises(wire.Closed) as closed:
            wire.FrameChannel(ours).send_within({}, 100)
    assert isinstance(closed.value.__cause__, ConnectionResetError)


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


def test_the_last_of_several_descriptors_is_taken_first(ends) -> None:
    channel, host = ends
    pipe = os.pipe()
    socket.send_fds(host, [framed({"op": "context"})], pipe)
    assert channel.receive() == {"op": "context"}
    received = [channel.take_fd(), channel.take_fd()]
    assert [os.fstat(fd).st_ino for fd in received] == [os.fstat(fd).st_ino for fd in pipe]
    assert os.write(received[0], b"x") == 1 and os.read(pipe[0], 1) == b"x"
    for fd in (*pipe, *received):
        os.close(fd)


def test_other_ancillary_data_is_no_descriptor(ends) -> None:
    channel, host = ends
    channel._socket.setsockopt(socket.SOL_SOCKET, socket.SO_PASSCRED, 1)
    host.sendall(framed({"op": "retire"}))
    assert channel.receive() == {"op": "retire"}
    with pytest.raises(IndexError):
        channel.take_fd()
