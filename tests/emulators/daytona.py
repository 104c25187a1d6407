"""Daytona: the REST control plane, and the toolbox (files, sessions, logs over a web socket), on one port.

A session is a shell. Its commands run as the public source of Daytona's daemon has it (apps/daemon/pkg/session): output
goes through FIFOs to two loops of the shell that mark each line and append it to a log file; who follows the log gets
what is new every 20 ms, 1 KiB at a time.
"""

from __future__ import annotations

import json
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from rlm_secure.removal import remove
from tests.emulators.base import Emulator, Request, Response, Sandbox, answer, forward

_LOOK_SECONDS = 0.02
_MESSAGE_BYTES = 1024
_COMMAND = """\
{{
    place={place}
    mkfifo "$place/in" "$place/out" "$place/err" || exit 1
    (while IFS= read -r line || [ -n "$line" ]; do printf '\\001\\001\\001%s\\n' "$line"; done <"$place/out") >>"$place/log" &
    first=$!
    (while IFS= read -r line || [ -n "$line" ]; do printf '\\002\\002\\002%s\\n' "$line"; done <"$place/err") >>"$place/log" &
    second=$!
    (while :; do sleep 3600; done >"$place/in") &
    holder=$!
    {{ . "$place/command"; }} <"$place/in" >"$place/out" 2>"$place/err"
    status=$?
    kill "$holder" 2>/dev/null
    wait "$first" "$second"
    echo "$status" >"$place/status"
    rm -f "$place/in" "$place/out" "$place/err"
}}
"""


class _Command:
    """One command of a session, and its files."""

    def __init__(self, place: Path, command: str) -> None:
        self.place = place
        place.mkdir(parents=True)
        (place / "log").touch()
        (place / "command").write_text(command)

    @property
    def script(self) -> bytes:
        """What is written to the shell's input."""
        return _COMMAND.format(place=self.place).encode()

    @property
    def ended(self) -> bool:
        return (self.place / "status").exists()

    def write(self, data: str) -> None:
        """Raises OSError where nobody reads."""
        entry = os.open(self.place / "in", os.O_WRONLY | os.O_NONBLOCK)
        try:
            os.set_blocking(entry, True)
            rest = memoryview((data if data.endswith("\n") else data + "\n").encode())
            while rest:
                rest = rest[os.write(entry, rest) :]
        finally:
            os.close(entry)


class DaytonaEmulator(Emulator):
    """`snapshot` is the one that it has, of `memory` GiB."""

    snapshot = "rlm-secure-sandbox-1"
    memory = 2
    #: What an organisation's settings make of a create call.
    overrides: dict[str, Any] = {}
    creating_seconds = 0.1
    snapshot_state = "active"
    #: As the first daemons had it: a message that is shorter than 1 KiB is filled with NUL.
    padded = False

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
        sessions: dict[str, Any] = box.sessions  # type: ignore[attr-defined]
        match [request.method, *parts]:
            case ["GET", "work-dir" | "user-home-dir"]:
                return answer({"dir": str(box.home)})
            case ["POST", "files", "bulk-upload"]:
                return self._upload(box, request)
            case ["POST", "process", "session"]:
                if request.json["sessionId"] in sessions:
                    return self.error(409, "the session exists")
                sessions[request.json["sessionId"]] = (box.start(["/bin/sh"], stdin=True), {})
                return Response(201)
            case ["DELETE", "process", "session", name] if name in sessions:
                shell, commands = sessions.pop(name)
                shell.end()
                for command in commands.values():
                    remove(command.place)
                return Response(204)
            case ["POST", "process", "session", name, "exec"] if name in sessions:
                shell, commands = sessions[name]
                number = f"c{len(commands)}"
                commands[number] = _Command(box.home / ".daytona" / name / number, request.json["command"])
                box.own()
                shell.write(commands[number].script)
                return answer({"cmdId": number}, 202)
            case ["GET", "process", "session", name, "command", number, "logs"] if number in _commands(sessions, name):
                return Response(socket=True, stream=self._log(sessions[name][0], sessions[name][1][number]))
            case ["POST", "process", "session", name, "command", number, "input"] if number in _commands(sessions, name):
                command = sessions[name][1][number]
                try:
                    command.write(request.json["data"])
                except OSError as error:
                    if command.ended:
                        return self.error(410, "the command has completed")
                    return self.error(500, f"failed to open input pipe: {error.strerror}")
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

    def _log(self, shell: Any, command: _Command) -> Iterator[bytes]:
        with (command.place / "log").open("rb") as log:
            while not self.closing.is_set():
                over = command.ended or shell.exit.is_set()
                if data := log.read(_MESSAGE_BYTES):
                    yield data.ljust(_MESSAGE_BYTES, b"\0") if self.padded else data
                elif over:
                    return
                else:
                    self.closing.wait(_LOOK_SECONDS)


def _commands(sessions: dict[str, Any], name: str) -> dict[str, _Command]:
    found: dict[str, _Command] = sessions[name][1] if name in sessions else {}
    return found
