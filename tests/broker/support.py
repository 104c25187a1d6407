"""A real supervisor as a plain child process: the broker protocol without a container around it."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from typing import Any

from rlm_secure.broker.client import Client
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports import Transport
from rlm_secure.broker.transports.uds import SOCKET_NAME, UnixTransport
from rlm_secure.environments.bundle import bundle
from rlm_secure.environments.remote import Lease, RemoteSession, start_configuration
from rlm_secure.guarantees import WallStatus
from rlm_secure.policy import Policy, load_policy

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

    def connect(self, transport: Transport, policy: Policy) -> Client:
        return Client(
            transport,
            self.key,
            frame_bytes=policy.limits.result_bytes,
            alive=lambda: self.process.poll() is None,
            refusals=self.refusals.append,
        )

    def walls(self, around: Mapping[str, Any]) -> Iterator[WallStatus]:
        self.around = around
        return iter(())

    @property
    def details(self) -> Mapping[str, Any]:
        return {"transport": self.client.transport.name}

    def kill(self) -> None:
        self.process.kill()

    def epitaph(self) -> str:
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
def session(loaded: Policy | None = None, **options: Any) -> Iterator[RemoteSession]:
    """A session over a process lease; `lease` is an attribute of it."""
    loaded = loaded or policy()
    screen = options.pop("screen", True)
    tools = options.pop("tools", None)
    lease = ProcessLease(loaded, **options)
    with RemoteSession(lease, loaded, screen=screen, required=(), tools=tools) as opened:
        opened.lease = lease  # type: ignore[attr-defined]
        yield opened
