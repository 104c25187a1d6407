"""A supervisor without descriptors, without memory, without a zygote: each failure is a signed answer, and it lives on."""

from __future__ import annotations

import contextlib
import json
import resource
import socket
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from tests.broker.support import ListeningLease, Raw, read_answer, session

START = json.dumps({"limits": {"NPROC": 1, "NOFILE": [64, 64]}, "profile": "worker", "frame_bytes": 100_000}).encode()
SIGNED = b"Rlm-Mac: "


class Line:
    """One connection to a supervisor that is kept, as it may have no descriptor for another."""

    def __init__(self, raw: Raw) -> None:
        self.raw = raw
        self.connection = raw.connect()
        assert self.ask("GET", "/health")[0] == 200

    def ask(self, method: str, target: str, body: bytes = b"") -> tuple[int, dict[str, Any]]:
        self.connection.sendall(self.raw.head(method, target, body) + body)
        assert SIGNED in self.connection.recv(300, socket.MSG_PEEK)
        return read_answer(self.connection)

    @property
    def pid(self) -> int:
        return self.raw.session.lease.process.pid


@pytest.fixture
def line() -> Iterator[Line]:
    with session(kind=ListeningLease) as opened:
        raw = Raw(opened.lease)
        raw.session = opened
        assert raw.ask("DELETE", "/session")[0] == 200
        made = Line(raw)
        with made.connection:
            yield made


@contextlib.contextmanager
def limited(pid: int, what: int, soft: int) -> Iterator[None]:
    before = resource.prlimit(pid, what)
    resource.prlimit(pid, what, (soft, before[1]))
    try:
        yield
    finally:
        resource.prlimit(pid, what, before)


def test_a_full_table_of_descriptors_is_told_and_passes(line: Line) -> None:
    told: dict[int, set[str]] = {}
    began = False
    for soft in range(5, 60):
        with limited(line.pid, resource.RLIMIT_NOFILE, soft):
            status, message = line.ask("PUT", f"/context/{soft}?offset=0&total=2", b"x")
            told.setdefault(status, set()).add(message.get("rule", ""))
            status, message = line.ask("POST", "/session", START)
            told.setdefault(status, set()).add(message.get("rule", ""))
            if status == 200:
                # It lacks nothing of what a worker needs: whoever looks at it sees it.
                assert "cannot see" not in json.dumps(message["walls"])
                assert line.ask("GET", "/pending?wait=20")[1]["pending"][0]["frame"]
                began = True
                break
        assert line.ask("DELETE", "/session?fresh=1")[0] == 200
    assert began
    assert told == {200: {""}, 503: {"zygote"}, 507: {"context-memory"}}
    assert line.ask("DELETE", "/session?fresh=1")[0] == 200


def test_who_cannot_be_accepted_waits_and_costs_nothing(line: Line) -> None:
    process = psutil.Process(line.pid)
    with contextlib.ExitStack() as crowd, limited(line.pid, resource.RLIMIT_NOFILE, 5):
        for _ in range(3):
            crowd.enter_context(line.raw.connect())
        before = sum(process.cpu_times()[:2])
        time.sleep(0.6)
        assert sum(process.cpu_times()[:2]) - before < 0.3
        assert line.ask("GET", "/health")[0] == 200
    assert line.raw.ask("GET", "/health")[0] == 200


def test_a_frame_for_which_there_is_no_memory_is_refused_and_nothing_ends(line: Line) -> None:
    line.raw.session.lease.process.poll()
    size = 96 << 20
    with limited(line.pid, resource.RLIMIT_AS, psutil.Process(line.pid).memory_info().vms + (8 << 20)):
        with line.raw.connect() as connection:
            connection.sendall(line.raw.head("POST", "/execute", b"x", length=size))
            status, message = read_answer(connection)
            assert (status, message["rule"]) == (507, "memory")
        assert line.ask("GET", "/health")[0] == 200
    assert line.ask("POST", "/session", START)[0] == 200
    assert line.ask("GET", "/pending?wait=20")[1]["pending"][0]["frame"]


def test_an_answer_for_which_there_is_no_memory_is_one_that_says_so(line: Line) -> None:
    assert line.ask("POST", "/session", START.replace(b"100000", b"100000000"))[0] == 200
    assert line.ask("GET", "/pending?wait=20")[1]["pending"][0]["frame"]
    begin = {"op": "begin", "modules": [], "source_bytes": 9999, "ast_nodes": 9999, "stdout_bytes": 60_000_000}
    begin |= {"value_bytes": 9999, "result_bytes": 100_000_000, "tools": [], "screen": True}
    assert line.ask("POST", "/execute?wait=20", json.dumps(begin).encode())[0] == 200
    with limited(line.pid, resource.RLIMIT_AS, psutil.Process(line.pid).memory_info().vms + (64 << 20)):
        body = json.dumps({"op": "exec", "code": "print('x' * 40_000_000)"}).encode()
        status, message = line.ask("POST", "/execute?wait=20", body)
        deadline = time.monotonic() + 60.0
        while status == 200 and not message["pending"] and time.monotonic() < deadline:  # as a host asks on
            status, message = line.ask("GET", "/pending?wait=20")
        # Its worker is gone, or its frame cannot be told.
        assert status == 507 or "end" in message["pending"][0]
        assert line.ask("GET", "/health")[0] == 200
    assert line.ask("DELETE", "/session?fresh=1")[0] == 200
    assert line.ask("POST", "/session", START)[0] == 200
    assert line.ask("GET", "/pending?wait=20")[1]["pending"][0]["frame"]


def test_without_a_zygote_each_request_has_an_answer(line: Line) -> None:
    for each in psutil.Process(line.pid).children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):
            each.kill()
    for method, target, body, status in (
        ("POST", "/session", START, 503), ("POST", "/session", START, 503), ("DELETE", "/session", b"", 200),
        ("PUT", "/context/1?offset=0&total=2", b"x", 200), ("POST", "/execute", b"{}", 409), ("GET", "/pending", b"", 200),
        ("POST", "/interrupt", b'{"grace_seconds":1}', 200), ("DELETE", "/context/1", b"", 200), ("GET", "/health", b"", 200),
    ):  # fmt: skip
        assert line.ask(method, target, body)[0] == status
