"""The broker compared with what it replaces: polling every 100 ms, and a container started by hand.

The broker runs as in a sandbox, but on this machine and without a container, so that the figures measure only the
protocol: over the Unix socket that Docker uses, and over the dialled stream that the clouds use.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import threading
import time
import urllib.request
import uuid
from collections.abc import Callable, Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from benchmarks.local import policy
from benchmarks.runner import Case, benchmark
from rlm_secure.environments.docker import DEFAULT_IMAGE, DockerEnvironment
from rlm_secure.environments.docker.engine import connect, image
from rlm_secure.environments.remote import RemoteSession
from rlm_secure.errors import RLMSecureError
from tests.broker.support import DialledLease, ProcessLease
from tests.clouds.conftest import behind

QUERIES = 20
CELL = f"for _ in range({QUERIES}): llm_query('q')"
MEGABYTES_100 = "x" * 100_000_000
POLL_SECONDS = 0.1
#: 2 MB of text that compression makes about half as long.
WORDS = " ".join(f"{number * number % 999_983 * 7919:x}" for number in range(220_000))[:2_000_000]


class Poller:
    """A broker and a host as in upstream: /enqueue waits, the host polls /pending every 100 ms."""

    def __init__(self) -> None:
        self._waiting: dict[str, tuple[dict[str, Any], threading.Event, list[dict[str, Any]]]] = {}
        poller = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"
            disable_nagle_algorithm = True

            def do_GET(self) -> None:
                waiting = list(poller._waiting.items())
                self._say({"pending": [{"id": name, "request": request} for name, (request, _, _) in waiting]})

            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if self.path == "/enqueue":
                    name, answered = str(uuid.uuid4()), threading.Event()
                    entry = poller._waiting[name] = (body, answered, [])
                    answered.wait(300)
                    self._say(entry[2][0])
                else:
                    _, answered, response = poller._waiting.pop(body["id"])
                    response.append(body["response"])
                    answered.set()
                    self._say({"status": "ok"})

            def _say(self, message: dict[str, Any]) -> None:
                data = json.dumps(message).encode()
                self.send_response(200)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            def log_message(self, *_: Any) -> None:
                pass

        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._url = f"http://127.0.0.1:{self._server.server_port}"
        self._stop = threading.Event()
        for target in (self._server.serve_forever, self._poll):
            threading.Thread(target=target, daemon=True).start()

    def _poll(self) -> None:
        while not self._stop.is_set():
            for entry in self._ask("/pending")["pending"]:
                self._ask("/respond", {"id": entry["id"], "response": {"response": "r"}})
            time.sleep(POLL_SECONDS)

    def _ask(self, path: str, body: Any = None) -> Any:
        data = None if body is None else json.dumps(body).encode()
        with urllib.request.urlopen(urllib.request.Request(self._url + path, data), timeout=300) as answer:
            return json.loads(answer.read())

    def query(self) -> None:
        """One llm_query as an upstream cell makes it."""
        self._ask("/enqueue", {"type": "single", "prompt": "q", "model": None, "depth": 0})

    def close(self) -> None:
        self._stop.set()
        self._server.shutdown()


@contextlib.contextmanager
def sessions() -> Iterator[tuple[RemoteSession, RemoteSession]]:
    """A session over the Unix socket, and one over the dialled stream."""
    with (
        RemoteSession(ProcessLease(policy()), policy(), required=()) as unix,
        RemoteSession(DialledLease(policy()), policy(), required=()) as dialled,
    ):
        yield unix, dialled


def reply(_call: Any) -> str:
    return "r"


@benchmark("broker-query", "one llm_query through the broker, answered at once")
def broker_query() -> Iterator[Sequence[Case]]:
    """The transport's share of the time of a query: the model takes none."""
    poller = Poller()
    with sessions() as (unix, dialled):
        try:
            yield [
                Case("a poller that looks every 100 ms", poller.query),
                Case("Unix socket", lambda: unix.execute(CELL, reply), QUERIES),
                Case("dialled stream", lambda: dialled.execute(CELL, reply), QUERIES),
            ]
        finally:
            poller.close()


@benchmark("broker-cell", "one cell in a session that is already there")
def broker_cell() -> Iterator[Sequence[Case]]:
    """The round trip of a cell that does almost nothing."""
    with sessions() as (unix, dialled):
        yield [
            Case("Unix socket", lambda: unix.execute("x = 1", reply)),
            Case("dialled stream", lambda: dialled.execute("x = 1", reply)),
        ]


@benchmark("broker-context", "100 MB of context into a session")
def broker_context() -> Iterator[Sequence[Case]]:
    """Hashed, signed, sent in chunks, and mapped by the worker."""
    with sessions() as (unix, dialled):

        def load(session: RemoteSession) -> Callable[[], None]:
            def action() -> None:
                session.load_context("context_0", MEGABYTES_100)

            return action

        yield [Case("Unix socket", load(unix)), Case("dialled stream", load(dialled))]


if importlib.util.find_spec("e2b") is not None:

    @benchmark("broker-far", "a cloud (E2B's SDK and an emulator) at 50 ms one way, and over 2 Mbit/s")
    def broker_far() -> Iterator[Sequence[Case]]:
        """The round trips and requests of a cell, of a call in it, and of contexts; a model answers at once."""
        with (
            behind("e2b", delay=0.05) as (far, _),
            behind("e2b", delay=0.05) as (slow, link),
            far.session(policy()) as session,
            slow.session(policy()) as slowly,
        ):
            link.up.rate = link.down.rate = 2e6 / 8
            asked = [0]

            def requests() -> float:
                before, asked[0] = asked[0], len(far.emulator.recorded(far.wire.write))
                return asked[0] - before

            def cell(code: str) -> Callable[[], None]:
                def action() -> None:
                    result = session.execute(code, lambda call: ["r"] * 16 if call.kind != "llm_query" else "r")
                    assert result.error is None

                return action

            def load(into: RemoteSession, text: str) -> Callable[[], None]:
                return lambda: into.load_context("context_0", text)

            small = load(slowly, WORDS[:10_000])
            codes = {
                "a cell": "x = 1",
                "a call": "llm_query('q')",
                "a batch of 16": "llm_query_batched([str(n) for n in range(16)])",
            }
            yield [
                *(Case(name, cell(code)) for name, code in codes.items()),
                *(
                    Case(f"{name}: requests", cell(code), before=requests, value=requests, unit="requests")
                    for name, code in codes.items()
                ),
                Case("20 MB of context", load(session, WORDS * 10), slow=True, small=load(session, WORDS)),
                Case("2 MB over 2 Mbit/s", load(slowly, WORDS), slow=True, small=small),
                Case("1 MB over 2 Mbit/s, by the stream", load(slowly, WORDS[:1_000_000]), slow=True, small=small),
            ]


def _image() -> str | None:
    """A sandbox image of this engine: the real one, else the one built by the tests; None if there is neither."""
    try:
        client = connect()
    except RLMSecureError:
        return None
    with contextlib.closing(client):
        for name in (DEFAULT_IMAGE, "rlm-secure-test:1"):
            with contextlib.suppress(RLMSecureError):
                image(client, name)
                return name
    return None


if IMAGE := _image():  # without an engine and an image there is nothing to measure

    @benchmark("docker-start", "from nothing to the first result, and everything gone again")
    def docker_start() -> Iterator[Sequence[Case]]:
        """The time of a plain container, and of our sessions in one."""
        client = connect()
        unix, dialled = (DockerEnvironment(image=IMAGE, transport=each) for each in ("unix", "exec"))

        def plain() -> None:
            said = client.containers.run(IMAGE, ["python3", "-c", "print(1)"], remove=True, network_mode="none")
            assert said == b"1\n"

        def ours(place: DockerEnvironment) -> None:
            with place.session(policy()) as session:
                assert session.execute("print(1)", reply).stdout == "1\n"

        try:
            yield [
                Case("docker run python3 -c, no walls of ours", plain),
                Case("a session over the Unix socket", lambda: ours(unix)),
                Case("a session over the exec stream", lambda: ours(dialled)),
            ]
        finally:
            client.close()
