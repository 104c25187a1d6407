"""A supervisor that signs correctly and says what a test wants: the host's decoders are all that is left."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from rlm_secure.broker.client import BrokerClient
from rlm_secure.broker.session import SessionKey
from rlm_secure.broker.transports import Response, Transport
from rlm_secure.environments.remote import Lease, RemoteSession
from rlm_secure.guarantees import WallStatus
from rlm_secure.policy import Policy

#: A request as `change` sees it: its method with the first part of its path ("POST /execute"), and its body.
Change = Callable[[str, Mapping[str, Any], dict[str, Any]], Any]

AROUND: dict[str, Any] = {
    "uid": 65533,
    "capabilities": "0" * 16,
    "bounding": "0" * 16,
    "no_new_privs": 1,
    "seccomp": 2,
    "kernel": "6.1",
    "interfaces": ["lo"],
    "connect": {"1.1.1.1:53": "ENETUNREACH"},
    "write_root": "EROFS",
    "write_sysctl": "EROFS",
    "memory_max": "268435456",
    "pids_max": "24",
    "cgroup_namespace": "own",
    "apparmor": "docker-default (enforce)",
    "unmasked": [],
    "writable": [],
    "limits": {"fsize": 4096, "nofile": 256, "core": -1},
    "supervisor": {"uids": [65533] * 3, "landlock": "ABI 7", "filter": "90 instructions", "open a file": "EACCES"},
    "worker_uids": [65534] * 4,
}
WALLS: dict[str, Any] = {"seccomp": ["full", "a filter"], "landlock": ["full", "ABI 7"], "rlimits": ["full", "set"]}
DETAILS: dict[str, Any] = {"python": "3.11.2", "kernel": "6.1", "machine": "x86_64", "zero_copy_context": True}


def done(**fields: Any) -> dict[str, Any]:
    """The frame of a cell that did nothing."""
    empty: dict[str, Any] = {"variables": {}, "answer": None, "error": None, "stdout": "", "stderr": ""}
    return {"op": "done", **empty, "dropped": 0, "peak": 1, "cpu": 0.0, **fields}


class Supervisor(Transport):
    """Answers as a supervisor does whose worker does nothing, but for what `change` makes of each answer.

    `change` is given the route, the request's body and the answer; what it returns is sent in its place.
    """

    name = "lying"

    def __init__(self, change: Change = lambda route, asked, answer: answer) -> None:
        self.key = SessionKey()
        self.change = change
        self.asked: list[str] = []
        self._event: dict[str, Any] | None = None
        self._events = 0
        self._held = 0

    def request(
        self,
        method: str,
        target: str,
        headers: Mapping[str, str],
        body: bytes | memoryview,
        *,
        limit: int,
        deadline: float,
        patience: float = 0.0,
    ) -> Response:
        route = f"{method} /{target.partition('?')[0].split('/')[1]}"
        self.asked.append(route)
        asked = json.loads(bytes(body)) if body and method == "POST" else {}
        if method == "PUT":
            self._held += len(body)
        said = self.change(route, asked, self._answer(route, asked))
        status, said = said if isinstance(said, tuple) else (200, said)
        data = said if isinstance(said, bytes) else json.dumps(said).encode("ascii")
        digest = hashlib.sha256(data).hexdigest()
        mac = self.key._mac("rlm1-answer", headers["Rlm-Id"], method, target, str(status), digest)
        return Response(status, {"rlm-mac": mac}, data)

    def close(self) -> None:
        """Nothing is open."""

    def frame(self, message: Mapping[str, Any], nonce: str | None = None) -> dict[str, Any]:
        """An event with a frame of the worker."""
        self._events += 1
        said = dict(message) if nonce is None else {**message, "nonce": nonce}
        return {"id": str(self._events), "frame": json.dumps(said), "cpu": 0.0}

    def _answer(self, route: str, asked: Mapping[str, Any]) -> dict[str, Any]:
        if route == "POST /session":
            self._event = self.frame({"op": "ready", "walls": WALLS, "details": {}})
            return {"status": "ok", "walls": WALLS, "details": {**DETAILS, "around": AROUND}}
        if route == "DELETE /session":
            self._event, self._held = None, 0
            return {"status": "ok"}
        if route == "PUT /context":
            return {"status": "ok", "received": self._held}
        if route == "POST /execute":
            self._held = 0
            self._event = self.frame(done(), asked["nonce"])
        if route in ("POST /execute", "POST /respond", "GET /pending"):
            pending = [] if self._event is None else [self._event]
            return {"status": "ok", "worker": "idle", "pending": pending, "refused": 0}
        return {"status": "ok", "version": 1, "worker": "idle", "refused": {}}


class LyingLease(Lease):
    """A sandbox whose supervisor is a `Supervisor`."""

    environment = "docker"
    killed = False

    def __init__(self, policy: Policy, supervisor: Supervisor) -> None:
        self.supervisor = supervisor
        self.client = BrokerClient(supervisor, supervisor.key, frame_bytes=policy.limits.result_bytes, patience=0.5)

    def walls(self, around: Any) -> Iterator[WallStatus]:
        self.around = around
        return iter(())

    @property
    def details(self) -> Mapping[str, Any]:
        return {"transport": "lying"}

    def kill(self) -> None:
        self.killed = True

    def exit_reason(self) -> str:
        return "it lies"

    def close(self) -> None:
        pass


def session(policy: Policy, change: Change, **options: Any) -> RemoteSession:
    """A session in such a sandbox."""
    return RemoteSession(LyingLease(policy, Supervisor(change)), policy, required=(), **options)
