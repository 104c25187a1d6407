"""Contexts as files beside a real supervisor: several are on their way at once, and what is lost is sent again."""

from __future__ import annotations

import contextlib
import json
import logging
import os
import random
import secrets
import zlib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.broker.client import Declined
from rlm_secure.broker.transports import BadResponse, Body, Response, Several, Stored
from rlm_secure.errors import ProtocolViolation
from rlm_secure.guest.supervisor.dial import Outgoing
from tests.broker.lying import LyingLease, Supervisor
from tests.broker.support import DialledLease, policy, session
from tests.broker.test_dial import LossyPipe

SIZE = 300_000
COUNT = 9


class LossyLease(DialledLease):
    def make(self, command: list[str]) -> Any:
        return LossyPipe(command, random.Random(5))


def noise() -> memoryview:
    return memoryview(os.urandom(COUNT * SIZE - 7))


class Files:
    """The chunks of a context as files of a lease, every second one compressed. `before` is told each one's number."""

    def __init__(self, lease: Any, data: memoryview, before: Callable[[int, Path], None] = lambda number, path: None):
        self.directory = Path(lease.path).parent / "stored"
        self.directory.mkdir(exist_ok=True)
        self.given = 0
        self.ended = False
        self._data = data
        self._before = before

    def chunks(self, behind: int = 3) -> Iterator[Stored | None]:
        try:
            for number in range(COUNT):
                chunk = self._data[number * SIZE : (number + 1) * SIZE]
                content = zlib.compress(chunk, 1) if number % 2 else bytes(chunk)
                path = self.directory / secrets.token_hex(16)
                path.write_bytes(content)
                self._before(number, path)
                self.given += 1
                there = Stored(path.name, len(content), chunk, packed=bool(number % 2))
                there.behind = behind
                yield there
        finally:
            self.ended = True


@pytest.fixture
def dialled() -> Iterator[Any]:
    with session(kind=DialledLease) as opened:
        yield opened


@pytest.mark.parametrize("kind", [DialledLease, LossyLease])
def test_files_whose_answers_nobody_waits_for_arrive_in_order(kind: type[DialledLease]) -> None:
    data = noise()
    with session(kind=kind) as opened:
        lease: Any = opened.lease  # type: ignore[attr-defined]
        files = Files(lease, data)
        lease.client.upload(0, data, seconds=60, stored=files.chunks())  # the supervisor has compared the digest
        lease.client.drop(0, seconds=60)
        assert files.given == COUNT
        assert list(files.directory.iterdir()) == [] or kind is LossyLease


def test_one_after_the_other_where_there_is_room_for_one(dialled: Any) -> None:
    data = noise()
    files = Files(dialled.lease, data, lambda number, path: None)
    most = 0

    def count(number: int, path: Path) -> None:
        nonlocal most
        most = max(most, len(list(files.directory.iterdir())))

    files._before = count
    dialled.lease.client.upload(0, data, seconds=60, stored=files.chunks(behind=0))
    assert most == 1


def test_a_file_that_is_not_taken_sends_the_rest_over_the_stream(
    dialled: Any, caplog: pytest.LogCaptureFixture
) -> None:
    data = noise()
    files = Files(dialled.lease, data, lambda number, path: path.unlink() if number == 2 else None)
    with caplog.at_level(logging.WARNING, "rlm_secure"):
        dialled.lease.client.upload(0, data, seconds=60, stored=files.chunks())
    assert files.ended
    assert {each.getMessage().partition(" (")[0] for each in caplog.records} == {
        "a context comes over the stream: the sandbox did not take its file"
    }
    dialled.lease.client.upload(1, data, seconds=60, stored=Files(dialled.lease, data).chunks())


def test_a_last_file_with_other_bytes_is_a_violation(dialled: Any) -> None:
    data = noise()

    def damage(number: int, path: Path) -> None:
        if number == COUNT - 1:
            path.write_bytes(b"x" * path.stat().st_size)

    with pytest.raises(ProtocolViolation, match="not signed"):
        dialled.lease.client.upload(0, data, seconds=60, stored=Files(dialled.lease, data, damage).chunks())


def test_what_a_broken_stream_lost_is_sent_again(dialled: Any) -> None:
    data = noise()

    def cut(number: int, path: Path) -> None:
        if number in (1, 4, 8):
            dialled.lease.pipes[-1].process.kill()

    dialled.lease.client.upload(0, data, seconds=60, stored=Files(dialled.lease, data, cut).chunks())
    assert len(dialled.lease.pipes) > 1


def test_a_request_that_was_overtaken_is_sent_again(dialled: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    data = noise()
    client = dialled.lease.client

    def overtake(number: int, path: Path) -> None:
        if number == 3:
            late = client._next()
            client.health(seconds=60)
            monkeypatch.setattr(client, "_next", lambda: monkeypatch.undo() or late)

    client.upload(0, data, seconds=60, stored=Files(dialled.lease, data, overtake).chunks())


def test_a_refusal_among_several_is_raised(dialled: Any) -> None:
    data = noise()
    client = dialled.lease.client

    def drop(number: int, path: Path) -> None:
        if number == 5:
            client.drop(0, seconds=60)

    with pytest.raises(Declined, match="PUT /context/0"):
        client.upload(0, data, seconds=60, stored=Files(dialled.lease, data, drop).chunks())


class Pipelined(Supervisor):
    """Carries several requests at once. The answer to each PUT is what `odd` says of the supervisor's own."""

    def __init__(self, odd: Callable[[Response], Response]) -> None:
        super().__init__()
        self.odd = odd
        self._answers: list[Response] = []

    @contextlib.contextmanager
    def exchanges(self, *, deadline: float, patience: float) -> Iterator[Several]:
        self._answers.clear()
        yield self

    def send(self, method: str, target: str, headers: Mapping[str, str], body: Body) -> None:
        assert isinstance(body, Stored)
        self._answers.append(self.request(method, target, headers, body.data, limit=0, deadline=0.0))

    def answer(self, limit: int) -> Response:
        answer = self.odd(self._answers.pop(0))
        if answer.status != 200:
            self._held = 0
        return answer


def one(data: memoryview) -> Iterator[Stored | None]:
    yield Stored("f" * 32, data.nbytes, data, packed=False)


def bad(answer: Response) -> Response:
    raise BadResponse("noise")


def more(answer: Response) -> Response:
    return Response(200, answer.headers, json.dumps({"received": 9}).encode())


def test_answers_to_several_are_believed_as_any_other() -> None:
    data = memoryview(b"hello")

    def upload(supervisor: Supervisor, stored: Iterator[Stored | None] | None = None) -> None:
        LyingLease(policy(), supervisor).client.upload(0, data, seconds=5, stored=stored or one(data))

    upload(Pipelined(lambda answer: answer))
    upload(Supervisor())  # it carries one at a time
    upload(Supervisor(), iter([None]))
    with pytest.raises(ProtocolViolation, match="noise"):
        upload(Pipelined(bad))
    with pytest.raises(ProtocolViolation, match="not signed"):
        upload(Pipelined(more))
    upload(Pipelined(lambda answer: Response(503, {}, b"")))
    lying = Pipelined(lambda answer: answer)
    lying.change = lambda route, asked, answer: {**answer, "received": 4}
    with pytest.raises(ProtocolViolation, match="lost a part"):
        upload(lying)


def test_what_has_arrived_is_not_sent_again() -> None:
    data = memoryview(b"hello, world")
    supervisor = Pipelined(lambda answer: Response(503, {}, b""))

    def two() -> Iterator[Stored | None]:
        for number, chunk in enumerate((data[:5], data[5:])):
            there = Stored(f"{number:032x}", chunk.nbytes, chunk, packed=False)
            there.behind = 1
            yield there

    supervisor.change = lambda route, asked, answer: {**answer, "received": data.nbytes}
    LyingLease(policy(), supervisor).client.upload(0, data, seconds=5, stored=two())
    assert len(supervisor.asked) == 3, "the answer to the first one, sent again, says that the second one is there"


def test_what_one_connection_is_sent_keeps_its_order(tmp_path: Path) -> None:
    outgoing = Outgoing(str(tmp_path))
    assert not outgoing
    assert outgoing.next() == b""
    names = [f"{number:032x}" for number in range(3)]
    for number, name in enumerate(names):
        (tmp_path / name).write_bytes(b"file %d " % number)
        outgoing.add(b"head %d " % number, (name, 7, 7, False))
    outgoing.add(b"", None)
    outgoing.add(b"end", None)
    said = b""
    while waiting := outgoing.next():
        assert outgoing
        said += waiting[:4]
        del waiting[:4]
    assert said == b"head 0 file 0 head 1 file 1 head 2 file 2 end"
    assert not outgoing
    assert list(tmp_path.iterdir()) == []
    outgoing.close(remove=True)
    outgoing.add(b"", (names[0], 7, 7, False))
    with pytest.raises(FileNotFoundError):
        outgoing.next()
    (tmp_path / names[1]).write_bytes(b"file 1 ")
    outgoing.add(b"", (names[1], 7, 7, False))
    assert outgoing.next() == b"file 1 "
    outgoing.close(remove=False)
    assert [each.name for each in tmp_path.iterdir()] == [names[1]]
