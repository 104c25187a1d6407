"""A failure of this machine keeps its cause; what a provider said, and every key, stays hidden."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from rlm_secure.causes import local_cause
from rlm_secure.clients import get_client
from rlm_secure.environments.docker import engine
from rlm_secure.errors import EnvironmentUnavailable, MissingExtra, ProviderError
from tests.servers.openai_server import OpenAIServer, Raw

KEY = "sk-THISISTHEKEY1234567890"


def closed_port() -> int:
    with socket.socket() as server:
        server.bind(("127.0.0.1", 0))
        return int(server.getsockname()[1])


def failure(backend: str, mode: str = "sync", **kwargs: Any) -> ProviderError:
    client = get_client(backend, {"api_key": KEY, "model_name": "m", "max_retries": 0, **kwargs})
    with pytest.raises(ProviderError) as caught:
        client.completion("q") if mode == "sync" else asyncio.run(client.acompletion("q"))
    return caught.value


def shown(error: BaseException) -> str:
    """Everything that a traceback shows."""
    return "".join(traceback.format_exception(error))


@pytest.mark.parametrize("mode", ["sync", "async"])
@pytest.mark.parametrize("backend", ["openai", "anthropic", "gemini"])
def test_a_refused_connection_is_the_cause(backend: str, mode: str) -> None:
    error = failure(backend, mode, base_url=f"http://127.0.0.1:{closed_port()}/v1")
    assert isinstance(error.__cause__, ConnectionRefusedError)
    assert error.__cause__.errno == errno.ECONNREFUSED
    assert (error.__cause__.__cause__, error.__cause__.__context__) == (None, None)
    assert "ConnectionRefusedError" in shown(error) and KEY not in shown(error)


def test_a_name_that_does_not_resolve_is_the_cause() -> None:
    error = failure("openai", base_url="http://nowhere.invalid/v1")
    assert isinstance(error.__cause__, socket.gaierror)


def test_a_server_without_tls_is_the_cause() -> None:
    with OpenAIServer() as server:
        error = failure("openai", base_url=server.base_url.replace("http:", "https:"))
    assert type(error.__cause__).__module__ == "ssl"


@pytest.mark.parametrize("status", [400, 401, 429, 500])
@pytest.mark.parametrize("mode", ["sync", "async"])
def test_what_a_provider_says_is_no_cause(status: int, mode: str) -> None:
    body = {"error": {"message": f"Incorrect API key provided: {KEY}", "code": "nonsense"}}
    with OpenAIServer(reply=lambda _: Raw(status, body)) as server:
        error = failure("openai", mode, base_url=server.base_url)
    assert error.__cause__ is None
    assert error.__suppress_context__
    assert KEY not in shown(error) and "Incorrect" not in shown(error)


def test_an_argument_that_the_sdk_does_not_know_is_named() -> None:
    error = failure("openai", base_url="http://127.0.0.1:9/v1", sampling_args={"top_kk": 3})
    assert "got an unexpected keyword argument 'top_kk'" in str(error)
    assert str(error).endswith("; check sampling_args")


def test_a_setting_that_the_sdk_does_not_take_is_the_cause() -> None:
    error = failure("openai", base_url="http://127.0.0.1:9/v1", nonsense=1)
    assert isinstance(error.__cause__, TypeError)
    assert "nonsense" in str(error.__cause__)
    assert "openai SDK could not be set up (TypeError)" in str(error)


def test_a_setting_that_may_be_a_secret_is_in_no_cause() -> None:
    from rlm_secure.clients.failures import set_up_error

    told = ValueError(f"bad key {KEY}")
    assert set_up_error("p", told, {"api_key": KEY}).__cause__ is None
    assert set_up_error("p", ValueError("bad port"), {"api_key": KEY}).__cause__ is not None


def test_a_key_that_no_header_can_carry_is_said_and_not_shown() -> None:
    error = failure("openai", base_url=f"http://127.0.0.1:{closed_port()}/v1", api_key=KEY + "\u2019")
    assert "copy the key again" in str(error)
    assert KEY not in shown(error)
    assert error.__cause__ is None


def test_a_package_that_cannot_be_imported_is_the_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "docker", None)
    with pytest.raises(MissingExtra) as caught:
        engine.connect()
    assert isinstance(caught.value.__cause__, ImportError)
    monkeypatch.setitem(sys.modules, "openai", None)
    error = failure("openai")
    assert isinstance(error.__cause__, ImportError)
    assert "the OpenAI SDK cannot be imported (openai)" in str(error)


def test_a_docker_engine_that_is_not_there_is_the_cause() -> None:
    pytest.importorskip("docker")
    with pytest.raises(EnvironmentUnavailable, match="no Docker engine answers") as caught:
        engine.connect("unix:///nowhere/docker.sock")
    assert isinstance(caught.value.__cause__, FileNotFoundError)
    with pytest.raises(EnvironmentUnavailable) as caught:
        engine.connect(f"tcp://127.0.0.1:{closed_port()}")
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)


# -- the chain -------------------------------------------------------------------------------------------


class Reply(Exception):
    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.response = text


class Words(ConnectionError):
    """An SDK's own subclass."""


class Looks(Exception):
    """What an SDK's error may do when it is asked, as Modal's, which warns."""

    @property
    def details(self) -> str:
        raise AssertionError("its code was run")

    reason = details


class Slotted(Exception):
    __slots__ = ("code",)


def slotted(code: int | None) -> Slotted:
    made = Slotted()
    made.code = code
    return made


def chained(*errors: BaseException) -> BaseException:
    """The first, raised from the second, and so on."""
    for outer, inner in zip(errors, errors[1:], strict=False):
        outer.__cause__ = inner
    return errors[0]


@pytest.mark.parametrize(
    ("make", "kind"),
    [
        (lambda: chained(Exception("x"), OSError(errno.ENOENT, "No such file")), FileNotFoundError),
        (lambda: chained(Exception("x"), Exception("y"), TimeoutError()), TimeoutError),
        (lambda: chained(Exception(Exception(OSError(errno.EACCES, "no")))), PermissionError),
        (lambda: chained(Exception("x"), Reply("secret"), OSError(errno.ENOENT, "no")), None),
        (lambda: chained(OSError(errno.ENOENT, "no"), Reply("secret")), None),
        (lambda: chained(Looks("x"), OSError(errno.ENOENT, "no")), None),
        (lambda: chained(slotted(404), OSError(errno.ENOENT, "no")), None),
        (lambda: chained(slotted(None), OSError(errno.ENOENT, "no")), FileNotFoundError),
        (lambda: chained(Exception("x"), ConnectionError("the server said: secret")), None),
        (lambda: chained(Exception("x"), Words(errno.EPIPE, "secret")), None),
        (lambda: chained(Exception("x"), ValueError("secret")), None),
        (lambda: Exception("x"), None),
    ],
)
def test_only_what_this_machine_said_is_a_cause(make: Callable[[], BaseException], kind: type | None) -> None:
    cause = local_cause(make())
    assert (None if cause is None else type(cause)) is kind
    assert "secret" not in repr(cause)


def test_a_circle_of_causes_ends() -> None:
    first, second = Exception("a"), OSError(errno.EPIPE, "b")
    first.__cause__, second.__context__ = second, first
    assert isinstance(local_cause(first), BrokenPipeError)
