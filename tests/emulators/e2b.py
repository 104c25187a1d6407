"""E2B: the REST control plane, and envd's files and Connect (streaming JSON) processes, on one port.

Sandbox requests are routed by the header `E2b-Sandbox-Id`, as the provider's own edge does.
"""

from __future__ import annotations

import base64
import json
import queue
import struct
import time
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs

from tests.emulators.base import Emulator, Program, Request, Response, Sandbox, answer, forward

_ENVELOPE = struct.Struct(">BI")
_END = 2


class E2BEmulator(Emulator):
    """`memory_mb`, `cpus` and `envd` are what its one template gives."""

    template = "rlm-secure-sandbox-1"
    memory_mb = 2048
    cpus = 2
    envd = "0.6.2"
    build_status = "ready"

    def error(self, status: int, message: str) -> Response:
        return answer({"code": status, "message": message}, status)

    def route(self, request: Request) -> Response:
        self._expire()
        if "e2b-sandbox-id" in request.headers:
            return self._envd(request)
        if request.headers.get("x-api-key") != self.key:
            return self.error(401, "cannot authenticate: the API key is wrong")
        parts = request.path.strip("/").split("/")
        if parts[0] == "v2":
            parts = parts[1:]
        match [request.method, *parts]:
            case ["POST", "sandboxes"]:
                return self._create(request)
            case ["GET", "sandboxes"]:
                return self._list(request)
            case ["GET", "sandboxes", name] if name in self.sandboxes:
                return answer(self._info(self.sandboxes[name]))
            case ["DELETE", "sandboxes", name] if name in self.sandboxes:
                self.vanish(name)
                return Response(204)
            case ["POST", "sandboxes", name, "timeout"] if name in self.sandboxes:
                self.sandboxes[name].ends_at = time.monotonic() + request.json["timeout"]
                return Response(204)
            case ["POST", "v3", "templates"]:
                told = {"templateID": "tpl", "buildID": "bld", "public": False, "tags": [], "aliases": []}
                return answer({**told, "names": [request.json["name"]]}, 202)
            case ["POST", "templates", "tpl", "builds", "bld"]:
                return Response(202)
            case ["GET", "templates", "tpl", "builds", "bld", "status"]:
                told = {"templateID": "tpl", "buildID": "bld", "logs": [], "logEntries": []}
                return answer({**told, "status": self.build_status, "reason": {"message": "as told"}})
        return self.error(404, f"{request.path} was not found")

    def _create(self, request: Request) -> Response:
        body = request.json
        if body["templateID"] != self.template:
            return self.error(404, f"template '{body['templateID']}' not found")
        key = request.headers.get("idempotency-key")
        with self.lock:
            box = next((each for each in self.live if key and each.request.get("key") == key), None)
            if box is None:
                box = Sandbox({**body, "key": key})
                box.ends_at = time.monotonic() + body.get("timeout", 300)
                self.sandboxes[box.name] = box
                self.made.append(box)
        told = {"templateID": self.template, "sandboxID": box.name, "clientID": "c", "envdVersion": self.envd}
        return answer({**told, "envdAccessToken": box.token, "trafficAccessToken": box.traffic, "domain": None}, 201)

    def _list(self, request: Request) -> Response:
        wanted = {name: values[0] for name, values in parse_qs(request.query.get("metadata", "")).items()}
        found = [each for each in self.live if wanted.items() <= each.request.get("metadata", {}).items()]
        start, limit = int(request.query.get("nextToken", 0)), int(request.query.get("limit", 100))
        more = {"x-next-token": str(start + limit)} if len(found) > start + limit else {}
        return answer([self._info(each) for each in found[start : start + limit]], **more)

    def _info(self, box: Sandbox) -> dict[str, Any]:
        return {
            "templateID": self.template,
            "sandboxID": box.name,
            "clientID": "c",
            "startedAt": "2026-01-01T00:00:00Z",
            "endAt": "2026-01-01T01:00:00Z",
            "cpuCount": self.cpus,
            "memoryMB": self.memory_mb,
            "diskSizeMB": 1024,
            "state": "running",
            "envdVersion": self.envd,
            "metadata": box.request.get("metadata", {}),
        }

    def _expire(self) -> None:
        now = time.monotonic()
        for box in self.live:
            if box.ends_at is not None and now >= box.ends_at:
                self.vanish(box.name)

    # -- envd -------------------------------------------------------------------------------------

    def _envd(self, request: Request) -> Response:
        box = self.sandboxes.get(request.headers["e2b-sandbox-id"])
        if box is None:
            return answer({"sandboxId": "x", "message": "The sandbox was not found", "code": 502}, 502)
        port = int(request.headers.get("e2b-sandbox-port", 49983))
        if port != 49983:
            if request.headers.get("e2b-traffic-access-token") != box.traffic:
                return answer({"code": 403, "message": "Missing or invalid traffic access token"}, 403)
            return forward(request, box, port)
        if request.path != "/health" and request.headers.get("x-access-token") != box.token:
            return answer({"code": "unauthenticated", "message": "invalid access token"}, 401)
        match [request.method, request.path]:
            case ["GET", "/health"]:
                return Response(204)
            case ["POST", "/files"]:
                return self._upload(box, request)
            case ["POST", "/process.Process/Start"]:
                return self._start(box, request)
            case ["POST", "/process.Process/SendInput"]:
                body = request.json
                data = base64.b64decode(body["input"].get("stdin", ""))
                return self._tell(box, body, lambda program: program.write(data))
            case ["POST", "/process.Process/CloseStdin"]:
                return self._tell(box, request.json, lambda program: program.close_stdin() or True)
            case ["POST", "/process.Process/SendSignal"]:
                return self._tell(box, request.json, lambda program: program.end() or True)
        return answer({"code": "not_found", "message": request.path}, 404)

    def _upload(self, box: Sandbox, request: Request) -> Response:
        path = box.path(request.query["path"])
        if path is None:
            return self.error(400, f"{request.query['path']} is outside of the sandbox")
        if request.headers["content-type"].startswith("multipart/"):
            (data,) = [content for name, _, content in request.parts() if name == "file"]
        else:
            data = request.body
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return answer([{"path": str(path), "name": path.name, "type": "file"}])

    def _tell(self, box: Sandbox, body: dict[str, Any], what: Any) -> Response:
        program = box.programs.get(int(body["process"]["pid"]))
        if program is None or program.exit.is_set() or not what(program):
            return answer({"code": "not_found", "message": "the process is not there"}, 404)
        return answer({})

    def _start(self, box: Sandbox, request: Request) -> Response:
        size = _ENVELOPE.unpack_from(request.body)[1]
        body = json.loads(request.body[_ENVELOPE.size : _ENVELOPE.size + size])
        process = body["process"]
        program = box.start(
            [process["cmd"], *process.get("args", [])],
            stdin=body.get("stdin", True),
            env=process.get("envs"),
            cwd=process.get("cwd", ""),
        )
        milliseconds = request.headers.get("connect-timeout-ms")
        ends_at = time.monotonic() + int(milliseconds) / 1000 if milliseconds else None
        return Response(kind="application/connect+json", stream=self._events(program, program.listen(), ends_at))

    def _events(
        self, program: Program, output: queue.Queue[tuple[str, bytes]], ends_at: float | None
    ) -> Iterator[bytes]:
        yield _envelope({"event": {"start": {"pid": program.pid}}})
        quiet = time.monotonic()
        while not self.closing.is_set():
            if ends_at is not None and time.monotonic() > ends_at:
                program.end()  # envd really does that: the process lives as long as the request may take
                yield _envelope({"error": {"code": "deadline_exceeded", "message": "too late"}}, _END)
                return
            try:
                kind, data = output.get(timeout=0.1)
            except queue.Empty:
                if time.monotonic() - quiet > 1.0:
                    quiet = time.monotonic()
                    yield _envelope({"event": {"keepalive": {}}})
                continue
            if kind == "end":
                status = program.process.returncode
                end = {"exitCode": status, "exited": status >= 0, "status": f"exit status {status}"}
                yield _envelope({"event": {"end": end}})
                yield _envelope({}, _END)
                return
            yield _envelope({"event": {"data": {kind: base64.b64encode(data).decode()}}})


def _envelope(message: dict[str, Any], flags: int = 0) -> bytes:
    data = json.dumps(message).encode()
    return _ENVELOPE.pack(flags, len(data)) + data
