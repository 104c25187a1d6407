"""Daytona: the REST control plane, and the toolbox (files, sessions, logs over a web socket), on one port."""

from __future__ import annotations

import json
import queue
import shlex
import time
from collections.abc import Iterator
from typing import Any

from tests.emulators.base import Emulator, Program, Request, Response, Sandbox, answer, forward

_MARKS = {"stdout": b"\x01\x01\x01", "stderr": b"\x02\x02\x02"}


class DaytonaEmulator(Emulator):
    """`snapshot` is the one that it has, of `memory` GiB."""

    snapshot = "rlm-secure-sandbox-1"
    memory = 2
    #: What an organisation's settings make of a create call.
    overrides: dict[str, Any] = {}
    creating_seconds = 0.1
    snapshot_state = "active"

    def __init__(self) -> None:
        super().__init__()
        self.previews: dict[str, tuple[str, int]] = {}

    @property
    def api(self) -> str:
        return f"{self.url}/api"

    def error(self, status: int, message: str) -> Response:
        return answer({"statusCode": status, "message": message, "error": "emulated"}, status)

    def route(self, request: Request) -> Response:
        self._expire()
        if "x-daytona-preview-token" in request.headers or not request.path.startswith(("/api/", "/toolbox/")):
            return self._preview(request)
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return self.error(401, "Invalid credentials")
        parts = request.path.strip("/").split("/")
        if parts[0] == "toolbox":
            box = self.sandboxes.get(parts[1])
            if box is None:
                return self.error(404, "the sandbox was not found")
            return self._toolbox(box, request, parts[2:])
        match [request.method, *parts[1:]]:
            case ["POST", "sandbox"]:
                return self._create(request)
            case ["GET", "sandbox"]:
                return self._list(request)
            case ["GET", "sandbox", name] if name in self.sandboxes:
                return answer(self._describe(self.sandboxes[name]))
            case ["DELETE", "sandbox", name] if name in self.sandboxes:
                told = {**self._describe(self.sandboxes[name]), "state": "destroyed"}
                self.vanish(name)
                return answer(told)
            case ["POST", "sandbox", name, "last-activity"] if name in self.sandboxes:
                return Response(200)
            case ["GET", "sandbox", name, "ports", port, "preview-url"] if name in self.sandboxes:
                box = self.sandboxes[name]
                self.previews[box.traffic] = (name, int(port))
                return answer({"sandboxId": name, "url": self.url, "token": box.traffic})
            case ["POST", "snapshots"] | ["GET", "snapshots", _]:
                told = request.json or {}
                now = "2026-01-01T00:00:00Z"
                sizes = {"cpu": 1, "gpu": 0, "mem": 1, "disk": 3, "size": None, "entrypoint": None}
                times = {"createdAt": now, "updatedAt": now, "lastUsedAt": None, "errorReason": "as told"}
                named = {"id": "snp", "general": False, "name": told.get("name", ""), "state": self.snapshot_state}
                return answer({**sizes, **times, **named})
            case ["GET", "sandbox", name, "toolbox-proxy-url"] if name in self.sandboxes:
                return answer({"url": f"{self.url}/toolbox"})
        return self.error(404, f"{request.path} was not found")

    def _preview(self, request: Request) -> Response:
        """The real ones have a host name each; here the token tells them apart."""
        name, port = self.previews.get(request.headers.get("x-daytona-preview-token", ""), ("", 0))
        if name not in self.sandboxes:
            return self.error(401, "the preview token is wrong")
        return forward(request, self.sandboxes[name], port)

    def _create(self, request: Request) -> Response:
        body = request.json
        if "snapshot" in body and body["snapshot"] != self.snapshot:
            return self.error(404, f"Snapshot {body['snapshot']} not found")
        if any(each.request["name"] == body["name"] for each in self.live):
            return self.error(409, f"Sandbox {body['name']} exists")
        box = Sandbox(body)
        box.started_at = time.monotonic() + self.creating_seconds  # type: ignore[attr-defined]
        if body.get("ttlMinutes"):
            box.ends_at = time.monotonic() + 60 * body["ttlMinutes"]
        box.sessions = {}  # type: ignore[attr-defined]
        with self.lock:
            self.sandboxes[box.name] = box
            self.made.append(box)
        return answer(self._describe(box))

    def _describe(self, box: Sandbox) -> dict[str, Any]:
        asked = box.request
        started = time.monotonic() >= box.started_at  # type: ignore[attr-defined]
        told = {
            "id": box.name,
            "organizationId": "org",
            "name": asked["name"],
            "user": asked.get("user") or "daytona",
            "env": asked.get("env", {}),
            "labels": asked.get("labels", {}),
            "public": asked.get("public", False),
            "networkBlockAll": asked.get("networkBlockAll", False),
            "kvm": False,
            "target": asked.get("target") or "us",
            "cpu": asked.get("cpu", 1),
            "gpu": 0,
            "memory": asked.get("memory", self.memory),
            "disk": asked.get("disk", 3),
            "state": "started" if started else "creating",
            "toolboxProxyUrl": f"{self.url}/toolbox",
        }
        return told | self.overrides

    def _list(self, request: Request) -> Response:
        wanted = json.loads(request.query.get("labels", "{}"))
        found = [each for each in self.live if wanted.items() <= each.request.get("labels", {}).items()]
        return answer({"items": [self._describe(each) for each in found], "nextCursor": None, "total": len(found)})

    def _expire(self) -> None:
        for box in self.live:
            if box.ends_at is not None and time.monotonic() >= box.ends_at:
                self.vanish(box.name)

    # -- the toolbox ------------------------------------------------------------------------------

    def _toolbox(self, box: Sandbox, request: Request, parts: list[str]) -> Response:
        sessions: dict[str, dict[str, Program]] = box.sessions  # type: ignore[attr-defined]
        match [request.method, *parts]:
            case ["GET", "work-dir" | "user-home-dir"]:
                return answer({"dir": str(box.home)})
            case ["POST", "files", "bulk-upload"]:
                return self._upload(box, request)
            case ["POST", "process", "session"]:
                if request.json["sessionId"] in sessions:
                    return self.error(409, "the session exists")
                sessions[request.json["sessionId"]] = {}
                return Response(201)
            case ["DELETE", "process", "session", name] if name in sessions:
                for program in sessions.pop(name).values():
                    program.end()
                return Response(204)
            case ["POST", "process", "session", name, "exec"] if name in sessions:
                # A session's shell stays: the command runs in it, with a pipe as its input.
                program = box.start(["/bin/sh", "-c", f"eval {shlex.quote(request.json['command'])}"], stdin=True)
                program.keep = True  # a log is replayed from its begin to who follows it
                sessions[name][f"c{program.pid}"] = program
                return answer({"cmdId": f"c{program.pid}"}, 202)
            case ["GET", "process", "session", name, "command", command, "logs"] if command in sessions.get(name, {}):
                return Response(socket=True, stream=self._log(sessions[name][command].listen()))
            case ["POST", "process", "session", name, "command", command, "input"] if command in sessions.get(name, {}):
                if not sessions[name][command].write(request.json["data"].encode()):
                    return self.error(410, "the command has completed")
                return Response(204)
        return self.error(404, f"{request.path} was not found")

    def _upload(self, box: Sandbox, request: Request) -> Response:
        fields = {name: content for name, _, content in request.parts()}
        path = box.path(fields["files[0].path"].decode())
        if path is None:
            return self.error(400, "the path is outside of the sandbox")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(fields["files[0].file"])
        return answer({})

    def _log(self, output: queue.Queue[tuple[str, bytes]]) -> Iterator[bytes]:
        while not self.closing.is_set():
            try:
                kind, data = output.get(timeout=0.1)
            except queue.Empty:
                continue
            if kind == "end":
                return
            yield _MARKS[kind] + data
