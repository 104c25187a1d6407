"""A real supervisor as a plain child process: the broker protocol without a container around it."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import select
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping
from typing import Any

from rlm_secure.broker.client import BrokerClient
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.signed import Around
from rlm_secure.broker.transports import Transport, TransportLost
from rlm_secure.broker.transports.https import HttpsTransport
from rlm_secure.broker.transports.stdio import StdioTransport
from rlm_secure.broker.transports.uds import SOCKET_NAME, UnixTransport
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.remote import Lease, RemoteSession, start_configuration
from rlm_secure.guarantees import WallStatus
from rlm_secure.policy import Policy, load_policy
from rlm_secure.removal import Scratch

BUNDLE = "guest.zip"


def environment() -> dict[str, str]:
    return {name: os.environ[name] for name in ("LD_LIBRARY_PATH",) if name in os.environ}


class ProcessLease(Lease):
    """A supervisor that connects to us over a Unix socket, as in a container, but runs on this machine."""

    environment = "docker"

    def __init__(self, policy: Policy, *, namespaces: bool = True, **options: Any) -> None:
        self.key = SessionKey()
        self.unix = UnixTransport({BUNDLE: bundle().data})
        self.refusals: list[int] = []
        self.process = subprocess.Popen(
            [sys.executable, "-I", "-S", "-B", "-X", "utf8", f"{self.unix.directory}/{BUNDLE}", "supervise"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=environment(),
        )
        assert self.process.stdin is not None
        options.setdefault("connect", f"{self.unix.directory}/{SOCKET_NAME}")
        self.process.stdin.write(start_configuration(self.key, policy, namespaces=namespaces, **options))
        self.process.stdin.flush()
        self.client = self.connect(self.unix, policy)

    def connect(self, transport: Transport, policy: Policy) -> BrokerClient:
        return BrokerClient(
            transport,
            self.key,
            frame_bytes=policy.limits.result_bytes,
            alive=lambda: self.process.poll() is None,
            refusals=self.refusals.append,
        )

    def walls(self, around: Around) -> Iterator[WallStatus]:
        self.around = around
        return iter(())

    @property
    def details(self) -> Mapping[str, Any]:
        return {"transport": self.client.transport.name}

    def kill(self) -> None:
        self.process.kill()

    def exit_reason(self) -> str:
        return f"its process ended with {self.process.poll()}"

    def close(self) -> None:
        self.client.close()
        self.unix.close()
        self.process.kill()
        self.process.wait()
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            with contextlib.suppress(BrokenPipeError):
                pipe.close()


def policy(**limits: Any) -> Policy:
    loaded = load_policy("strict")
    return loaded.model_copy(update={"limits": loaded.limits.model_copy(update=limits)})


@contextlib.contextmanager
def session(
    loaded: Policy | None = None, kind: type[ProcessLease] = ProcessLease, **options: Any
) -> Iterator[RemoteSession]:
    """A session over a process lease; `lease` is an attribute of it."""
    loaded = loaded or policy()
    screen = options.pop("screen", True)
    tools = options.pop("tools", None)
    lease = kind(loaded, **options)
    with RemoteSession(lease, loaded, screen=screen, required=(), tools=tools) as opened:
        opened.lease = lease  # type: ignore[attr-defined]
        yield opened


class Raw:
    """A hand-made client: signs what it is told to, sends any bytes, and reads one answer."""

    def __init__(self, lease: ListeningLease) -> None:
        self.lease = lease

    def head(
        self,
        method: str = "GET",
        target: str = "/health",
        body: bytes = b"",
        *,
        number: int | None = None,
        key: SessionKey | None = None,
        length: int | str | None = None,
        extra: str = "",
    ) -> bytes:
        """The head of a signed request."""
        number = self.next() if number is None else number
        signed = (key or self.lease.key).headers(number, method, target, hashlib.sha256(body).hexdigest())
        lines = [f"{method} {target} HTTP/1.1", *(f"{name}: {value}" for name, value in signed.items())]
        if method in ("POST", "PUT") or length is not None:
            lines.append(f"Content-Length: {len(body) if length is None else length}")
        return ("\r\n".join(lines) + "\r\n" + extra + "\r\n").encode("latin-1")

    def next(self) -> int:
        """A fresh id: of the session's own client, whose ids must go on growing."""
        return self.lease.client._next()

    def connect(self) -> socket.socket:
        connection = socket.create_connection(self.lease.address)
        connection.settimeout(20)
        return connection

    def send(self, data: bytes) -> tuple[int, dict[str, Any]]:
        """Send bytes on a connection of their own; status and message of the answer."""
        with self.connect() as connection:
            connection.sendall(data)
            return read_answer(connection)

    def ask(self, method: str, target: str, body: bytes = b"", **options: Any) -> tuple[int, dict[str, Any]]:
        """A well-made request."""
        return self.send(self.head(method, target, body, **options) + body)


@contextlib.contextmanager
def raw_session() -> Iterator[Raw]:
    """A hand-made client of a supervisor that has a session."""
    with session(kind=ListeningLease) as opened:
        made = Raw(opened.lease)
        made.session = opened
        yield made


def read_answer(connection: socket.socket) -> tuple[int, dict[str, Any]]:
    data = b""
    while b"\r\n\r\n" not in data:
        chunk = connection.recv(65536)
        if not chunk:
            raise ConnectionError(f"closed after {data!r}")
        data += chunk
    head, _, body = data.partition(b"\r\n\r\n")
    length = int(next(line for line in head.split(b"\r\n") if line.startswith(b"Content-Length:"))[15:])
    while len(body) < length:
        body += connection.recv(65536)
    return int(head.split()[1]), json.loads(body)


class ListeningLease(ProcessLease):
    """A supervisor that listens on a loopback port, as behind an ingress."""

    def __init__(self, policy: Policy, **options: Any) -> None:
        super().__init__(policy, connect=None, listen=("127.0.0.1", 0), **options)
        assert self.process.stdout is not None
        host, port = json.loads(self.process.stdout.readline())["listening"]
        self.address = (host, port)
        self.client = super().connect(HttpsTransport(f"http://{host}:{port}"), policy)


class ProcessPipe:
    """The standard streams of a `dial` process.

    Nobody reads or writes while they are closed: the number of a closed one may be that of the next pipe.
    """

    undelivered = 0

    def __init__(self, command: list[str]) -> None:
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        self._sink, self._source = self.process.stdin, self.process.stdout
        self._reading, self._writing = threading.Lock(), threading.Lock()

    def write(self, data: bytes, deadline: float) -> None:
        try:
            with self._writing:
                while data:
                    data = data[os.write(self._sink.fileno(), data) :]
        except (OSError, ValueError) as error:  # ValueError: it is closed
            raise TransportLost(str(error)) from None

    def read(self, deadline: float) -> bytes:
        with self._reading:
            if self._source.closed:
                raise TransportLost("it is closed")
            ready, _, _ = select.select([self._source], [], [], max(deadline - time.monotonic(), 0))
            if not ready:
                raise TimeoutError
            return os.read(self._source.fileno(), 65536)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        for pipe, using in ((self._sink, self._writing), (self._source, self._reading)):
            with using, contextlib.suppress(OSError):
                pipe.close()


class DialledLease(ProcessLease):
    """A supervisor on a Unix socket of its own, reached through `dial`."""

    def __init__(self, loaded: Policy, **options: Any) -> None:
        self.scratch = Scratch()
        self.path = f"{self.scratch.path}/broker"
        super().__init__(loaded, connect=None, listen=self.path, **options)
        assert self.process.stdout is not None
        assert json.loads(self.process.stdout.readline()) == {"listening": self.path}
        self.pipes: list[Any] = []
        self.client = self.connect(StdioTransport(self._dial), loaded)

    def _dial(self, deadline: float) -> Any:
        command = [sys.executable, "-I", "-S", "-B", f"{self.unix.directory}/{BUNDLE}", "dial", self.path]
        self.pipes.append(self.make(command))
        return self.pipes[-1]

    def make(self, command: list[str]) -> Any:
        return ProcessPipe(command)

    def close(self) -> None:
        super().close()
        for pipe in self.pipes:
            pipe.close()
        self.scratch.remove()
