"""What a supervisor reads of others costs twice as much when it is twice as long, however it is cut and made."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable

import pytest

from rlm_secure.guest import http

#: What twice the input may cost: twice as much, and what a busy machine adds.
MOST = 2.3


def seconds(work: Callable[[], object]) -> float:
    """Processor time of `work`, the best of several, each long enough for the clock."""
    times, took, best = 1, 0.0, 1e9
    while took < 0.002:
        times *= 2
        took = once(work, times)
    for _ in range(5):
        best = min(best, once(work, times))
    return best / times


def once(work: Callable[[], object], times: int) -> float:
    began = time.process_time()
    for _ in range(times):
        work()
    return time.process_time() - began


def growth(work: Callable[[int], Callable[[], object]], size: int) -> float:
    """What twice `size` costs beside `size`: the least of several looks, as a machine that is busy only adds."""
    least = 1e9
    for _ in range(5):
        least = min(least, seconds(work(2 * size)) / seconds(work(size)))
        if least <= MOST:
            break
    return least


def reading(data: bytes, piece: int) -> None:
    """A fresh reader that gets `data`, so many bytes at a time."""
    reader = http.Reader(bytes(32), lambda *_: 1 << 30)
    with contextlib.suppress(http.Bad):
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

    assert growth(work, 7000 if piece == 1 else 14_000) <= MOST


@pytest.mark.parametrize("line", [b"G" * 40_000, b"GET /" + b"a" * 40_000, b"GET /?" + b"&=" * 20_000, b"A A" * 9000])
def test_a_request_line_without_an_end_is_not_listened_to(line: bytes) -> None:
    reader = http.Reader(bytes(32), lambda *_: 0)
    with pytest.raises(http.Bad) as refused:
        for at in range(0, len(line), 100):
            reader._buffer += line[at : at + 100]
            reader.next()
    assert (refused.value.status, refused.value.rule) == (400, "request-line")
    assert len(reader._buffer) < http.MAX_REQUEST_LINE + 100


def test_a_header_is_as_long_as_it_may_be_and_no_longer() -> None:
    for size, rule in ((http.MAX_HEADER - 2, "unsigned"), (http.MAX_HEADER - 1, "head-size")):
        reader = http.Reader(bytes(32), lambda *_: 0)
        reader._buffer += b"GET /health HTTP/1.1\r\nX:" + b"a" * size + b"\r\n\r\n"
        with pytest.raises(http.Bad) as refused:
            reader.next()
        assert refused.value.rule == rule
