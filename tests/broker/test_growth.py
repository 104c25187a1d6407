"""What a supervisor reads of others costs twice as much when it is twice as long, however it is cut and made."""

from __future__ import annotations

import contextlib
import socket
import struct
from collections.abc import Callable, Iterator

import pytest

from rlm_secure.guest.supervisor import bodies, http, worker_link, zygote_link
from tests.growth.cost import assert_linear


def call(work: Callable[[], object]) -> None:
    work()


def reading(data: bytes, piece: int) -> None:
    """A fresh reader that gets `data`, so many bytes at a time."""
    reader = http.Reader(bytes(32), lambda *_: 1 << 30)
    with contextlib.suppress(http.HttpError):
        for at in range(0, len(data), piece):
            reader._buffer += data[at : at + piece]
            reader.next()


#: Heads as long as they may be: whatever they are made of, they come to no signature.
HEADS: dict[str, Callable[[int], bytes]] = {
    "a header of spaces, and a byte that none has": lambda size: b"X:" + b" " * size + b"\x7f",
    "a header of tabs and spaces": lambda size: b"X:" + b"\t " * (size // 2) + b"\x7f",
    "a header of colons": lambda size: b"X" + b":" * size + b"\x7f",
    "a name without an end": lambda size: b"X" * size,
    "headers without a value": lambda size: b"\r\n".join([b"X:"] * (size // 4)),
    "line ends, each only half": lambda size: b"X: " + b"\r" * size,
}


@pytest.mark.parametrize("piece", [1 << 16, 1], ids=["whole", "byte by byte"])
@pytest.mark.parametrize("made", HEADS.values(), ids=HEADS)
def test_a_head_costs_what_it_is_long(made: Callable[[int], bytes], piece: int) -> None:
    def work(size: int) -> Callable[[], object]:
        data = b"GET /health HTTP/1.1\r\n" + made(size) + b"\r\n\r\n"
        return lambda: reading(data, piece)

    assert_linear(work, call, begin=7000 if piece == 1 else 14_000, fixed=True)


@pytest.mark.parametrize("line", [b"G" * 40_000, b"GET /" + b"a" * 40_000, b"GET /?" + b"&=" * 20_000, b"A A" * 9000])
def test_a_request_line_without_an_end_is_not_listened_to(line: bytes) -> None:
    reader = http.Reader(bytes(32), lambda *_: 0)
    with pytest.raises(http.HttpError) as refused:
        for at in range(0, len(line), 100):
            reader._buffer += line[at : at + 100]
            reader.next()
    assert (refused.value.status, refused.value.rule) == (400, "request-line")
    assert len(reader._buffer) < http.MAX_REQUEST_LINE + 100


def test_a_header_is_as_long_as_it_may_be_and_no_longer() -> None:
    for size, rule in ((http.MAX_HEADER - 2, "unsigned"), (http.MAX_HEADER - 1, "head-size")):
        reader = http.Reader(bytes(32), lambda *_: 0)
        reader._buffer += b"GET /health HTTP/1.1\r\nX:" + b"a" * size + b"\r\n\r\n"
        with pytest.raises(http.HttpError) as refused:
            reader.next()
        assert refused.value.rule == rule


# -- a worker's frames, and what the kernel says of it ------------------------------------------------------------------


class Nobody:
    """A zygote to whom nothing is said."""

    def signal(self, _pid: int, _number: int) -> None:
        pass


@contextlib.contextmanager
def listening(frame_bytes: int) -> Iterator[tuple[worker_link.WorkerLink, socket.socket]]:
    ours, theirs = socket.socketpair()
    with theirs:
        made = worker_link.WorkerLink(ours, None, 0, frame_bytes, Nobody())  # type: ignore[arg-type]
        try:
            yield made, theirs
        finally:
            made.close()


FRAMES: dict[str, tuple[Callable[[int], bytes], int]] = {
    "in pieces": (lambda size: b"x" * size, 1024),
    "byte by byte": (lambda size: b"x" * (size // 64), 1),
    "not of printable ASCII at its end": (lambda size: b"x" * (size - 1) + b"\x80", 1024),
}


@pytest.mark.parametrize(("made", "piece"), FRAMES.values(), ids=FRAMES)
def test_a_frame_costs_what_it_is_long(made: Callable[[int], bytes], piece: int) -> None:
    def work(size: int) -> Callable[[], object]:
        body = made(size)
        data = struct.pack(">I", len(body)) + body

        def hear() -> None:
            with listening(1 << 30) as (worker, theirs), contextlib.suppress(zygote_link.LinkError):
                said = None
                for at in range(0, len(data), piece):
                    theirs.send(data[at : at + piece])
                    said = worker.frame()
                assert said is not None and len(said) == len(body)

        return hear

    assert_linear(work, call, begin=1 << 17, fixed=True)


def test_a_worker_that_never_stops_talking_is_left_to_be_heard_later() -> None:
    """Whoever writes while it is read would keep its supervisor from everybody else."""
    with listening(1 << 30) as (worker, _):
        worker.socket.close()
        reads = []

        class Endless:
            def recv(self, size: int) -> bytes:
                reads.append(size)
                return b"\0\x0f\xff\xff"[len(reads) - 1 : len(reads)] or b"x"

            def close(self) -> None:
                pass

        worker.socket = Endless()  # type: ignore[assignment]
        assert worker.frame() is None
        assert len(reads) < 100


STATUS = "Name:\tpython3\nUid:\t1\t1\t1\t1\nGroups:\t{groups}\nVmPTE:\t  64 kB\nVmSwap:\t  0 kB\n"


def test_what_the_kernel_says_of_a_worker_costs_what_it_is_long(monkeypatch: pytest.MonkeyPatch) -> None:
    def work(size: int) -> Callable[[], object]:
        said = {1: b"9 8 7 6 0 5 0\n", 2: STATUS.format(groups="65534 " * (size // 6)).encode()}

        def look() -> None:
            monkeypatch.setattr(worker_link.os, "pread", lambda fd, *_: said[fd])
            worker._files = {"statm": 1, "status": 2}
            assert worker.held_bytes() and worker.users() == [1, 1, 1, 1]
            worker._files = {}

        return look

    with listening(1000) as (worker, _):
        assert_linear(work, call, begin=200_000, fixed=True)
        monkeypatch.undo()


BODIES: dict[str, Callable[[int], bytes]] = {
    "a long text": lambda size: b'{"op":"' + b"x" * size + b'"}',
    "escapes": lambda size: b'{"op":"' + b"\\u0041" * (size // 6) + b'"}',
    "backslashes": lambda size: b'{"op":"' + b"\\\\" * (size // 2) + b'"}',
    "names": lambda size: b'{"op":"exec",' + b",".join(b'"%06d":0' % each for each in range(size // 11)) + b"}",
    "brackets": lambda size: b'{"op":[' + b"[" * size,
    "brackets in texts": lambda size: b'{"op":[' + b'"[",' * (size // 4) + b"0]}",
    "digits": lambda size: b'{"op":' + b"9" * size + b"}",
    "white space": lambda size: b" " * size + b'{"op":1}' + b"\n" * size,
}


@pytest.mark.parametrize("made", BODIES.values(), ids=BODIES)
def test_a_body_costs_what_it_is_long(made: Callable[[int], bytes]) -> None:
    def work(size: int) -> Callable[[], object]:
        data = made(size)

        def read() -> None:
            with contextlib.suppress(http.HttpError):
                bodies.fields(data, {"op": str}, more=True)

        return read

    assert_linear(work, call, begin=20_000, fixed=True)


QUERIES = ["wait=" + "9" * 240, "&" * 250, "a=" + "=" * 250, "wait=0." + "0" * 240, "&".join(f"a{n}=1" for n in range(40))]


@pytest.mark.parametrize("query", QUERIES)
def test_a_query_is_bounded_before_it_is_read(query: str) -> None:
    """No longer one is a request line, so that what reads it meets this much at most."""
    target = f"/pending?{query}"
    with contextlib.suppress(http.HttpError):
        http._request_line(f"GET {target} HTTP/1.1".encode())
    with pytest.raises(http.HttpError):
        http._request_line(f"GET {target}{'x' * 257} HTTP/1.1".encode())
