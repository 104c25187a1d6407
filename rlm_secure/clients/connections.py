"""The SDK objects that hold connections: one for threads, one per event loop; none follows redirects or retries.

A forked process creates its own: two processes on one connection would read each other's replies.
"""

from __future__ import annotations

import asyncio
import importlib
import math
import os
import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar
from weakref import WeakKeyDictionary

from rlm_secure.clients.failures import set_up_error
from rlm_secure.clients.transport import bind
from rlm_secure.forks import at_fork

T = TypeVar("T")


class PerLoop(Generic[T]):
    """Objects that hold connections, created on first use: one for all threads, and one for each event loop."""

    def __init__(self) -> None:
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._lock = threading.Lock()
        self._threads: T | None = None
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, T] = WeakKeyDictionary()

    def for_threads(self, make: Callable[[], T]) -> T:
        """The object that all threads share."""
        self._own()
        with self._lock:
            if self._threads is None:
                self._threads = make()
            return self._threads

    def for_loop(self, make: Callable[[], T]) -> T:
        """The object of the running event loop: a connection pool cannot be shared between loops."""
        self._own()
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._loops:
                self._loops[loop] = make()
            return self._loops[loop]

    def pop(self) -> T | None:
        """Remove the object of the running event loop and return it; the caller closes it."""
        self._own()
        with self._lock:
            return self._loops.pop(asyncio.get_running_loop(), None)

    def _own(self) -> None:
        """After a fork, drop the parent's objects and its lock, which a thread of the parent may have held."""
        if self._process != os.getpid():
            self._begin()


#: Environment variables that the HTTP libraries read when they make TLS settings.
_TLS_VARIABLES: Final = ("SSL_CERT_FILE", "SSL_CERT_DIR", "SSLKEYLOGFILE")
#: Seconds after which TLS settings are made anew: the certificates on the disk may be others.
_TLS_SECONDS: Final = 600

_tls_lock = threading.Lock()
_tls: dict[tuple[str | None, ...], tuple[float, Any]] = {}


def verification(kind: type[Any]) -> Any:
    """The TLS settings that `kind`, a client class of httpx or httpx2, has by default, for its argument `verify`.

    All clients share them for ten minutes: making them reads every certificate, which takes longer than a call.
    """
    bases = (base.__module__.partition(".")[0] for base in kind.__mro__)
    library = next(name for name in bases if name in ("httpx", "httpx2"))
    key = (library, *map(os.environ.get, _TLS_VARIABLES))
    with _tls_lock:
        made, settings = _tls.get(key, (-math.inf, None))
        if time.monotonic() - made > _TLS_SECONDS:
            _tls.clear()
            settings = importlib.import_module(library).create_ssl_context()
            _tls[key] = time.monotonic(), settings
        return settings


def _forget() -> None:
    # A thread of the parent may have held the lock; those of one process are not shared with another.
    global _tls_lock
    _tls_lock = threading.Lock()
    _tls.clear()


at_fork(after_in_child=_forget)


class Connections:
    """The clients of one SDK for one server. `package` is "openai" or one with the same structure."""

    def __init__(self, package: str, settings: Mapping[str, Any]) -> None:
        self._package = package
        self.settings = dict(settings)
        self._made: PerLoop[Any] = PerLoop()

    def for_threads(self, kind: type[Any]) -> Any:
        """The blocking client."""
        return self._made.for_threads(lambda: self._make(kind, "DefaultHttpxClient"))

    def for_loop(self, kind: type[Any]) -> Any:
        """The client of the running event loop."""
        return self._made.for_loop(lambda: self._make(kind, "DefaultAsyncHttpxClient"))

    async def aclose(self) -> None:
        """Close the running event loop's client."""
        client = self._made.pop()
        if client is not None:
            await client.close()

    def _make(self, kind: type[Any], http: str) -> Any:
        try:
            client = self.settings.get("http_client")
            if client is None:
                # A redirect would send prompts to a server that the user did not choose.
                kind_of_http = getattr(importlib.import_module(self._package), http)
                client = kind_of_http(follow_redirects=False, verify=verification(kind_of_http))
            bind(client)
            # Only SDKClient retries: it knows the deadline of the call.
            return kind(max_retries=0, **{**self.settings, "http_client": client})
        except Exception as error:  # noqa: BLE001  the SDK's constructor failed: nothing was sent yet
            failure = set_up_error(self._package, error, self.settings)
            raise failure from failure.__cause__
