"""Contexts as files: when they are compressed, and what happens to those that are on their way."""

from __future__ import annotations

import asyncio
import os
import threading
import time
import zlib
from collections.abc import Iterator

import pytest

from rlm_secure.broker.client import STORED_CHUNK
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


def test_what_only_begins_well_is_not_compressed(monkeypatch: pytest.MonkeyPatch) -> None:
    slow = Uplink()
    slow.took(1_000_000, 40.0)
    monkeypatch.setattr(module, "_SAMPLE", 100)
    assert slow.pack(memoryview(bytes(100) + os.urandom(2_000_000))) is None


def test_two_files_are_on_their_way_and_come_in_order(loop: Loop) -> None:
    data = memoryview(bytes(4 * STORED_CHUNK + 5))
    under_way, most, names = 0, 0, []

    async def put(name: str, content: bytes) -> str:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        await asyncio.sleep(0.05)
        under_way -= 1
        names.append(name)
        return name

    found = list(stored(loop, put, explain, Uplink(), data))
    assert [len(each) for each in found if each is not None] == [STORED_CHUNK] * 4 + [5]
    assert [each.name for each in found if each is not None] == names
    assert most == 2


def test_after_a_file_that_cannot_be_written_none_is_tried(loop: Loop, caplog: pytest.LogCaptureFixture) -> None:
    ended = threading.Event()
    tried: list[str] = []

    async def put(name: str, content: bytes) -> str:
        tried.append(name)
        if len(tried) == 1:
            raise OSError("no disk")
        try:
            await asyncio.sleep(60)
        finally:
            ended.set()
        return name

    assert list(stored(loop, put, explain, Uplink(), memoryview(bytes(9 * STORED_CHUNK)))) == [None]
    assert ended.wait(10), "the one that was on its way is cancelled"
    assert len(tried) == 2
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

    chunks = stored(loop, put, explain, Uplink(), memoryview(bytes(STORED_CHUNK)))
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
