"""What a user gives a client as headers: names may be shown, values nowhere."""

from __future__ import annotations

import json
import traceback
from pathlib import Path
from typing import Any

import pytest

from rlm_secure import RLM
from rlm_secure.clients import get_client
from rlm_secure.errors import ProviderError
from rlm_secure.logger import RLMLogger
from tests.clients.hostile import HostileProvider
from tests.clients.victim import client_of
from tests.loops import cell
from tests.servers.openai_server import OpenAIServer

VALUE = "value of theirs alone"
HEADERS = {"X-Gateway-Route": VALUE, "X-Also": VALUE.upper()}


def test_a_trajectory_has_the_names_of_headers_and_no_value(tmp_path: Path) -> None:
    with OpenAIServer(reply=cell("final_answer(6 * 7)")) as server:
        kwargs: dict[str, Any] = {
            "api_key": "k",
            "model_name": "m",
            "base_url": server.base_url,
            "default_headers": HEADERS,
        }
        kwargs["sampling_args"] = {"extra_headers": {"X-Each": VALUE}}
        completion = RLM(backend_kwargs=kwargs, logger=RLMLogger(log_dir=str(tmp_path))).completion("c")
        assert completion.response == "42"
        assert server.requests[0].headers["x-gateway-route"] == server.requests[0].headers["x-each"] == VALUE
    written = "".join(path.read_text() for path in tmp_path.rglob("*") if path.is_file())
    for told in (written, json.dumps(completion.metadata, default=repr)):
        assert VALUE not in told and VALUE.upper() not in told
        assert all(name in told for name in ("X-Gateway-Route", "X-Also", "X-Each"))


def test_an_everyday_header_is_not_hunted_for_in_prompts(tmp_path: Path) -> None:
    with OpenAIServer(reply=cell("final_answer('application/json')")) as server:
        kwargs = {"api_key": "k", "model_name": "m", "base_url": server.base_url}
        kwargs["default_headers"] = {"Accept-Thing": "application/json"}
        RLM(backend_kwargs=kwargs, logger=RLMLogger(log_dir=str(tmp_path))).completion("c")
    assert "final_answer('application/json')" in next(tmp_path.glob("*.jsonl")).read_text()


@pytest.mark.parametrize(
    "headers", [{"X-A": "seven\u2026"}, {"X-A": 123456789}, {"X-A": b"se\xffven"}, {"X-A": "a\nb"}]
)
@pytest.mark.parametrize("backend", ["openai", "anthropic"])
def test_no_error_carries_a_headers_value(backend: str, headers: dict[str, Any]) -> None:
    with HostileProvider() as server:
        client = client_of(backend, server.address, default_headers=headers)
        try:
            client.complete("deed: nonsense", timeout=2)
        except ProviderError as error:
            shown = (
                "".join(traceback.format_exception(error))
                + repr(vars(error))
                + repr(getattr(error.__cause__, "args", ""))
            )
            assert not any(word in shown for word in ("seven", "123456789", "se\\xffven", "a\\nb"))
        else:
            raise AssertionError("nonsense was taken for a reply")


def test_a_client_shows_nothing_of_its_settings() -> None:
    client = get_client("openai", {"api_key": "the key itself", "model_name": "m", "default_headers": HEADERS})
    assert VALUE not in repr(client) + str(client) and "the key itself" not in repr(client) + str(client)
