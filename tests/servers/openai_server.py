"""A local server that speaks OpenAI's chat API: standard library only, told what to answer by the test.

    with OpenAIServer(reply="Paris") as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="test")

`reply` is a str, or a callable of the decoded request that returns a str, a `Raw` response, or raises.
"""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass
class Raw:
    """A response of any status and body, for what a provider should not do but does."""

    status: int = 200
    body: Any = None
    headers: dict[str, str] = field(default_factory=dict)


@dataclass
class Seen:
    """One request as it arrived."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class OpenAIServer:
    """Answers POST /v1/chat/completions; counts what is in flight. Listens on 127.0.0.1, a free port."""

    def __init__(
        self,
        reply: str | Callable[[dict[str, Any]], str | Raw] = "ok",
        *,
        delay: float = 0.0,
        usage: dict[str, Any] | None | str = "count",
    ) -> None:
        self.reply = reply
        self.delay = delay
        self.usage = usage
        self.requests: list[Seen] = []
        self.in_flight = 0
        self.peak = 0
        self.cut_off = 0
        self._lock = threading.Lock()
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def setup(self) -> None:
                super().setup()
                self.connection.settimeout(30)

            def do_POST(self) -> None:
                outer._serve(self)

            def do_GET(self) -> None:
                outer._serve(self)

            def log_message(self, *_: Any) -> None:
                return

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=self._http.serve_forever, args=(0.02,), daemon=True)

    @property
    def base_url(self) -> str:
        return f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def __enter__(self) -> OpenAIServer:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._http.shutdown()
        self._http.server_close()

    def _serve(self, request: BaseHTTPRequestHandler) -> None:
        length = int(request.headers.get("content-length") or 0)
        body = json.loads(request.rfile.read(length) or b"{}")
        with self._lock:
            self.requests.append(Seen(request.path, {k.lower(): v for k, v in request.headers.items()}, body))
            self.in_flight += 1
            self.peak = max(self.peak, self.in_flight)
        try:
            raw = self._answer(request, body)
            self._send(request, raw)
        except (BrokenPipeError, ConnectionResetError):
            self.cut_off += 1
        finally:
            with self._lock:
                self.in_flight -= 1

    def _answer(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> Raw:
        if self.delay:
            self._wait(request)
        answer = self.reply(body) if callable(self.reply) else self.reply
        if isinstance(answer, Raw):
            return answer
        prompt = " ".join(str(message["content"]) for message in body["messages"])
        usage = self.usage
        if usage == "count":
            usage = {"prompt_tokens": len(prompt.split()), "completion_tokens": len(answer.split())}
            usage["total_tokens"] = usage["prompt_tokens"] + usage["completion_tokens"]
        completion = {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": 0,
            "model": body["model"],
            "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": answer}}],
        }
        if usage is not None:
            completion["usage"] = usage
        return Raw(body=completion)

    def _wait(self, request: BaseHTTPRequestHandler) -> None:
        """Wait `delay` seconds; notice a client that hangs up."""
        end = time.monotonic() + self.delay
        request.connection.settimeout(0.01)
        try:
            while (left := end - time.monotonic()) > 0:
                try:
                    request.connection.settimeout(min(left, 0.05))
                    if request.connection.recv(1) == b"":
                        raise BrokenPipeError
                except TimeoutError:
                    continue
        finally:
            request.connection.settimeout(30)

    def _send(self, request: BaseHTTPRequestHandler, raw: Raw) -> None:
        data = raw.body if isinstance(raw.body, bytes) else json.dumps(raw.body).encode()
        request.send_response(raw.status)
        headers = {"content-type": "application/json", "content-length": str(len(data)), **raw.headers}
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)
