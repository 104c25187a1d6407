"""Limits on an SDK's connections: every network operation gets what is left of its call's time and bytes.

`bind` wraps the transports of an HTTP client of httpx, or of its successor httpx2, and keeps the client's settings:
proxies from the environment, certificates, pool limits. Requests outside a call are unchanged.

Guards: that a reply is counted and timed where its bytes come in, before any library holds it
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import importlib
import socket
import ssl
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any, Final

from rlm_secure.clients.call import ModelCall, current
from rlm_secure.clients.reply import Reply
from rlm_secure.clients.streaming import StreamedEvents

#: Bytes written between two checks of the deadline.
_SLICE: Final = 16 * 1024
#: Events of a stream that an SDK reads before the event loop gets to other calls, and to this one's timeout.
_AT_ONCE: Final = 64


class _TimedTLS(ssl.SSLSocket):
    """TLS to a proxy that carries TLS to a provider: each read or write gets the time that is left of its call.

    The HTTP library takes one timeout per operation, and applies it anew to every read or write within that operation.
    """

    def recv(self, buflen: int = 1024, flags: int = 0) -> bytes:
        self._hurry()
        return super().recv(buflen, flags)

    def send(self, data: Any, flags: int = 0) -> int:
        self._hurry()
        return super().send(data, flags)

    def _hurry(self) -> None:
        call, timeout = current(), self.gettimeout()
        self.settimeout(timeout if call is None else call.wait(timeout))


class _Stream:
    """A connection of a blocking client. `answered`: whether it was read since the last write."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.answered = False

    def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        call = current()
        self.answered = True
        data: bytes = self._inner.read(max_bytes, timeout if call is None else call.wait(timeout))
        if call is not None:
            call.arrived(len(data))
        return data

    def write(self, buffer: bytes, timeout: float | None = None) -> None:
        call = current()
        self.answered = False
        if call is not None:
            call.sends()
        for at in range(0, len(buffer), _SLICE):
            self._inner.write(buffer[at : at + _SLICE], timeout if call is None else call.wait(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        call = current()
        below = self._inner.get_extra_info("socket")
        if type(below) is ssl.SSLSocket:
            below.__class__ = _TimedTLS  # the library already holds this object, and requires an SSLSocket
        return _Stream(
            self._inner.start_tls(ssl_context, server_hostname, timeout if call is None else call.wait(timeout))
        )

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend:
    """Opens the connections of a blocking client."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **kwargs: Any) -> _Stream:
        call = current()
        if call is None:
            return _Stream(self._inner.connect_tcp(host, port, timeout=timeout, **kwargs))
        # Try the addresses in order, each with its share of the time left: otherwise each would get all of it.
        addresses: list[str] = []
        with contextlib.suppress(OSError, UnicodeError):  # the backend then fails the same way, with its own error
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
            addresses = list(dict.fromkeys(str(each[4][0]) for each in found))
        for place, address in enumerate(addresses[:-1]):
            with contextlib.suppress(Exception):
                share = call.wait(timeout) / (len(addresses) - place)
                return _Stream(self._inner.connect_tcp(address, port, timeout=share, **kwargs))
        last = addresses[-1] if addresses else host
        return _Stream(self._inner.connect_tcp(last, port, timeout=call.wait(timeout), **kwargs))

    def connect_unix_socket(self, path: str, timeout: float | None = None, **kwargs: Any) -> _Stream:
        call = current()
        wait = timeout if call is None else call.wait(timeout)
        return _Stream(self._inner.connect_unix_socket(path, timeout=wait, **kwargs))

    def sleep(self, seconds: float) -> None:
        call = current()
        self._inner.sleep(seconds if call is None else call.wait(seconds))


class _AsyncStream:
    """As _Stream, for an event loop; here the timeout of the whole call ends a wait."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        self.answered = False

    async def read(self, max_bytes: int, timeout: float | None = None) -> bytes:
        call = current()
        self.answered = True
        data: bytes = await self._inner.read(max_bytes, timeout if call is None else call.wait(timeout))
        if call is not None:
            call.arrived(len(data))
        return data

    async def write(self, buffer: bytes, timeout: float | None = None) -> None:
        call = current()
        self.answered = False
        if call is not None:
            call.sends()
        await self._inner.write(buffer, timeout if call is None else call.wait(timeout))

    async def start_tls(
        self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None
    ) -> _AsyncStream:
        call = current()
        wait = timeout if call is None else call.wait(timeout)
        return _AsyncStream(await self._inner.start_tls(ssl_context, server_hostname, wait))

    async def aclose(self) -> None:
        await self._inner.aclose()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _AsyncBackend:
    """As _Backend, for an event loop."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    async def connect_tcp(self, host: str, port: int, timeout: float | None = None, **kwargs: Any) -> _AsyncStream:
        call = current()
        wait = timeout if call is None else call.wait(timeout)
        return _AsyncStream(await self._inner.connect_tcp(host, port, timeout=wait, **kwargs))

    async def connect_unix_socket(self, path: str, timeout: float | None = None, **kwargs: Any) -> _AsyncStream:
        call = current()
        wait = timeout if call is None else call.wait(timeout)
        return _AsyncStream(await self._inner.connect_unix_socket(path, timeout=wait, **kwargs))

    async def sleep(self, seconds: float) -> None:
        await self._inner.sleep(seconds)


class _Bounded:
    """A transport of a blocking client that reads each reply completely."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        _bind_pool(inner)

    def handle_request(self, request: Any) -> Any:
        return exchange(self._inner.handle_request, request)

    def close(self) -> None:
        self._inner.close()

    def __enter__(self) -> _Bounded:
        self._inner.__enter__()
        return self

    def __exit__(self, *raised: Any) -> None:
        self._inner.__exit__(*raised)


class _AsyncBounded:
    """As _Bounded, for an event loop."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner
        _bind_pool(inner)

    async def handle_async_request(self, request: Any) -> Any:
        return await aexchange(self._inner.handle_async_request, request)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def __aenter__(self) -> _AsyncBounded:
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *raised: Any) -> None:
        await self._inner.__aexit__(*raised)


def bind(client: Any) -> None:
    """Limit every connection of `client`, an HTTP client of httpx or httpx2, blocking or not. Idempotent.

    Raises AttributeError if its connections cannot be wrapped, so that no call is made over it.
    """
    # Some transports serve both kinds of clients.
    kind = _AsyncBounded if hasattr(client, "aclose") else _Bounded
    client._transport = _bounded(kind, client._transport)
    for pattern, transport in client._mounts.items():
        client._mounts[pattern] = None if transport is None else _bounded(kind, transport)


def _bounded(kind: type[Any], transport: Any) -> Any:
    return transport if isinstance(transport, kind) else kind(transport)


def _bind_pool(transport: Any) -> None:
    """Limit the connections of the HTTP library's own transport. A user's own class may have no pool."""
    if hasattr(transport, "_pool") or type(transport).__name__ in ("HTTPTransport", "AsyncHTTPTransport"):
        pool = transport._pool
        if not isinstance(pool._network_backend, _Backend | _AsyncBackend):
            kind = _AsyncBackend if hasattr(pool, "handle_async_request") else _Backend
            pool._network_backend = kind(pool._network_backend)


def bind_library(name: str) -> None:
    """Limit every connection that serves a call, of every client of the library `name`, httpx or httpx2. Idempotent.

    For an SDK that does not accept a client.
    """
    library = importlib.import_module(name)
    for kind, method, through in (
        (library.HTTPTransport, "handle_request", exchange),
        (library.AsyncHTTPTransport, "handle_async_request", aexchange),
    ):
        handle = getattr(kind, method)
        if not hasattr(handle, "__wrapped__"):
            setattr(kind, method, _through(handle, through))


def _through(handle: Callable[[Any, Any], Any], through: Callable[..., Any]) -> Callable[[Any, Any], Any]:
    @functools.wraps(handle)
    def handled(transport: Any, request: Any) -> Any:
        if current() is not None:
            _bind_pool(transport)
        return through(functools.partial(handle, transport), request)

    return handled


def exchange(handle: Callable[[Any], Any], request: Any) -> Any:
    """Return `handle(request)`; if it belongs to a call, read and check the whole reply first."""
    call = current()
    if call is None or call.is_under_way:
        return handle(request)
    with call.attempt():
        _prepare(call, request)
        response = handle(request)
        try:
            _check_order(response)
            reply = Reply(call, response.status_code, response.headers.raw)
            for piece in response.stream:
                if not reply.add(piece):
                    break
        finally:
            response.stream.close()
        return _response(request, reply)


async def aexchange(handle: Callable[[Any], Awaitable[Any]], request: Any) -> Any:
    """As exchange(), for an event loop. A reply that is a stream is returned at once, and checked as it is read."""
    call = current()
    if call is None or call.is_under_way:
        return await handle(request)
    with call.attempt():
        _prepare(call, request)
        response = await handle(request)
        streamed = False
        try:
            _check_order(response)
            reply = Reply(call, response.status_code, response.headers.raw)
            if streamed := reply.is_stream:
                return _response(request, reply, _stream(request, response.stream, StreamedEvents(call)))
            async for piece in response.stream:
                if not reply.add(piece):
                    break
        finally:
            if not streamed:  # pragma: no branch - who streams has returned
                await response.stream.aclose()
        return _response(request, reply)


def _prepare(call: ModelCall, request: Any) -> None:
    # The size of a compressed reply would not limit the memory that it takes.
    request.headers["accept-encoding"] = "identity"
    timeouts = dict.fromkeys(("connect", "read", "write", "pool"), call.left)
    request.extensions = {**request.extensions, "timeout": timeouts}


def _check_order(response: Any) -> None:
    """Raise ConnectionError for a response that arrived before its request was sent: it belongs to an earlier request.

    The HTTP library buffers bytes after a response and would take them as the next response, so that every later
    response would be off by one. Raising here closes the connection, and the call may be retried.
    """
    stream = response.extensions.get("network_stream")
    # In HTTP/2 a response names its request, and reads and writes have no fixed order.
    in_order = response.extensions.get("http_version", b"").startswith(b"HTTP/1")
    if in_order and isinstance(stream, _Stream | _AsyncStream) and not stream.answered:
        raise ConnectionError("the connection had an answer before the question was asked")


def _response(request: Any, reply: Reply, stream: Any = None) -> Any:
    """A response object of the same library as `request`, with the checked body, or the stream of one."""
    body = {"content": reply.content()} if stream is None else {"stream": stream}
    return _library(request).Response(reply.status, headers=reply.headers, request=request, **body)


def _stream(request: Any, body: Any, events: StreamedEvents) -> Any:
    """A body for the same library as `request`, which is read from `body` as the checked `events` in it."""

    class Checked(_library(request).AsyncByteStream):  # type: ignore[misc]  # the library's own class is required
        async def __aiter__(self) -> AsyncIterator[bytes]:
            async for piece in body:
                for number, event in enumerate(events.add(piece), 1):
                    yield event
                    if number % _AT_ONCE == 0:
                        await asyncio.sleep(0)

        async def aclose(self) -> None:
            await body.aclose()

    return Checked()


def _library(request: Any) -> Any:
    return sys.modules[type(request).__module__.partition(".")[0]]
