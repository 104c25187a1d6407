"""Contexts as files: when they are compressed, and what happens to those that are on their way."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import zlib
from collections.abc import Iterator

import pytest

from rlm_secure.broker.client import CHUNK
from rlm_secure.broker.transports import Stored
from rlm_secure.environments.cloud import stored as module
from rlm_secure.environments.cloud.stored import Uplink, stored
from rlm_secure.environments.cloud.stream import Loop

TEXT = memoryview(b"a text that can be compressed " * 100_000)


@pytest.fixture
def loop() -> Iterator[Loop]:
    made = Loop("test")
    yield made
    made.close()


def explain(error: BaseException) -> tuple[str, bool]:
    return str(error), False


def test_what_is_slow_to_send_is_compressed_and_what_is_fast_is_not() -> None:
    slow, fast, unknown = Uplink(), Uplink(), Uplink()
    slow.took(1_000_000, 4.0)
    fast.took(1 << 40, 1.0)
    unknown.took(1000, 0.5)  # this says how far it is, not how fast
    packed = slow.pack(TEXT)
    assert packed is not None
    assert zlib.decompress(packed) == TEXT
    assert fast.pack(TEXT) is None
    assert unknown._rate == module._RATE
    noise = memoryview(os.urandom(200_000))
    assert slow.pack(noise) is None
    assert slow.pack(memoryview(bytes(70_000) + bytes(noise))) is not None


def test_how_far_a_sandbox_is_does_not_make_its_network_slow() -> None:
    far = Uplink()
    far.took(100_000, 0.2)
    far.took(20_000_000, 0.4)
    assert far._rate == pytest.approx(1e8)
    far.took(20_000_000, 0.2)  # as far as an empty file, by what is known: it is not infinitely fast
    assert far._rate == pytest.approx(1e9)
    several = Uplink()
    with several.writing(8_000_000), several.writing(8_000_000), several.writing(8_000_000):
        time.sleep(0.2)
    assert 24_000_000 / several._rate == pytest.approx(0.02, rel=0.5), "they shared the time"
    rate = several._rate
    with pytest.raises(OSError), several.writing(100_000_000):
        raise OSError
    assert several._rate == rate
    assert several._under_way == 0


@pytest.mark.parametrize(("rate", "ahead"), [(1e5, 2), (module._RATE, 6), (1e9, 6), (7e6, 4)])
def test_more_files_are_on_their_way_where_they_take_less_time(rate: float, ahead: int) -> None:
    uplink = Uplink()
    uplink.took(int(rate), 1.0)
    assert uplink.ahead == ahead


def test_what_only_begins_well_is_not_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Uplink()
    slow.took(1_000_000, 40.0)
    monkeypatch.setattr(module, "_SAMPLE", 100)
    assert slow.pack(memoryview(bytes(100) + os.urandom(2_000_000))) is None


@pytest.mark.parametrize(("room", "expected"), [(1, 1), (3, 2), (12, 6)])
def test_files_are_on_their_way_together_and_come_in_order(loop: Loop, room: int, expected: int) -> None:
    data = memoryview(bytes(8 * CHUNK + 5))
    under_way, most, names = 0, 0, set()

    async def put(name: str, content: bytes) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.2 / (1 + len(names)))
        under_way -= 1
        names.add(name)
        return name

    found = [each for each in stored(loop, put, explain, Uplink(), data, room) if each is not None]
    assert [len(each) for each in found] == [CHUNK] * 8 + [5]
    assert {each.name for each in found} == names
    assert most == expected
    assert {each.behind for each in found} == {room // 2}


def test_after_a_file_that_cannot_be_written_none_is_tried(loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    tried: set[int] = set()
    data = bytearray(9 * CHUNK)
    data[::CHUNK] = range(9)
    fast = Uplink()
    fast.took(1 << 40, 1.0)  # nothing is compressed: the first byte is the chunk's number

    async def put(name: str, content: bytes) -> str:
        tried.add(content[0])
        try:
            while tried < {0, 1, 2}:
                await asyncio.sleep(0.01)
            if content[0] == 0:
                raise OSError("no disk")
            await asyncio.sleep(60)
        finally:
            if content[0] == 2:
                ended.set()
        return name

    assert list(stored(loop, put, explain, fast, memoryview(data))) == [None]
    assert ended.wait(10), "what was on its way is cancelled"
    assert tried <= set(range(6))
    assert [each.getMessage() for each in caplog.records] == [
        "a context comes over the stream: its file could not be put there (no disk)"
    ]


def test_who_stops_cancels_what_is_on_its_way(loop: Loop) -> None:
    ended = threading.Event()
    began = threading.Event()

    async def put(name: str, content: bytes) -> str:
        if began.is_set():
            return name
        began.set()
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return name

    chunks = stored(loop, put, explain, Uplink(), memoryview(bytes(CHUNK)))
    closing = threading.Timer(0.3, loop.close)
    closing.start()
    started = time.monotonic()
    assert next(chunks) is None, "the loop was closed, and with it the sandbox"
    closing.join()
    assert time.monotonic() - started < 20
    assert ended.is_set()
    assert list(stored(loop, put, explain, Uplink(), memoryview(bytes(5)))) == [None]


def test_a_stored_chunk_is_as_long_as_its_bytes() -> None:
    assert len(Stored("a", 3, memoryview(b"12345"), packed=True)) == 5
