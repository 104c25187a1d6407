"""A local server that speaks OpenAI's chat API: standard library only, told what to answer by the test.

    with OpenAIServer(reply="Paris") as server:
        client = openai.OpenAI(base_url=server.base_url, api_key="test")

`reply` is a str, or a callable of the decoded request that returns a str, a `Raw` response, a `Stream`, or raises. A
str is streamed, in words, where the request asks for a stream.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterable
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
class Stream:
    """Server-sent events: each of `events` is JSON, or bytes that are sent as they are, after `delay` seconds."""

    events: Iterable[Any]
    delay: float = 0.0


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
        reply: str | Callable[[dict[str, Any]], str | Raw | Stream] = "ok",
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
            request.close_connection = True
        finally:
            with self._lock:
                self.in_flight -= 1

    def _answer(self, request: BaseHTTPRequestHandler, body: dict[str, Any]) -> Raw | Stream:
        if self.delay:
            self._wait(request)
        answer = self.reply(body) if callable(self.reply) else self.reply
        if isinstance(answer, Raw | Stream):
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
        if body.get("stream"):
            asked = (body.get("stream_options") or {}).get("include_usage")
            return Stream(streamed(answer, usage if asked else None, body["model"]))
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

    def _send(self, request: BaseHTTPRequestHandler, raw: Raw | Stream) -> None:
        if isinstance(raw, Stream):
            self._send_stream(request, raw)
            return
        data = raw.body if isinstance(raw.body, bytes) else json.dumps(raw.body).encode()
        request.send_response(raw.status)
        headers = {"content-type": "application/json", "content-length": str(len(data)), **raw.headers}
        for name, value in headers.items():
            request.send_header(name, value)
        request.end_headers()
        request.wfile.write(data)

    def _send_stream(self, request: BaseHTTPRequestHandler, stream: Stream) -> None:
        request.send_response(200)
        request.send_header("content-type", "text/event-stream")
        request.send_header("transfer-encoding", "chunked")
        request.end_headers()
        for event in stream.events:
            time.sleep(stream.delay)
            data = event if isinstance(event, bytes) else b"data: " + json.dumps(event).encode() + b"\r\n\r\n"
            request.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
            request.wfile.flush()
        request.wfile.write(b"0\r\n\r\n")


def streamed(text: str, usage: dict[str, Any] | None, model: str = "m") -> list[Any]:
    """The events of a streamed chat completion: a role, the words, a reason to finish, and the usage if there is one."""
    words = re.findall(r"\S+\s*|\s+", text)
    head = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 0, "model": model}
    said = [{"role": "assistant", "content": ""}, *({"content": word} for word in words)]
    events: list[Any] = [
        {**head, "choices": [{"index": 0, "delta": each, "finish_reason": None}], "usage": None} for each in said
    ]
    events.append({**head, "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": None})
    if usage is not None:
        events.append({**head, "choices": [], "usage": usage})
    return [*events, b"data: [DONE]\n\n"]
