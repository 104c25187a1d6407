"""Every request again: repeated, late, in another order, after a recovery. Each is refused or changes nothing."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from rlm_secure.guest.supervisor import supervisor
from tests.broker.support import ListeningLease, Raw, read_answer, session

START = json.dumps({"limits": {"NPROC": 1, "NOFILE": [64, 64]}, "profile": "worker", "frame_bytes": 100_000}).encode()
BEGIN = json.dumps(
    {"op": "begin", "modules": [], "source_bytes": 9999, "ast_nodes": 9999, "stdout_bytes": 9999, "value_bytes": 9999}
    | {"result_bytes": 100_000, "tools": [], "screen": True}
).encode()


def cell(code: str) -> bytes:
    return json.dumps({"op": "exec", "code": code}).encode()


def chunk(text: bytes) -> str:
    whole = hashlib.sha256(hashlib.sha256(text).digest()).hexdigest()
    return f"offset=0&total={len(text)}&sha256={whole}"


class Recorder:
    """A host whose requests are kept, byte for byte, to be sent again by whoever saw them."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.sent: list[tuple[str, bytes, tuple[int, dict[str, Any]]]] = []

    def ask(self, method: str, target: str, body: bytes = b"") -> dict[str, Any]:
        whole = self.raw.head(method, target, body) + body
        answer = self.raw.send(whole)
        self.sent.append((f"{method} /{target[1:].partition('?')[0].partition('/')[0]}", whole, answer))
        assert answer[0] == 200, answer
        return answer[1]

    def cell(self, code: str) -> dict[str, Any]:
        message = self.ask("POST", "/execute?wait=20", cell(code))
        return json.loads(message["pending"][0]["frame"])

    def start(self) -> None:
        self.ask("POST", "/session", START)
        assert self.ask("GET", "/pending?wait=20")["pending"]
        self.ask("POST", "/execute?wait=20", BEGIN)

    @property
    def worker(self) -> int:
        """The youngest process of the supervisor's."""
        return psutil.Process(self.raw.session.lease.process.pid).children(recursive=True)[-1].pid


@pytest.fixture(scope="module")
def recorded() -> Iterator[Recorder]:
    """A session with one request of every route, which was ended since and is replaced by another one."""
    with session(kind=ListeningLease) as opened:
        raw = Raw(opened.lease)
        raw.session = opened
        assert raw.ask("DELETE", "/session?fresh=1")[0] == 200
        host = Recorder(raw)
        host.ask("GET", "/health")
        host.start()
        host.ask("PUT", f"/context/0?{chunk(b'the first')}", b"the first")
        host.ask("POST", "/execute?upload=0&wait=20", b'{"op":"context","name":"text","kind":"ascii","length":9}')
        host.ask("DELETE", "/context/0")
        call = host.ask("POST", "/execute?wait=20", cell("n = llm_query('q')"))["pending"][0]
        host.ask("POST", "/respond?wait=20", json.dumps({"id": call["id"], "response": {"value": "1"}}).encode())
        question = b'{"type":"single","prompt":"p"}'
        question = raw.head("POST", "/enqueue", question) + question
        with raw.connect() as connection:
            connection.sendall(question)
            time.sleep(0.1)  # what is asked behind it must not overtake it
            while not (asked := [each for each in raw.ask("GET", "/pending?wait=1")[1]["pending"] if "request" in each]):
                time.sleep(0.01)
            host.ask("POST", "/respond", json.dumps({"id": asked[0]["id"], "response": {"response": "r"}}).encode())
            host.sent.append(("POST /enqueue", question, read_answer(connection)))
        assert host.ask("POST", "/execute?wait=0", cell("while True: pass"))["worker"] == "busy"
        host.ask("POST", "/interrupt", b'{"grace_seconds":5}')
        assert host.ask("GET", "/pending?wait=20")["pending"]
        host.ask("DELETE", "/session")
        host.start()
        host.ask("DELETE", "/session?fresh=1")
        kept, host.sent = host.sent, []
        host.start()
        host.ask("PUT", f"/context/0?{chunk(b'the next one')}", b"the next one")
        assert host.cell("n = 7\nprint(n)")["stdout"] == "7\n"
        host.sent = kept
        yield host


def unharmed(host: Recorder, worker: int) -> None:
    """The worker is the one that it was, with what it held, and so is the context of its session."""
    assert host.worker == worker
    health = host.raw.ask("GET", "/health")[1]
    assert (health["status"], health["worker"]) == ("ok", "idle")
    frame = json.loads(host.raw.ask("POST", "/execute?wait=20", cell("print(n)"))[1]["pending"][0]["frame"])
    assert frame["stdout"] == "7\n"
    body = b'{"op":"context","name":"text","kind":"ascii","length":12}'
    assert host.raw.ask("POST", "/execute?upload=0&wait=20", body)[1]["worker"] == "idle"
    frame = json.loads(host.raw.ask("POST", "/execute?wait=20", cell("print(text)"))[1]["pending"][0]["frame"])
    assert frame["stdout"] == "the next one\n"


def test_every_route_is_among_the_recorded(recorded: Recorder) -> None:
    assert {name for name, _, _ in recorded.sent} == {f"{method} {path}" for method, path in supervisor.ROUTES}


@pytest.mark.parametrize("route", [f"{method} {path}" for method, path in supervisor.ROUTES])
def test_a_late_copy_is_refused_or_changes_nothing(recorded: Recorder, route: str) -> None:
    worker = recorded.worker
    for name, whole, first in recorded.sent:
        if name == route:
            again = [recorded.raw.send(whole) for _ in range(3)]
            assert again[0] == again[1] == again[2]
            waits = any(route.endswith(each) for each in supervisor._WAITING)
            assert again[0] == first or (waits and again[0][0] in (200, 409))
    unharmed(recorded, worker)


@pytest.mark.parametrize("order", [1, -1], ids=["as they were sent", "the last one first"])
def test_late_copies_of_all_in_any_order_change_nothing(recorded: Recorder, order: int) -> None:
    worker = recorded.worker
    for _, whole, _ in recorded.sent[::order]:
        assert recorded.raw.send(whole)[0] in (200, 409)
    unharmed(recorded, worker)


def test_a_cell_that_runs_is_harmed_by_no_late_copy(recorded: Recorder) -> None:
    worker = recorded.worker
    call = recorded.raw.ask("POST", "/execute?wait=20", cell("x = llm_query('q')\nprint(x)"))[1]["pending"][0]
    for _, whole, _ in recorded.sent:
        assert recorded.raw.send(whole)[0] in (200, 409)
    assert recorded.raw.ask("GET", "/pending")[1]["pending"] == [call]
    body = json.dumps({"id": call["id"], "response": {"value": "answered"}}).encode()
    frame = json.loads(recorded.raw.ask("POST", "/respond?wait=20", body)[1]["pending"][0]["frame"])
    assert frame["stdout"] == "answered\n"
    unharmed(recorded, worker)


def test_a_request_that_was_overtaken_is_refused_and_was_not_applied(recorded: Recorder) -> None:
    """What is sent first and comes last: its host was told by nobody that it was done, and may ask again."""
    worker = recorded.worker
    bodies = {"/session": START, "/execute": cell("n = 8"), "/interrupt": b'{"grace_seconds":0}'}
    for method, path in supervisor.ROUTES:
        target = f"{path}/0" if path == "/context" else path
        body = b"" if method in ("GET", "DELETE") else bodies.get(path, b"{}")
        delayed = recorded.raw.head(method, target, body) + body
        assert recorded.raw.ask("GET", "/health")[0] == 200
        status, message = recorded.raw.send(delayed)
        assert (status, message["rule"]) == (409, "stale-id")
    unharmed(recorded, worker)


def test_a_copy_that_nobody_remembers_is_refused(recorded: Recorder) -> None:
    worker = recorded.worker
    for _ in range(supervisor.REMEMBERED):
        recorded.raw.ask("GET", "/health")
    for _, whole, _ in recorded.sent:
        status, message = recorded.raw.send(whole)
        assert (status, message["rule"]) == (409, "stale-id")
    unharmed(recorded, worker)
