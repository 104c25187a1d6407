"""The backend that answers from a script."""

from __future__ import annotations

import asyncio
import json
import threading

import pytest

from rlm_secure.clients import get_client
from rlm_secure.clients.scripted import ScriptedClient, ScriptExhausted
from rlm_secure.errors import ProviderError

TURN = [{"role": "user", "content": "turn"}]


def test_turns_answer_messages_in_order_and_replies_answer_prompts() -> None:
    client = get_client("scripted", {"turns": ["a", lambda messages: messages[-1]["content"]], "replies": ["r"]})
    assert [client.completion(TURN), client.completion("q"), client.completion(TURN)] == ["a", "r", "turn"]


@pytest.mark.parametrize(
    ("replies", "expected"),
    [
        ("always", ["always"] * 3),
        (lambda prompt: prompt.upper(), ["Q"] * 3),
        (["1", "2", lambda p: p], ["1", "2", "q"]),
    ],
)
def test_replies_may_be_a_str_a_callable_or_a_list(replies, expected) -> None:
    client = get_client("scripted", {"replies": replies})
    assert [client.completion("q") for _ in range(3)] == expected


def test_running_out_names_the_list() -> None:
    client = get_client("scripted", {"turns": ["only"], "replies": []})
    client.completion(TURN)
    with pytest.raises(ScriptExhausted, match="all its 1 lines are used in `turns`") as caught:
        client.completion(TURN)
    assert (caught.value.list_name, caught.value.used) == ("turns", 1)
    assert isinstance(caught.value, ProviderError)
    with pytest.raises(ScriptExhausted, match="no line in `replies`"):
        client.completion("q")


def test_each_line_is_given_once_to_a_hundred_threads() -> None:
    client = get_client("scripted", {"replies": [str(n) for n in range(100)]})
    got: list[str] = []
    threads = [threading.Thread(target=lambda: got.append(client.completion("q"))) for _ in range(100)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(got, key=int) == [str(n) for n in range(100)]
    assert client.get_usage_summary().model_usage_summaries["scripted"].total_calls == 100


def test_a_child_plays_child_turns_from_the_start_and_shares_the_replies() -> None:
    kwargs = {"turns": ["root"], "child_turns": ["child"], "replies": ["1", "2"]}
    parent, first, second = (ScriptedClient(**kwargs) for _ in range(3))
    first.inherit(parent)
    second.inherit(parent)
    assert [first.completion(TURN), second.completion(TURN)] == ["child", "child"]
    assert [first.completion("q"), second.completion("q")] == ["1", "2"]
    with pytest.raises(ScriptExhausted, match="child_turns"):
        first.completion(TURN)


def test_a_script_of_strings_fits_into_json() -> None:
    kwargs = json.loads('{"turns": ["FINAL(1)"], "replies": "yes", "model_name": "named"}')
    client = get_client("scripted", kwargs)
    assert (client.completion(TURN), client.completion("q"), client.model_name) == ("FINAL(1)", "yes", "named")


@pytest.mark.parametrize("turns", ["a str", [1], [None]])
def test_a_script_that_is_none_is_refused_at_once(turns) -> None:
    with pytest.raises(ValueError, match="turns"):
        get_client("scripted", {"turns": turns})


def test_a_callable_that_returns_no_text_is_a_provider_error() -> None:
    with pytest.raises(ProviderError, match="NoneType"):
        get_client("scripted", {"replies": lambda _: None}).completion("q")


def test_a_callables_own_exception_passes_through() -> None:
    def broken(_: str) -> str:
        raise ZeroDivisionError("mine")

    client = get_client("scripted", {"replies": broken})
    with pytest.raises(ZeroDivisionError):
        client.completion("q")
    with pytest.raises(ZeroDivisionError):
        asyncio.run(client.acompletion("q"))


def test_async_answers_do_not_block_each_other() -> None:
    gate = threading.Barrier(8, timeout=10)

    def together(_: str) -> str:
        gate.wait()
        return "x"

    client = get_client("scripted", {"replies": together})

    async def all_at_once() -> list[str]:
        return await asyncio.gather(*(client.acompletion("q") for _ in range(8)))

    assert asyncio.run(all_at_once()) == ["x"] * 8
