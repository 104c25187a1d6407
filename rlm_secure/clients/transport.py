"""The connections of an SDK, bounded: every operation on the wire has what is left of its call's time and bytes.

`bind` puts itself under an HTTP client of httpx, or of its successor httpx2, which keeps all that the client was made
with: proxies of the environment, certificates, limits of its pool. Nothing changes for requests outside of a call.

Guards: that a reply is counted and timed where its bytes come in, before any library holds it
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import socket
import ssl
import sys
from collections.abc import Awaitable, Callable
from typing import Any, Final

from rlm_secure.clients.call import ModelCall, current
from rlm_secure.clients.reply import Reply

#: How much is written in one go: what comes between two looks at the clock.
_SLICE: Final = 16 * 1024


class _TimedTLS(ssl.SSLSocket):
    """TLS to a proxy, within which there is TLS to a provider: each piece of a record has what is left of its call.

    The HTTP library gives one operation a timeout, and then waits as long for every piece of what it needs.
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
    """A connection of a blocking client. `answered`: whether anything was read since something was written."""

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
        for at in range(0, len(buffer), _SLICE):
            self._inner.write(buffer[at : at + _SLICE], timeout if call is None else call.wait(timeout))

    def start_tls(self, ssl_context: Any, server_hostname: str | None = None, timeout: float | None = None) -> _Stream:
        call = current()
        below = self._inner.get_extra_info("socket")
        if type(below) is ssl.SSLSocket:
            below.__class__ = _TimedTLS  # the library has it already, and asks for an SSLSocket
        return _Stream(
            self._inner.start_tls(ssl_context, server_hostname, timeout if call is None else call.wait(timeout))
        )

    def close(self) -> None:
        self._inner.close()

    def get_extra_info(self, info: str) -> Any:
        return self._inner.get_extra_info(info)


class _Backend:
    """Makes the connections of a blocking client."""

    def __init__(self, inner: Any) -> None:
        self._inner = inner

    def connect_tcp(self, host: str, port: int, timeout: float | None = None, **kwargs: Any) -> _Stream:
        call = current()
        if call is None:
            return _Stream(self._inner.connect_tcp(host, port, timeout=timeout, **kwargs))
        # One address after another, each with its share of what is left: otherwise each has the whole time.
        addresses: list[str] = []
        with contextlib.suppress(OSError, UnicodeError):  # the backend fails in the same way, in its own words
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
    """As _Stream, for an event loop; the call's own timeout ends what waits here."""

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
    """A transport of a blocking client, whose replies are read here, whole."""

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
    """Bound every connection of `client`, an HTTP client of httpx or httpx2, blocking or not. Doing it twice is fine.

    Raises AttributeError for one whose connections cannot be reached: no call is made over it.
    """
    # Some transports serve both kinds of clients.
    kind = _AsyncBounded if hasattr(client, "aclose") else _Bounded
    client._transport = _bounded(kind, client._transport)
    for pattern, transport in client._mounts.items():
        client._mounts[pattern] = None if transport is None else _bounded(kind, transport)


def _bounded(kind: type[Any], transport: Any) -> Any:
    return transport if isinstance(transport, kind) else kind(transport)


def _bind_pool(transport: Any) -> None:
    """Bound the connections of the HTTP library's own transport. A user's own class may have none."""
    if hasattr(transport, "_pool") or type(transport).__name__ in ("HTTPTransport", "AsyncHTTPTransport"):
        pool = transport._pool
        if not isinstance(pool._network_backend, _Backend | _AsyncBackend):
            kind = _AsyncBackend if hasattr(pool, "handle_async_request") else _Backend
            pool._network_backend = kind(pool._network_backend)


def bind_library(name: str) -> None:
    """Bound every connection of every client of the library `name`, httpx or httpx2, that serves a call.

    For an SDK that lets nobody hand it a client. Doing it twice is fine.
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
    """`handle(request)`, with its reply read and checked where it belongs to a call."""
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
    """As exchange(), for an event loop."""
    call = current()
    if call is None or call.is_under_way:
        return await handle(request)
    with call.attempt():
        _prepare(call, request)
        response = await handle(request)
        try:
            _check_order(response)
            reply = Reply(call, response.status_code, response.headers.raw)
            async for piece in response.stream:
                if not reply.add(piece):
                    break
        finally:
            await response.stream.aclose()
        return _response(request, reply)


def _prepare(call: ModelCall, request: Any) -> None:
    # A compressed reply would say nothing of the memory that it takes.
    request.headers["accept-encoding"] = "identity"
    timeouts = dict.fromkeys(("connect", "read", "write", "pool"), call.left)
    request.extensions = {**request.extensions, "timeout": timeouts}


def _check_order(response: Any) -> None:
    """Raise ConnectionError for an answer that was there before its question: of an earlier one on the same connection.

    The HTTP library keeps what comes behind an answer, and would take it, and each one after it, for the next. Raised
    in here, it closes the connection, and the call may be made again.
    """
    stream = response.extensions.get("network_stream")
    # In HTTP/2 an answer names its question, and writing and reading have no order.
    in_order = response.extensions.get("http_version", b"").startswith(b"HTTP/1")
    if in_order and isinstance(stream, _Stream | _AsyncStream) and not stream.answered:
        raise ConnectionError("the connection had an answer before the question was asked")


def _response(request: Any, reply: Reply) -> Any:
    """A response of the library that `request` is of, with the checked body in it."""
    library = sys.modules[type(request).__module__.partition(".")[0]]
    return library.Response(reply.status, headers=reply.headers, content=reply.content(), request=request)
