"""The connections of a client: kept, shared by threads, not by processes, over proxies, with certificates, IPv6."""

from __future__ import annotations

import asyncio
import importlib
import os
import signal
import socket
import ssl
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.clients import Client, connections
from rlm_secure.clients.call import ModelCall
from rlm_secure.clients.transport import bind, bind_library
from rlm_secure.errors import ProviderError
from tests.clients.hostile import HostileProvider
from tests.clients.victim import client_of

TLS = Path(__file__).parents[1] / "broker" / "tls"
BACKENDS = ["openai", "anthropic", "gemini"]
WAYS = ["blocking", "awaited"]


def asked(client: Client, way: str, times: int = 1, timeout: float = 30, prompt: str = "deed: ok") -> list[str]:
    """The texts of so many calls, one after another."""
    if way == "blocking":
        return [client.complete(prompt, timeout=timeout).text for _ in range(times)]

    async def ask() -> list[str]:
        try:
            return [(await client.acomplete(prompt, timeout=timeout)).text for _ in range(times)]
        finally:
            await client.aclose()

    return asyncio.run(ask())


def with_certificate(connection: socket.socket) -> socket.socket:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "certificate.pem", TLS / "key.pem")
    return context.wrap_socket(connection, server_side=True)


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "https_proxy", "all_proxy", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.upper(), raising=False)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_one_connection_serves_many_calls(backend: str, way: str) -> None:
    with HostileProvider() as server:
        assert asked(client_of(backend, server.address), way, times=3) == ["fine"] * 3
        assert (server.connections, server.requests) == (1, {"ok": 3})


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_second_answer_is_not_that_of_the_next_call(backend: str, way: str) -> None:
    prompts = ["deed: two-answers", "deed: ok", "deed: ok"]
    with HostileProvider() as server:
        client = client_of(backend, server.address, max_retries=1)

        async def ask() -> list[str]:
            try:
                return [(await client.acomplete(prompt, timeout=30)).text for prompt in prompts]
            finally:
                await client.aclose()

        texts = asyncio.run(ask()) if way == "awaited" else [client.complete(each).text for each in prompts]
        assert (texts, server.connections) == (["fine"] * 3, 2)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_an_error_holds_no_exception_of_the_sdk(backend: str, way: str) -> None:
    with HostileProvider() as server:
        for deed in ("hang-up", "come-again-soon", "depth"):
            with pytest.raises(ProviderError) as caught:
                asked(client_of(backend, server.address, max_retries=0), way, prompt=f"deed: {deed}")
            # It would have the request with its key, and the words of the provider.
            assert caught.value.__context__ is None
            assert type(caught.value.__cause__).__module__ == "builtins"


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_call_that_was_ended_leaves_no_connection_in_the_pool(backend: str) -> None:
    with HostileProvider() as server:
        client = client_of(backend, server.address, max_retries=0)
        for deed in ("drip", "endless-body", "million-answers"):
            with pytest.raises(ProviderError):
                client.complete(f"deed: {deed}", timeout=0.5)
        assert asked(client, "blocking") == ["fine"]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_proxies_come_from_the_environment(backend: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with HostileProvider() as proxy, HostileProvider() as server:
        monkeypatch.setenv("HTTP_PROXY", proxy.address)
        assert asked(client_of(backend, "http://provider.invalid"), way) == ["fine"]
        assert (proxy.requests, server.requests) == ({"ok": 1}, {})
        with pytest.raises(ProviderError, match=r"within 0\.5 seconds"):
            asked(client_of(backend, "http://provider.invalid"), way, timeout=0.5, prompt="deed: drip-of-headers")
        monkeypatch.setenv("NO_PROXY", "127.0.0.1")
        assert asked(client_of(backend, server.address), way) == ["fine"]
        assert server.requests == {"ok": 1}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_certificate_of_the_users_own_is_trusted(backend: str, way: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with HostileProvider(wrap=with_certificate) as server:
        with pytest.raises(ProviderError, match="could not reach"):
            asked(client_of(backend, server.address, max_retries=0), way, timeout=10)
        assert server.requests == {}
        monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "certificate.pem"))
        client = client_of(backend, server.address)
        assert asked(client, way, times=2) == ["fine", "fine"]
        with pytest.raises(ProviderError, match=r"within 0\.5 seconds"):
            asked(client, way, timeout=0.5, prompt="deed: drip")


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
def test_a_users_own_http_client_is_bounded_too(backend: str) -> None:
    library = pytest.importorskip(backend)
    context = ssl.create_default_context(cafile=TLS / "certificate.pem")
    with HostileProvider(wrap=with_certificate) as server, library.DefaultHttpxClient(verify=context) as own:
        client = client_of(backend, server.address, http_client=own, max_retries=0)
        assert asked(client, "blocking", times=2) == ["fine", "fine"]
        assert server.connections == 1
        for deed, error in (
            ("drip-of-headers", "within 0.5 seconds"),
            ("endless-body", "lm.reply_bytes"),
            ("redirect", "307"),
        ):
            with pytest.raises(ProviderError, match=error):
                client.complete(f"deed: {deed}", timeout=0.5)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("backend", BACKENDS)
def test_a_provider_behind_ipv6(backend: str, way: str) -> None:
    try:
        server = HostileProvider("::1")
    except OSError:
        pytest.skip("this machine has no IPv6")
    with server:
        assert asked(client_of(backend, server.address), way) == ["fine"]


def test_one_name_with_several_addresses_has_one_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of two that never answer and one that does, each has its share of the time."""
    looked_up = socket.getaddrinfo

    def three(host: str, port: int, *args: Any, **kwargs: Any) -> list[Any]:
        if host != "provider.test":
            return looked_up(host, port, *args, **kwargs)
        addresses = ("127.0.0.2", "127.0.0.3", "127.0.0.1")
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port)) for address in addresses]

    with HostileProvider() as server, ExitStack() as stack:
        for host in ("127.0.0.2", "127.0.0.3"):
            full = stack.enter_context(socket.create_server((host, server.port), backlog=0))
            for _ in range(3):  # its queue is full: the kernel drops whoever comes next
                waiting = stack.enter_context(socket.socket())
                waiting.setblocking(False)
                waiting.connect_ex(full.getsockname())
        monkeypatch.setattr(socket, "getaddrinfo", three)
        client = client_of("openai", f"http://provider.test:{server.port}", max_retries=0)
        began = time.monotonic()
        assert asked(client, "blocking", timeout=3) == ["fine"]
        assert 1.5 < time.monotonic() - began < 3


def test_many_threads_share_a_client_and_each_has_its_own_limits() -> None:
    deeds = ["ok", "drip", "endless-body", "ok"] * 8
    with HostileProvider() as server:
        client = client_of("openai", server.address, max_retries=0)

        def ask(deed: str) -> str:
            try:
                return client.complete(f"deed: {deed}", timeout=1 if deed == "drip" else 20).text
            except ProviderError as error:
                return (
                    "late"
                    if "within 1 seconds" in str(error)
                    else "large"
                    if "reply_bytes" in str(error)
                    else str(error)
                )

        before = threading.active_count()
        with ThreadPoolExecutor(16) as pool:
            said = list(pool.map(ask, deeds))
        assert said == ["fine", "late", "large", "fine"] * 8
        # No thread of its own: only those of the server for connections that are open.
        assert threading.active_count() <= before + server.connections


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_fork_makes_connections_of_its_own(backend: str) -> None:
    with HostileProvider() as server:
        client = client_of(backend, server.address)
        assert asked(client, "blocking") == ["fine"]
        child = os.fork()
        if child == 0:  # as little as can be: this is pytest's own process, copied
            signal.alarm(20)
            code = 1
            try:
                code = 0 if asked(client, "blocking") == ["fine"] else 2
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert asked(client, "blocking") == ["fine"]
        assert (server.connections, server.requests) == (2, {"ok": 3})


def test_a_provider_that_does_not_read_ends_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        client = client_of("openai", f"http://127.0.0.1:{deaf.getsockname()[1]}", max_retries=0)
        for way in WAYS:
            began = time.monotonic()
            with pytest.raises(ProviderError, match=r"within 0\.5 seconds"):
                asked(client, way, timeout=0.5, prompt="x" * 24_000_000)
            assert time.monotonic() - began < 10


@pytest.mark.parametrize("backend", ["openai", "anthropic"])
def test_a_transport_of_the_users_own_is_counted_as_well(backend: str) -> None:
    """No connection of its own can be reached; its replies can."""
    library = pytest.importorskip(backend)
    httpx = sys.modules[library.DefaultHttpxClient.__mro__[1].__module__]
    sent: list[Any] = []

    def answer(request: Any) -> Any:
        sent.append(request.headers["accept-encoding"])
        return httpx.Response(200, content=b"x" * 9_000_000)

    with library.DefaultHttpxClient(transport=httpx.MockTransport(answer)) as own:
        client = client_of(backend, "http://provider.invalid", http_client=own, max_retries=0)
        with pytest.raises(ProviderError, match="lm.reply_bytes"):
            client.complete("q")
    assert sent == ["identity"]


@pytest.mark.parametrize("way", WAYS)
def test_a_socket_of_this_machine_and_a_transport_that_connects_again(way: str, tmp_path: Path) -> None:
    httpx = pytest.importorskip("httpx")
    call = ModelCall("X", 3.0, 1000)
    uds, refused = f"{tmp_path}/socket", f"http://127.0.0.1:{_closed_port()}"
    with socket.socket(socket.AF_UNIX) as silent:
        silent.bind(uds)
        silent.listen()
        if way == "blocking":
            with (
                httpx.Client(transport=httpx.HTTPTransport(uds=uds)) as over,
                httpx.Client(transport=httpx.HTTPTransport(retries=1)) as twice,
            ):
                bind(over), bind(twice)
                with call.running():
                    pytest.raises(httpx.ConnectError, twice.get, refused)
                    pytest.raises(httpx.ReadTimeout, over.get, "http://provider.invalid")
                pytest.raises(httpx.ConnectError, twice.get, refused)
        else:

            async def ask() -> None:
                over = httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(uds=uds))
                twice = httpx.AsyncClient(transport=httpx.AsyncHTTPTransport(retries=1))
                bind(over), bind(twice)
                async with over, twice:
                    with call.running():
                        with pytest.raises(httpx.ConnectError):
                            await twice.get(refused)
                        with pytest.raises(httpx.ReadTimeout):
                            await over.get("http://provider.invalid")
                    with pytest.raises(httpx.ConnectError):
                        await twice.get(refused)

            asyncio.run(ask())
    assert call.left < 0.1


def _closed_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port: int = listener.getsockname()[1]
        return port


@pytest.mark.parametrize("way", WAYS)
def test_a_failure_is_read_no_further_than_it_is_short(way: str) -> None:
    with HostileProvider() as server:
        for deed in ("large-body-of-an-error", "gzip-bomb-with-an-error"):
            with pytest.raises(ProviderError, match="HTTP 400"):
                asked(client_of("openai", server.address), way, prompt=f"deed: {deed}")


def test_what_is_no_model_call_is_as_it_was() -> None:
    httpx = pytest.importorskip("httpx")

    async def awaited(address: str) -> bytes:
        client = httpx.AsyncClient()
        bind(client)
        async with client:
            return (await client.post(address, content=b"deed: large-body")).content

    with HostileProvider() as server:
        client = httpx.Client()
        bind(client)
        with client:
            assert len(client.post(server.address, content=b"deed: large-body").content) > 95_000_000
        assert len(asyncio.run(awaited(server.address))) > 95_000_000


def test_a_name_that_nobody_knows_is_said_in_the_backends_own_words() -> None:
    with pytest.raises(ProviderError, match="could not reach"):
        asked(client_of("openai", "http://nobody.invalid", max_retries=0), "blocking")


def test_a_client_that_is_bound_closes_its_connections() -> None:
    httpx = pytest.importorskip("httpx")
    with HostileProvider() as server:
        client = httpx.Client()
        bind(client)
        client.post(server.address, content=b"deed: ok")
        pool = client._transport._inner._pool
        assert len(pool.connections) == 1
        client.close()
        assert pool.connections == []


def test_binding_twice_changes_nothing() -> None:
    httpx = pytest.importorskip("httpx")
    client = httpx.Client()
    bind(client)
    first: Any = client._transport
    bind(client)
    assert client._transport is first
    before = httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request
    try:
        bind_library("httpx")
        bound = httpx.HTTPTransport.handle_request
        bind_library("httpx")
        assert httpx.HTTPTransport.handle_request is bound is not before[0]
        with HostileProvider() as server, httpx.Client() as client:
            assert client.post(server.address, content=b"deed: ok").json()["choices"]
            with ModelCall("X", 30, 1000).running(), pytest.raises(ProviderError, match="lm.reply_bytes"):
                client.post(server.address, content=b"deed: large-body")
            # A client that is bound itself is not counted twice.
            bind(client)
            with ModelCall("X", 30, 1000).running():
                assert client.post(server.address, content=b"deed: ok").json()["choices"]
    finally:
        httpx.HTTPTransport.handle_request, httpx.AsyncHTTPTransport.handle_async_request = before


def test_a_client_whose_connections_cannot_be_reached_is_not_used() -> None:
    with HostileProvider() as server:
        client = client_of("openai", server.address, http_client=object())
        with pytest.raises(ProviderError, match="could not be set up"):
            client.complete("deed: ok")
        assert server.requests == {}


@pytest.mark.parametrize("library", ["httpx", "httpx2"])
def test_clients_of_a_process_share_the_tls_settings_of_their_library(
    library: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    kinds = [importlib.import_module(library).Client, importlib.import_module(library).AsyncClient]
    first, again = (connections.verification(kind) for kind in kinds)
    assert first is again
    default = importlib.import_module(library).create_ssl_context()
    assert (first.verify_mode, first.check_hostname) == (default.verify_mode, default.check_hostname)
    assert (first.verify_mode, first.check_hostname) == (ssl.CERT_REQUIRED, True)

    monkeypatch.setenv("SSL_CERT_FILE", str(TLS / "certificate.pem"))
    other = connections.verification(kinds[0])
    assert other is not first
    now = time.monotonic()
    monkeypatch.setattr(connections.time, "monotonic", lambda: now + 601)
    assert connections.verification(kinds[0]) is not other


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_second_client_reads_no_certificate(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with HostileProvider() as server:
        assert asked(client_of(backend, server.address), "awaited") == ["fine"]

        def read(*_: object, **__: object) -> None:
            raise AssertionError("certificates are read again")

        monkeypatch.setattr(ssl, "create_default_context", read)
        assert asked(client_of(backend, server.address), "awaited") == ["fine"]
