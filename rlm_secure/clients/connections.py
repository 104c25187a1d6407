"""The SDK objects that hold connections: one for threads, one per event loop, and none that follows a redirect."""

from __future__ import annotations

import asyncio
import importlib
import threading
from collections.abc import Mapping
from typing import Any
from weakref import WeakKeyDictionary

from rlm_secure.clients.failures import set_up_error


class Connections:
    """The clients of one SDK for one server, made when first used. `package` is "openai" or one built like it."""

    def __init__(self, package: str, settings: Mapping[str, Any]) -> None:
        self._package = package
        self.settings = dict(settings)
        self._lock = threading.Lock()
        self._threads: Any = None
        self._loops: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    def for_threads(self, kind: type[Any], retries: int) -> Any:
        """The blocking client. `retries` counts when it is made."""
        with self._lock:
            if self._threads is None:
                self._threads = self._made(kind, retries, "DefaultHttpxClient")
            return self._threads

    def for_loop(self, kind: type[Any], retries: int) -> Any:
        """The client of the running event loop: a connection pool cannot be shared between loops."""
        loop = asyncio.get_running_loop()
        with self._lock:
            if loop not in self._loops:
                self._loops[loop] = self._made(kind, retries, "DefaultAsyncHttpxClient")
            return self._loops[loop]

    async def aclose(self) -> None:
        """Close the running event loop's client."""
        with self._lock:
            client = self._loops.pop(asyncio.get_running_loop(), None)
        if client is not None:
            await client.close()

    def _made(self, kind: type[Any], retries: int, http: str) -> Any:
        try:
            return kind(max_retries=retries, **self._with_http("http_client", http))
        except Exception as error:  # noqa: BLE001  of the SDK's constructor: nothing was sent yet
            failure = set_up_error(self._package, error, self.settings)
            raise failure from failure.__cause__

    def _with_http(self, key: str, default: str) -> dict[str, Any]:
        if self.settings.get(key) is not None:
            return self.settings
        # A redirect would carry prompts to a place that nobody chose.
        return {**self.settings, key: getattr(importlib.import_module(self._package), default)(follow_redirects=False)}
