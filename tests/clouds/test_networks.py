"""Slow, far and broken networks between the host and a provider: the real SDKs, through a proxy in front of the emulator."""

from __future__ import annotations

import asyncio
import hashlib
import json
import logging
import os
import random
import re
import string
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.broker.protocol import Call
from rlm_secure.cli import demo
from rlm_secure.errors import CellTimeout, ProtocolViolation
from tests.clouds.conftest import WIRES, Cloud, behind, limits, provided
from tests.emulators.base import until
from tests.loops import scripted

pytestmark = pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning")

#: What the broker does is the same at each provider; the second one's adapter differs most from the first one's.
TWO = ("e2b", pytest.param("modal", marks=pytest.mark.exhaustive))
SIXTEEN = "print(len(llm_query_batched([str(n) for n in range(16)])))"


def first(name: str) -> list[Any]:
    """All providers, of which one is tried each time."""
    return [name, *(pytest.param(each, marks=pytest.mark.exhaustive) for each in WIRES if each != name)]


def reply(call: Call) -> Any:
    return "r" if call.kind == "llm_query" else ["r"] * len(call.prompts)


def noise(size: int) -> str:
    """Text that no compression makes much smaller."""
    return "".join(random.Random(5).choices(string.ascii_letters + string.digits + "+/", k=size))


def left_over(cloud: Cloud) -> list[Path]:
    """The files of contexts that are in a sandbox."""
    return [path for box in cloud.emulator.made for path in box.home.glob(".rlm-secure-*/stored/*")]


@pytest.mark.parametrize("name", TWO)
def test_a_slow_uplink_carries_a_context_once(name: str) -> None:
    text = noise(600_000)  # with base64 twice, as E2B has it, 8.5 s of this link
    with behind(name, delay=0.05) as (cloud, proxy), cloud.session() as session:
        proxy.up.rate = 1_000_000 / 8
        before = proxy.up.bytes
        session.load_context("context_0", text)
        assert session.execute("print(len(context_0), context_0[-9:])", reply).stdout == f"600000 {text[-9:]}\n"
        assert proxy.up.bytes - before < 1.9 * len(text)


@pytest.mark.parametrize("name", [pytest.param("e2b", marks=pytest.mark.exhaustive), "modal"])
def test_a_slow_downlink_carries_a_result_once(name: str) -> None:
    with behind(name, delay=0.05) as (cloud, proxy), cloud.session() as session:
        proxy.down.rate = 2_000_000 / 8
        before = proxy.down.bytes
        result = session.execute("answer = {'content': 'x' * 900_000, 'ready': True}", reply)
        assert result.answer is not None
        assert len(result.answer.text) == 900_000
        assert proxy.down.bytes - before < 2.2 * 900_000


@pytest.mark.parametrize("name", TWO)
def test_a_far_cell_is_one_request_and_a_far_call_one_more(name: str) -> None:
    with behind(name, delay=0.05) as (cloud, _), cloud.session() as session:

        def requests(code: str) -> int:
            before = len(cloud.emulator.recorded(cloud.wire.write))
            assert session.execute(code, slowly).error is None
            time.sleep(0.6)
            return len(cloud.emulator.recorded(cloud.wire.write)) - before

        def slowly(call: Call) -> Any:
            time.sleep(0.6)
            return reply(call)

        for code, least in (("x = 1", 1), ("llm_query('q')", 2), (SIXTEEN, 2)):
            found = []
            for _ in range(2):
                time.sleep(0.7)  # after a second, what nothing else acknowledged is acknowledged
                found.append(requests(code))
            assert min(found) == least, (code, found)


@pytest.mark.parametrize("name", first("e2b"))
def test_a_large_context_comes_as_files(name: str, caplog: pytest.LogCaptureFixture) -> None:
    halves = "".join(map(str, range(2_000_000))), noise(2_000_000)
    text = "".join(halves)
    with behind(name, delay=0.01) as (cloud, proxy), cloud.session() as session:
        written, sent = len(cloud.emulator.recorded(cloud.wire.write)), proxy.up.bytes
        with caplog.at_level(logging.WARNING, "rlm_secure"):
            session.load_context("context_0", text)
        code = "import hashlib\nprint(hashlib.sha256(context_0.encode()).hexdigest())"
        expected = hashlib.sha256(text.encode()).hexdigest()
        assert session.execute(code, reply).stdout == f"{expected}\n"
        assert not caplog.records
        assert proxy.up.bytes - sent < len(text), "the half that can be compressed is"
        assert len(cloud.emulator.recorded(cloud.wire.write)) - written < 16, "the stream carries the requests alone"
        assert until(lambda: not left_over(cloud)), left_over(cloud)


@pytest.mark.parametrize("name", first("kubernetes"))
def test_a_sandbox_has_room_for_files_that_cannot_be_compressed(name: str, caplog: pytest.LogCaptureFixture) -> None:
    text = random.Random(1).randbytes(24_000_000).decode("latin-1")
    with provided(name) as cloud, cloud.session() as session:
        with caplog.at_level(logging.WARNING, "rlm_secure"):
            session.load_context("context_0", text)
        assert not caplog.records
        code = "import hashlib\nprint(hashlib.sha256(context_0.encode('latin-1')).hexdigest())"
        expected = hashlib.sha256(text.encode("latin-1")).hexdigest()
        assert session.execute(code, reply).stdout == f"{expected}\n"


@pytest.mark.parametrize("name", TWO)
def test_a_context_whose_file_cannot_be_written_comes_over_the_stream(
    name: str, caplog: pytest.LogCaptureFixture
) -> None:
    text = noise(1_200_000)
    with provided(name) as cloud, cloud.session() as session:
        where = cloud.wire.upload if name == "e2b" else cloud.wire.run
        cloud.emulator.fail(where, status=400, times=9)
        with caplog.at_level(logging.WARNING, "rlm_secure"):
            session.load_context("context_0", text)
        cloud.emulator.faults.clear()
        assert session.execute("print(len(context_0), context_0[-9:])", reply).stdout == f"1200000 {text[-9:]}\n"
        (said,) = [each.getMessage() for each in caplog.records]
        assert said.startswith("a context comes over the stream: its file could not be put there (")


def test_a_file_that_is_not_what_was_signed_is_never_a_context(caplog: pytest.LogCaptureFixture) -> None:
    text = noise(1_200_000)
    with provided("e2b") as cloud, cloud.session() as session:
        upload = cloud.emulator._upload
        damage = ""

        def damaged(box: Any, request: Any) -> Any:
            answer = upload(box, request)
            path = box.path(request.query["path"])
            data = path.read_bytes()
            if damage == "other":
                path.write_bytes(bytes([data[0] ^ 1]) + data[1:])
            elif damage == "short":
                path.write_bytes(data[1:])
            else:
                path.unlink()
            if damage == "link":
                outside = box.home / "outside"
                outside.write_bytes(data)
                path.symlink_to(outside)
            return answer

        cloud.emulator._upload = damaged
        for damage in ("gone", "link", "short"):
            caplog.clear()
            with caplog.at_level(logging.WARNING, "rlm_secure"):
                session.load_context("context_0", text)
            assert session.execute("print(len(context_0), context_0[-9:])", reply).stdout == f"1200000 {text[-9:]}\n"
            (said,) = [each.getMessage() for each in caplog.records]
            assert said.startswith("a context comes over the stream: the sandbox did not take its file ("), damage
        damage = "other"
        never_compressed = os.urandom(1_200_000).decode("latin-1")
        with pytest.raises(ProtocolViolation, match="not signed"):
            session.load_context("context_0", never_compressed)


def outage(name: str, seconds: float) -> None:
    """Cells, calls and a context while nothing is carried for so long."""
    with behind(name, delay=0.02) as (cloud, proxy), cloud.session(limits(cell_seconds=120)) as session:
        asked: list[str] = []

        def dark(call: Call) -> Any:
            asked.append(call.prompts[0])
            if len(asked) == 1:
                proxy.outage(seconds)
            return reply(call)

        began = time.monotonic()
        assert session.execute("a = llm_query('1')\nprint(a, llm_query('2'))", dark).stdout == "r r\n"
        assert asked == ["1", "2"]
        assert time.monotonic() - began > seconds
        timer = threading.Timer(0.1, proxy.outage, (seconds,))
        timer.start()
        session.load_context("context_0", noise(1_500_000))
        timer.join()
        assert session.execute("print(a, len(context_0))", reply).stdout == "r 1500000\n"


@pytest.mark.parametrize("name", WIRES)
def test_an_outage_of_three_seconds_is_waited_out(name: str) -> None:
    outage(name, 3.0)


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", WIRES)
def test_an_outage_of_45_seconds_is_waited_out(name: str) -> None:
    outage(name, 45.0)


@pytest.mark.parametrize(
    ("name", "link"),
    [
        ("e2b", {"delay": 0.1, "up": 20e6, "down": 20e6}),
        ("modal", {"delay": 0.02, "up": 20e6, "down": 20e6}),
        ("daytona", {"delay": 0.05, "up": 10e6, "down": 10e6}),
        ("prime", {"delay": 0.05, "up": 10e6, "down": 10e6}),
        ("kubernetes", {"delay": 0.02, "up": 5e6, "down": 5e6}),
        pytest.param("e2b", {"delay": 0.05, "up": 2e6, "down": 2e6}, marks=pytest.mark.exhaustive),
        pytest.param("modal", {"delay": 0.05, "up": 1e6, "down": 1e6}, marks=pytest.mark.exhaustive),
    ],
    ids=lambda each: each if isinstance(each, str) else "-".join(f"{value:g}" for value in each.values()),
)
def test_everything_works_over_a_network_that_is_far_and_slow(name: str, link: dict[str, float]) -> None:
    with behind(name, **link) as (cloud, proxy):
        with cloud.session(limits(cell_seconds=60)) as session:
            assert session.execute("kept = 7\nprint(llm_query('q'))", reply).stdout == "r\n"
            assert session.execute(SIXTEEN, reply).stdout == "16\n"
            session.load_context("context_0", "a context of 20 MB " * 1_052_632)
            assert session.execute("print(len(context_0), kept)", reply).stdout == "20000008 7\n"
            stopped = session.execute("import time\nwhile True: time.sleep(1)", reply, seconds=1)
            assert isinstance(stopped.error, CellTimeout)
            assert session.execute("print(kept, len(context_0))", reply).stdout == "7 20000008\n"
        sources = demo.read_sources(Path(asyncio.__file__).parent)
        turns = [turn.replace("ASK", json.dumps(demo.ASK)) for turn in demo.TURNS]
        rlm = scripted(turns, demo.reader, policy=cloud.policy(), environment=name, environment_kwargs=cloud.options)
        assert rlm.completion(sources, demo.QUESTION).response == demo.plain_answer(sources.values())


@pytest.mark.parametrize("name", WIRES)
def test_connections_that_are_reset_lose_and_repeat_nothing(name: str) -> None:
    asked: list[str] = []

    def answer(call: Call) -> str:
        asked.append(call.prompts[0])
        return str(len(asked))

    with behind(name, delay=0.01) as (cloud, proxy), cloud.session(limits(cell_seconds=60)) as session:
        proxy.reset = 6000
        code = "print([llm_query(str(n) * 100) for n in range(12)])"
        assert session.execute(code, answer).stdout == f"{[str(n) for n in range(1, 13)]}\n"
        assert [re.sub(r"(.+?)\1{99}", r"\1", each) for each in asked] == [str(n) for n in range(12)]
        assert proxy.resets > 0
        proxy.reset = 0
