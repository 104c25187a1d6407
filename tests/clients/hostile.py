"""A provider that does to a client what it can, over a raw socket on 127.0.0.1.

    with HostileProvider() as server:
        get_client("openai", {"base_url": f"{server.address}/v1", ...}).complete("deed: drip")

The prompt names what is done to who sends it. Each of `DEEDS` writes to the connection until it is done, or until the
client has had enough.
"""

from __future__ import annotations

import functools
import json
import re
import socket
import threading
import time
import zlib
from collections.abc import Callable, Iterator

MIB = 1024 * 1024
_HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n"
_CHUNKED = _HEAD + b"transfer-encoding: chunked\r\n\r\n"


def says(path: str, text: str) -> bytes:
    """A whole reply with `text`, in the words of the API that `path` belongs to."""
    usage: dict[str, object]
    if "generateContent" in path:
        usage = {"promptTokenCount": 3, "candidatesTokenCount": 2}
        body = {"candidates": [{"content": {"role": "model", "parts": [{"text": text}]}}], "usageMetadata": usage}
    elif path.endswith("/messages"):
        usage = {"input_tokens": 3, "output_tokens": 2}
        body = {
            "id": "m",
            "type": "message",
            "role": "assistant",
            "model": "m",
            "stop_reason": "end_turn",
            "usage": usage,
        }
        body["content"] = [{"type": "text", "text": text}]
    else:
        usage = {"prompt_tokens": 3, "completion_tokens": 2, "total_tokens": 5}
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": text}}
        body = {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
    return json.dumps(body, ensure_ascii=False).encode()


def whole(body: bytes, head: bytes = _HEAD) -> bytes:
    """`body` behind its length."""
    return head + b"content-length: %d\r\n\r\n" % len(body) + body


def several(path: str, count: int) -> bytes:
    """A reply whose list of answers has `count` empty ones."""
    key = b"candidates" if "generateContent" in path else b"content" if path.endswith("/messages") else b"choices"
    return b'{"%s":[%s{}]}' % (key, b"{}," * (count - 1))


def forever(part: bytes, first: bytes = b"", pause: float = 0.0) -> Iterator[bytes]:
    """`first`, then `part` again and again, with a pause in seconds before each."""
    yield first
    while True:
        time.sleep(pause)
        yield part


def once(mib: int, first: bytes, head: bytes) -> Iterator[bytes]:
    """`head` and `first`, and so many MiB."""
    yield head + first
    part = b"x" * MIB
    for _ in range(mib):
        yield part


def _deep(_: str) -> Iterator[bytes]:
    yield whole(b'{"choices":' + b"[" * 100_000)


def _redirect(path: str) -> Iterator[bytes]:
    yield whole(b"", b"HTTP/1.1 307 Again\r\nlocation: " + path.encode() + b"\r\n")


def _headers(_: str) -> Iterator[bytes]:
    yield _HEAD + b"".join(b"x%d: y\r\n" % number for number in range(5000)) + b"content-length: 2\r\n\r\n{}"


def _bomb(_: str) -> Iterator[bytes]:
    yield whole(_gzipped(160), _HEAD + b"content-encoding: gzip\r\n")


def _failed_bomb(_: str) -> Iterator[bytes]:
    yield whole(_gzipped(160), b"HTTP/1.1 400 No\r\ncontent-encoding: gzip\r\n")


def _character_set(_: str) -> Iterator[bytes]:
    yield whole(zlib.compress(bytes(32 * MIB), 1), b"HTTP/1.1 200 OK\r\ncontent-type: text/plain; charset=zip\r\n")


@functools.cache
def _gzipped(mib: int) -> bytes:
    """So many MiB of nothing as one stream, 1,000 times smaller."""
    packer = zlib.compressobj(1, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(bytes(MIB)) for _ in range(mib)), packer.flush()])


#: What lasts until it is ended: by the deadline, in lm.timeout_seconds.
SLOW: dict[str, Callable[[str], Iterator[bytes]]] = {
    "silence": lambda _: forever(b"", pause=0.2),
    "drip": lambda _: forever(b" ", _HEAD + b"content-length: 100000\r\n\r\n", pause=0.05),
    "drip-of-chunks": lambda _: forever(b"1\r\n \r\n", _CHUNKED, pause=0.05),
    "drip-of-headers": lambda _: forever(b"a", b"HTTP/1.1 200 OK\r\nx: ", pause=0.05),
    "drip-of-interim-replies": lambda _: forever(b"HTTP/1.1 100 Continue\r\n\r\n", pause=0.05),
    "come-again-later": lambda _: iter([whole(b"{}", b"HTTP/1.1 503 Later\r\nretry-after: 60\r\n")]),
    "come-again-soon": lambda _: iter([whole(b"{}", b"HTTP/1.1 503 Soon\r\nretry-after-ms: 50\r\n")]),
}
#: What would fill memory or burn time at once.
LARGE: dict[str, Callable[[str], Iterator[bytes]]] = {
    "gzip-bomb": _bomb,
    "gzip-bomb-with-an-error": _failed_bomb,
    "character-set-that-decompresses": _character_set,
    "large-body": lambda _: once(95, b'{"a":"', _HEAD + b"content-length: %d\r\n\r\n" % (95 * MIB + 6)),
    "large-body-of-an-error": lambda _: forever(b"x" * MIB, b"HTTP/1.1 400 No\r\n\r\n"),
    "endless-body": lambda _: forever(b"x" * MIB, _HEAD + b"\r\n"),
    "endless-chunks": lambda _: forever(b"10000\r\n" + b"x" * 65536 + b"\r\n", _CHUNKED),
    "endless-small-chunks": lambda _: forever(b"1\r\n \r\n" * 1000, _CHUNKED),
    "endless-events": lambda _: forever(
        b"data: {}\n\n" * 1000, b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
    ),
    "endless-interim-replies": lambda _: forever(b"HTTP/1.1 100 Continue\r\n\r\n" * 100),
    "endless-headers": lambda _: forever(b"a: b\r\n" * 1000, b"HTTP/1.1 200 OK\r\n"),
    "thousands-of-headers": _headers,
    "million-answers": lambda path: iter([whole(several(path, 1_000_000))]),
    "depth": _deep,
    "long-number": lambda _: iter([whole(b'{"usage":{"prompt_tokens":%s}}' % (b"9" * 4_000_000))]),
    "sixteen-bits": lambda path: iter([whole(several(path, 300_000).decode().encode("utf-16"))]),
    "redirect": _redirect,
}
#: What may be answered, or refused; it takes no more memory.
FITS: dict[str, Callable[[str], Iterator[bytes]]] = {
    "as-many-answers-as-may-be": lambda path: iter([whole(several(path, 8_000))]),
    "text-of-four-mib": lambda path: iter([whole(says(path, "x" * (4 * MIB)))]),
    "text-with-a-wide-character": lambda path: iter([whole(says(path, "x" * (4 * MIB) + "\U0001f600"))]),
    "text-of-wide-characters": lambda path: iter([whole(says(path, "\U0001f600" * 440_000))]),
    "text-of-quotation-marks": lambda path: iter([whole(says(path, '"' * (5 * MIB // 2)))]),
}
DEEDS: dict[str, Callable[[str], Iterator[bytes]]] = {
    **SLOW,
    **LARGE,
    **FITS,
    "ok": lambda path: iter([whole(says(path, "fine"))]),
    "two-answers": lambda path: iter([whole(says(path, "fine")) + whole(says(path, "of another question"))]),
    "hang-up": lambda _: iter([]),
    "nonsense": lambda _: iter([b"HTTP/9.9 maybe\r\n\r\n"]),
}


class HostileProvider:
    """Listens on 127.0.0.1 (or `host`), a free port. `requests` counts them by deed; `connections` counts those."""

    def __init__(self, host: str = "127.0.0.1", wrap: Callable[[socket.socket], socket.socket] | None = None) -> None:
        self.requests: dict[str, int] = {}
        self.connections = 0
        self._wrap = wrap
        self._listener = socket.create_server((host, 0), family=socket.AF_INET6 if ":" in host else socket.AF_INET)
        self.port: int = self._listener.getsockname()[1]
        name = f"[{host}]" if ":" in host else host
        self.address = f"{'https' if wrap else 'http'}://{name}:{self.port}"

    def __enter__(self) -> HostileProvider:
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()
        return self

    def __exit__(self, *_: object) -> None:
        # A thread that still waits in accept() would take the connections of whoever gets the number of the descriptor.
        self._listener.shutdown(socket.SHUT_RDWR)
        self._acceptor.join()
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(30)
        try:
            connection = self._wrap(connection) if self._wrap else connection
            with connection, connection.makefile("rb") as lines:
                while line := lines.readline():
                    path = line.split()[1].decode().partition("?")[0]
                    length = 0
                    while (header := lines.readline()).strip():
                        if header.lower().startswith(b"content-length:"):
                            length = int(header.split(b":")[1])
                    named = re.search(rb"deed: ([a-z-]+)", lines.read(length))
                    deed = named[1].decode() if named else "ok"
                    self.requests[deed] = self.requests.get(deed, 0) + 1
                    for part in DEEDS[deed](path):
                        connection.sendall(part)
                    if deed in ("hang-up", "nonsense"):
                        return
        except (OSError, ValueError):
            return
