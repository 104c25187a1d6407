"""The API server of a Kubernetes cluster: its address and credentials, its requests, and the streams of exec.

The connection and TLS are those of the SDK's asynchronous client. What it does by default, and what is done here:
- Its exec helper takes one word, collects all output, and skips the kubeconfig's proxy: here the WebSocket is opened
  directly. Before v5 of its protocol nothing ends the input of a program, so a file is sent with its length.
- It writes refreshed tokens into the kubeconfig, follows redirects with the token, and sends passwords of `~/.netrc`:
  here it does none of it.
- `insecure-skip-tls-verify` gives the token to whoever answers: it is refused.
"""

from __future__ import annotations

import asyncio
import contextlib
import importlib
import os
import re
import time
import urllib.request
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlencode, urlsplit

from rlm_secure.environments.cloud.provider import retry_after
from rlm_secure.environments.cloud.stream import Stream
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.untrusted_json import MalformedJson, loads

CLAIMS_API: Final = "/apis/extensions.agents.x-k8s.io/v1beta1"
_SANDBOXES_API: Final = "/apis/agents.x-k8s.io/v1beta1"
#: Where the API has each kind of object.
_KINDS: Final = {
    "pods": ("/api/v1", "pods"),
    "claims": (CLAIMS_API, "sandboxclaims"),
    "sandboxes": (_SANDBOXES_API, "sandboxes"),
}
#: The name of an object.
NAME: Final = re.compile(r"[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?")

#: Newest first. Version 5 can end a program's input.
_PROTOCOLS: Final = ("v5.channel.k8s.io", "v4.channel.k8s.io")
_STDIN, _STDOUT, _STDERR, _STATUS, _CLOSE = 0, 1, 2, 3, 255
#: Largest message that is sent, as kubectl's.
_FRAME_BYTES: Final = 32 * 1024

_REQUEST_SECONDS: Final = 30.0
_CLOSE_SECONDS: Final = 1.0
_POLL_SECONDS: Final = (0.1, 2.0)
#: Age at which credentials are read again: plugins of clouds give tokens for 15 minutes.
_CREDENTIALS_SECONDS: Final = 600.0
_PASSING: Final = frozenset({408, 429, 500, 502, 503, 504})


class KubernetesError(Exception):
    """What the API server answered instead of what was asked for. `status` is HTTP's; `reason` its Status object's;
    `retry_after` the seconds that it asks to wait for, 0 if it does not say."""

    def __init__(self, status: int, reason: str, message: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{status} {reason}: {message}" if message else f"{status} {reason}")
        self.retry_after = retry_after
        self.status = status
        self.reason = reason
        self.message = message

    @property
    def full(self) -> bool:
        """Whether it makes no more for now: the quota is full until a pod ends, or requests come too fast."""
        return self.status == 429 or (self.status == 403 and "exceeded quota" in self.message)


class Cluster:
    """One namespace of a cluster. `kubeconfig` is a path (None: the service account of this process's own pod) and
    `context` one of its contexts. Used on one event loop."""

    def __init__(self, kubeconfig: str | None, context: str | None, namespace: str) -> None:
        self.namespace = namespace
        self.endpoint = " ".join((kubeconfig or "in the cluster", context or "", namespace))
        self._connection = kubeconfig, context
        self._api: Any = None
        self._read_at = 0.0
        self._secrets: tuple[str, ...] = ()

    # -- requests -----------------------------------------------------------------------------------

    def path(self, kind: str, name: str = "") -> str:
        """The path of all "pods", "claims" or "sandboxes", or of one of them. Raises ValueError for no name."""
        base, plural = _KINDS[kind]
        if name and not NAME.fullmatch(name):  # it may be the cluster's own word
            raise ValueError(f"{name[:80]!r} is no name of an object")
        return f"{base}/namespaces/{self.namespace}/{plural}" + (f"/{name}" if name else "")

    async def call(self, method: str, path: str, *, body: Any = None) -> dict[str, Any]:
        """The JSON object that the API answers. Raises KubernetesError, or what aiohttp raises."""
        import aiohttp

        api = await self._client()
        _, url, headers, _, _ = await api.param_serialize(method, path, auth_settings=["BearerToken"])
        timeout = aiohttp.ClientTimeout(total=_REQUEST_SECONDS)
        response = await api.rest_client.request(method, url, headers=headers, body=body, _request_timeout=timeout)
        data = await response.read()
        try:
            said = loads(data)
        except MalformedJson:
            said = None
        if 200 <= response.status < 300 and isinstance(said, dict):
            return said
        status = said if isinstance(said, dict) else {}
        reason = str(status.get("reason") or response.reason)
        wait = retry_after(response.headers)
        raise KubernetesError(response.status, reason, str(status.get("message", "")), wait)

    async def polled(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """An object, again and again, for as long as the caller likes; what fails for a moment is asked for again."""
        pause, longest = _POLL_SECONDS
        while True:
            try:
                yield await self.call("GET", path)
            except Exception as error:
                if not may_pass(error):
                    raise
            await asyncio.sleep(pause)
            pause = min(1.5 * pause, longest)

    # -- programs -----------------------------------------------------------------------------------

    async def run(
        self, pod: str, container: str, command: str, stream: Stream, explain: Callable[[BaseException], str]
    ) -> Execution:
        """Start a shell command whose output `stream` gets. `explain` says in one line why it failed."""
        return Execution(await self._exec(pod, container, command), stream, explain)

    async def feed(self, pod: str, container: str, command: str, data: bytes) -> None:
        """Run a shell command that reads `data` as its input, to its end. Raises KubernetesError where it fails."""
        socket = await self._exec(pod, container, command)
        try:
            await _send(socket, data)
            said = b""
            async for channel, piece in _messages(socket):
                if channel == _STDERR:
                    said = (said + piece)[-300:]
                if channel == _STATUS:
                    _completed(piece, said)
                    return
        finally:
            await socket.close()
        raise ConnectionError("the exec stream ended while a file was sent")

    async def _exec(self, pod: str, container: str, command: str) -> Any:
        """The WebSocket of a shell command."""
        import aiohttp

        api = await self._client()
        words = [("container", container), *((name, "true") for name in ("stdin", "stdout", "stderr"))]
        words += [("command", word) for word in ("/bin/sh", "-c", command)]
        target = f"{self.path('pods', pod)}/exec?{urlencode(words)}"
        _, url, headers, _, _ = await api.param_serialize("GET", target, auth_settings=["BearerToken"])
        try:
            socket = await api.rest_client.pool_manager.ws_connect(
                url,
                headers=headers,
                protocols=_PROTOCOLS,
                proxy=api.configuration.proxy,
                timeout=aiohttp.ClientWSTimeout(ws_close=_CLOSE_SECONDS),  # pyright: ignore[reportCallIssue]  by attrs
            )
        except aiohttp.WSServerHandshakeError as error:  # its own text has the whole command
            raise KubernetesError(error.status, "exec was refused", "") from None
        if socket.protocol not in _PROTOCOLS:
            await socket.close()
            raise KubernetesError(101, "exec speaks another protocol", str(socket.protocol))
        return socket

    # -- connection and credentials -------------------------------------------------------------------

    async def refresh(self) -> None:
        """Read credentials that expire again."""
        if time.monotonic() - self._read_at > _CREDENTIALS_SECONDS:
            await self._configure(self._api.configuration)

    def secrets(self) -> tuple[str, ...]:
        """What must be in no log. The SDK reads a service account's token anew, so the current one is among them."""
        current = _token(self._api.configuration) if self._api is not None else ""
        return (*self._secrets, current) if current else self._secrets

    async def close(self) -> None:
        """Close the connections. Idempotent."""
        if self._api is not None:
            await self._api.close()

    async def _client(self) -> Any:
        """The SDK's client, created on first use, on the loop."""
        if self._api is None:
            import aiohttp

            sdk = importlib.import_module("kubernetes.aio.client")
            configuration = sdk.Configuration()
            await self._configure(configuration)
            redirects = aiohttp.TraceConfig()
            redirects.on_request_redirect.append(_refuse_redirect)
            configuration.trace_configs = [redirects]
            configuration.client_session_kwargs = {"cookie_jar": aiohttp.DummyCookieJar(), "trust_env": False}
            self._api = sdk.ApiClient(configuration)
        return self._api

    async def _configure(self, configuration: Any) -> None:
        """Read the address and the credentials into the SDK's configuration."""
        sdk = importlib.import_module("kubernetes.aio.config")
        path, context = self._connection
        if path is None:
            sdk.load_incluster_config(client_configuration=configuration)
        else:
            options = {"context": context, "client_configuration": configuration}
            await sdk.load_kube_config(config_file=path, persist_config=False, **options)
        self._read_at = time.monotonic()
        token = _token(configuration)
        address = urlsplit(configuration.host)
        host = address.hostname or ""
        loopback = host in ("localhost", "::1") or host.startswith("127.")
        if not (configuration.proxy or loopback or urllib.request.proxy_bypass(host)):
            configuration.proxy = urllib.request.getproxies().get(address.scheme)
        behind = urlsplit(configuration.proxy or "").password
        self._secrets = tuple({*self._secrets, *(each for each in (token, behind) if each)})
        if not configuration.verify_ssl or (address.scheme != "https" and not loopback):
            raise PermissionError("the cluster's certificate is not verified, so that anybody may answer for it")
        if configuration.tls_server_name:
            raise ValueError("tls-server-name is not heeded by the SDK's streams; use an address that has the name")
        if address.scheme == "https" and not (token or configuration.cert_file):
            raise PermissionError("the kubeconfig gives no token and no certificate; does its plugin work?")


def kubeconfig(path: str | None) -> str:
    """The kubeconfig's path, or paths: `path`, KUBECONFIG, or kubectl's. Raises EnvironmentUnavailable where there is
    none."""
    found = path or os.environ.get("KUBECONFIG") or str(Path.home() / ".kube" / "config")
    if not any(Path(each).expanduser().is_file() for each in found.split(os.pathsep) if each):
        said = "Kubernetes needs an API key or a certificate: set KUBECONFIG, or pass kubeconfig, or in_cluster=True"
        raise EnvironmentUnavailable(said)
    return found


class Execution:
    """One program in a pod, and the task that reads its channels."""

    def __init__(self, socket: Any, stream: Stream, explain: Callable[[BaseException], str]) -> None:
        self._socket = socket
        self._half_sent = False
        self._reader = asyncio.ensure_future(self._read(stream, explain))

    async def write(self, data: bytes) -> None:
        """See Program.write. Nothing follows a write that broke off: it would continue half a line."""
        if self._half_sent:
            raise RuntimeError("the exec stream broke in the middle of a line")
        self._half_sent = True
        await _send(self._socket, data)
        self._half_sent = False

    async def close(self) -> None:
        """See Program.close."""
        if self._socket.protocol == _PROTOCOLS[0]:
            with contextlib.suppress(Exception):  # it ended by itself
                await self._socket.send_bytes(bytes((_CLOSE, _STDIN)))
        await self.drop()

    async def drop(self) -> None:
        """See Program.drop."""
        self._reader.cancel()
        await asyncio.gather(self._reader, return_exceptions=True)
        await self._socket.close()

    async def _read(self, stream: Stream, explain: Callable[[BaseException], str]) -> None:
        why = "the exec stream broke off"
        try:
            async for channel, data in _messages(self._socket):
                if channel == _STDOUT:
                    await stream.feed(data)
                elif channel == _STDERR:
                    stream.complain(data)
                elif channel == _STATUS:
                    _completed(data)
                    why = ""
        except KubernetesError as error:
            # A program that ended with an exit status has ended; anything else means that it may not have run.
            why = "" if error.reason == "NonZeroExitCode" else explain(error)
        except Exception as error:  # noqa: BLE001 - aiohttp has several base exceptions
            why = explain(error)
        stream.finish(why)


async def _send(socket: Any, data: bytes) -> None:
    for at in range(0, len(data), _FRAME_BYTES):
        await socket.send_bytes(bytes((_STDIN,)) + data[at : at + _FRAME_BYTES])


async def _messages(socket: Any) -> AsyncIterator[tuple[int, bytes]]:
    """Channel and data of each message that has data, until the stream closes or breaks."""
    import aiohttp

    async for message in socket:
        if message.type is not aiohttp.WSMsgType.BINARY:
            return
        if len(message.data) > 1:  # the first one of a stream is empty
            yield message.data[0], message.data[1:]


def _completed(data: bytes, said: bytes = b"") -> None:
    """Read the last message of a stream, a Status. Raises KubernetesError where the program did not succeed."""
    try:
        status = loads(data)
    except MalformedJson as error:
        raise KubernetesError(101, "exec told no status", str(error)) from None
    if not isinstance(status, dict) or status.get("status") != "Success":
        told = status if isinstance(status, dict) else {}
        message = f"{told.get('message', '')} {said.decode('utf-8', 'replace')}".strip()
        raise KubernetesError(101, str(told.get("reason", "exec failed")), message)


def may_pass(error: BaseException) -> bool:
    """Whether the same request may succeed later."""
    import aiohttp

    if isinstance(error, KubernetesError):
        conflict = (error.status, error.reason) == (409, "Conflict")  # two requests changed a quota's count at once
        return error.status in _PASSING or error.full or conflict
    certificate = isinstance(error, aiohttp.ClientSSLError)
    return isinstance(error, aiohttp.ClientConnectionError | aiohttp.ClientPayloadError) and not certificate


async def _refuse_redirect(*_: Any) -> None:
    raise PermissionError("the cluster redirects a request, which would take the token elsewhere")


def _token(configuration: Any) -> str:
    """What the SDK authenticates with, without the word before it."""
    return str(configuration.api_key.get("BearerToken", "")).partition(" ")[2].strip()
