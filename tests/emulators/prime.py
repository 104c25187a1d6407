"""Prime: the REST control plane, and the gateway with files and Connect (streaming protobuf) processes, on one port.

The SDK's own descriptors decode what it sends: a field that it renames is noticed here.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import struct
import time
from collections.abc import Iterator
from typing import Any

from prime_sandboxes._proto.command_session import command_session_pb2

from tests.emulators.base import Emulator, Program, Request, Response, Sandbox, answer

pb: Any = command_session_pb2  # its classes are made at run time
_ENVELOPE = struct.Struct(">BI")
_END = 2
_NOW = "2026-01-01T00:00:00Z"


class PrimeEmulator(Emulator):
    """`image` is the account's only one; a sandbox gets at most `memory` GiB."""

    image = ("rlm-secure-sandbox", "1")
    memory = 64
    creating_seconds = 0.0
    #: What becomes of a sandbox then, and why.
    state = "RUNNING"
    reason: dict[str, str] = {}
    build_status = "COMPLETED"
    #: What the platform makes of a sandbox's network; None is what was asked for.
    egress: dict[str, Any] | None = None
    #: How often its rules are not applied yet.
    pending = 0

    def __init__(self) -> None:
        super().__init__()
        self.contexts: list[bytes] = []

    @property
    def api(self) -> str:
        return f"{self.url}/api/v1"

    def error(self, status: int, message: str) -> Response:
        return answer({"detail": message}, status)

    def route(self, request: Request) -> Response:
        self._expire()
        parts = request.path.strip("/").split("/")
        if parts[0] == "gateway":
            return self._gateway(request, parts[2], "/".join(parts[3:]))
        if request.method == "PUT" and parts[0] == "context":
            self.contexts.append(request.body)  # a signed address: no key goes there
            return Response(200) if "authorization" not in request.headers else self.error(400, "signed twice")
        if request.headers.get("authorization") != f"Bearer {self.key}":
            return self.error(401, "Invalid or expired token")
        match [request.method, *parts[2:]]:
            case ["POST", "sandbox"]:
                return self._create(request)
            case ["GET", "sandbox"]:
                return self._list(request)
            case ["POST", "sandbox", "status:batchGet"]:
                return self._statuses(request)
            case ["GET", "sandbox", name] if name in self.sandboxes:
                return answer(self._describe(self.sandboxes[name]))
            case ["DELETE", "sandbox", name] if name in self.sandboxes:
                self.vanish(name)
                return answer({"status": "TERMINATED"})
            case ["POST", "sandbox", name, "auth"] if name in self.sandboxes:
                return answer(self._auth(self.sandboxes[name]))
            case ["GET", "sandbox", name, "error-context"]:
                return answer({"status": "RUNNING" if name in self.sandboxes else "TERMINATED"})
            case ["GET", "sandbox", name, "egress-policy"] if name in self.sandboxes:
                return answer(self._egress(self.sandboxes[name]))
            case ["GET", "images"]:
                return self._images(request)
            case ["POST", "images", "build"]:
                told = {
                    "build_id": "bld",
                    "buildIds": ["bld"],
                    "expires_in": 600,
                    "upload_url": f"{self.url}/context/bld",
                }
                return answer({**told, "fullImagePath": "user-1/image"})
            case ["POST", "images", "build", "bld", "start"]:
                return answer({"id": "bld", "status": "BUILDING"})
            case ["GET", "images", "build", "bld"]:
                return answer({"id": "bld", "status": self.build_status, "errorMessage": "as told"})
        return self.error(404, f"{request.path} was not found")

    # -- the control plane ------------------------------------------------------------------------

    def _create(self, request: Request) -> Response:
        body = request.json
        with self.lock:
            box = next((each for each in self.live if each.request["idempotency_key"] == body["idempotency_key"]), None)
            if box is None:
                box = Sandbox(body)
                box.started_at = time.monotonic() + self.creating_seconds  # type: ignore[attr-defined]
                box.ends_at = time.monotonic() + 60 * body["timeout_minutes"]
                box.sessions = {}  # type: ignore[attr-defined]
                box.inputs = set()  # type: ignore[attr-defined]
                self.sandboxes[box.name] = box
                self.made.append(box)
        return answer(self._describe(box))

    def _status(self, box: Sandbox) -> str:
        return self.state if time.monotonic() >= box.started_at else "PROVISIONING"  # type: ignore[attr-defined]

    def _describe(self, box: Sandbox) -> dict[str, Any]:
        asked = box.request
        return {
            "id": box.name,
            "name": asked["name"],
            "dockerImage": asked["docker_image"],
            "cpuCores": asked["cpu_cores"],
            "memoryGB": min(asked["memory_gb"], self.memory),
            "diskSizeGB": asked["disk_size_gb"],
            "diskMountPath": "/",
            "gpuCount": asked["gpu_count"],
            "vm": asked["vm"],
            "status": self._status(box),
            "timeoutMinutes": asked["timeout_minutes"],
            "labels": asked["labels"],
            "createdAt": _NOW,
            "updatedAt": _NOW,
        }

    def _list(self, request: Request) -> Response:
        wanted = {value for name, value in request.fields if name == "labels"}
        page, size = int(request.query["page"]), int(request.query["per_page"])
        found = [each for each in self.live if wanted <= set(each.request["labels"])]
        shown = [self._describe(each) for each in found[(page - 1) * size : page * size]]
        told = {"total": len(found), "page": page, "perPage": size, "hasNext": len(found) > page * size}
        return answer({"sandboxes": shown, **told})

    def _statuses(self, request: Request) -> Response:
        names = request.json["sandbox_ids"]
        known = [self.sandboxes[name] for name in names if name in self.sandboxes]
        gone = [name for name in names if name not in self.sandboxes]
        states = [{"sandbox_id": each.name, "status": self._status(each), **self.reason} for each in known]
        errors = [{"sandbox_id": name, "code": "NOT_FOUND", "message": "not found"} for name in gone]
        return answer({"statuses": states, "errors": errors})

    def _auth(self, box: Sandbox) -> dict[str, Any]:
        told = {"gateway_url": f"{self.url}/gateway", "user_ns": "ns", "job_id": box.name, "token": box.token}
        return {**told, "expires_at": "2099-01-01T00:00:00Z"}

    def _egress(self, box: Sandbox) -> dict[str, Any]:
        lists = {"allowlist": box.request.get("network_allowlist"), "denylist": box.request.get("network_denylist")}
        self.pending -= 1
        applied = self.pending < 0
        return {"policy": self.egress or lists, "generation": 1, "applied_generation": int(applied), "applied": applied}

    def _images(self, request: Request) -> Response:
        name, tag = self.image
        told = {"imageName": name, "imageTag": tag, "displayRef": f"user-1/{name}:{tag}", "status": "COMPLETED"}
        shown = [{"id": "img", "artifactType": "VM_SANDBOX", "createdAt": _NOW, **told}]
        return answer({"data": shown if request.query["search"] in name else [], "offset": 0, "limit": 250})

    def _expire(self) -> None:
        for box in self.live:
            if box.ends_at is not None and time.monotonic() >= box.ends_at:
                self.vanish(box.name)

    # -- the gateway ------------------------------------------------------------------------------

    def _gateway(self, request: Request, name: str, what: str) -> Response:
        box = self.sandboxes.get(name)
        if box is None:
            if what == "upload":
                return answer({"error": "sandbox_not_found"}, 502)
            return _refusal(404, "not_found", "the sandbox is not there")
        if request.headers.get("authorization") != f"Bearer {box.token}":
            return _refusal(401, "unauthenticated", "invalid access token")
        match [request.method, what]:
            case ["POST", "upload"]:
                return self._upload(box, request)
            case ["POST", "command_session.CommandSession/Start"]:
                return self._start(box, pb.StartRequest.FromString(_message(request)))
            case ["POST", "command_session.CommandSession/SendInput"]:
                return self._input(box, pb.SendInputRequest.FromString(request.body))
            case ["POST", "command_session.CommandSession/SendSignal"]:
                return self._signal(box, pb.SendSignalRequest.FromString(request.body))
        return _refusal(404, "unimplemented", request.path)

    def _upload(self, box: Sandbox, request: Request) -> Response:
        path = box.path(request.query["path"])
        if path is None or request.query["sandbox_id"] != box.name:
            return self.error(400, f"{request.query['path']} is outside of the sandbox")
        (data,) = [content for name, _, content in request.parts() if name == "file"]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        return answer({"success": True, "path": str(path), "size": len(data), "timestamp": _NOW})

    def _start(self, box: Sandbox, told: Any) -> Response:
        sessions: dict[str, Program] = box.sessions  # type: ignore[attr-defined]
        command = told.command
        if told.session_uuid in sessions:  # sent again: it is joined, not started once more
            return _stream(sessions[told.session_uuid], self)
        arguments = [command.cmd, *command.args]
        program = box.start(arguments, stdin=told.stdin, env=dict(command.envs), cwd=command.cwd)
        if told.session_uuid:
            sessions[told.session_uuid] = program
        return _stream(program, self)

    def _program(self, box: Sandbox, told: Any) -> Program | None:
        return box.sessions.get(told.session.session_uuid)  # type: ignore[attr-defined]

    def _input(self, box: Sandbox, told: Any) -> Response:
        program = self._program(box, told)
        if program is None or program.exit.is_set():
            return _refusal(404, "not_found", "the session is not there")
        inputs: set[str] = box.inputs  # type: ignore[attr-defined]
        if told.input_uuid not in inputs and not program.write(told.input.stdin):
            return _refusal(412, "failed_precondition", "its input is closed")
        inputs.add(told.input_uuid)
        return Response(kind="application/proto", body=pb.SendInputResponse().SerializeToString())

    def _signal(self, box: Sandbox, told: Any) -> Response:
        program = self._program(box, told)
        if program is None or program.exit.is_set():
            return _refusal(404, "not_found", "the session is not there")
        if told.signal == pb.SIGNAL_SIGKILL:
            program.end()
        else:
            os.killpg(program.pid, signal.SIGTERM)
        return Response(kind="application/proto", body=pb.SendSignalResponse().SerializeToString())


def _refusal(status: int, code: str, message: str) -> Response:
    return answer({"code": code, "message": message}, status)


def _message(request: Request) -> bytes:
    size = _ENVELOPE.unpack_from(request.body)[1]
    return request.body[_ENVELOPE.size : _ENVELOPE.size + size]


def _stream(program: Program, emulator: PrimeEmulator) -> Response:
    return Response(kind="application/connect+proto", stream=_events(program, program.listen(), emulator))


def _events(program: Program, output: queue.Queue[tuple[str, bytes]], emulator: PrimeEmulator) -> Iterator[bytes]:
    yield _event(start={"pid": program.pid})
    quiet = time.monotonic()
    while not emulator.closing.is_set():
        try:
            kind, data = output.get(timeout=0.1)
        except queue.Empty:
            if time.monotonic() - quiet > 1.0:
                quiet = time.monotonic()
                yield _event(keepalive={})
            continue
        if kind == "end":
            yield _event(end={"exit_code": program.process.returncode})
            yield _envelope(json.dumps({}).encode(), _END)
            return
        yield _event(data={kind: data})


def _event(**what: dict[str, Any]) -> bytes:
    return _envelope(pb.StartResponse(event=what).SerializeToString())


def _envelope(data: bytes, flags: int = 0) -> bytes:
    return _ENVELOPE.pack(flags, len(data)) + data
