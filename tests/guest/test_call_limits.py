"""What the host's decoder would end the session for is refused in the cell, and what it takes is sent."""

from __future__ import annotations

from typing import Any

import pytest

from rlm_secure.broker import protocol
from rlm_secure.guest import wire
from rlm_secure.guest.session import repl
from rlm_secure.guest.session.repl import Repl

BYTES = 64 << 20


def _decoded(call: dict[str, Any]) -> Any:
    body = wire.frame({"op": "call", **call})[4:]
    return protocol.event(protocol.decode(body, limit=BYTES), value_bytes=1000, stdout_bytes=1000, result_bytes=BYTES)


@pytest.fixture
def names() -> dict[str, Any]:
    space: dict[str, Any] = {}
    Repl(space, _decoded, tools=["tool"], value_bytes=1000, result_bytes=BYTES)
    return space


def test_the_limits_are_the_decoders() -> None:
    assert repl.MAX_PROMPTS == protocol.MAX_PROMPTS
    assert repl.MAX_MEDIA == protocol.MAX_MEDIA


def test_media(names: dict[str, Any]) -> None:
    assert names["llm_query"]("q", media=[b"x"] * 16).media == (b"x",) * 16
    assert names["llm_query"]("q", media=iter([])).media == ()
    with pytest.raises(ValueError, match="at most 16 media in one call, not 17"):
        names["llm_query"]("q", media=[b"x"] * 17)


@pytest.mark.parametrize("kind", ["llm_query_batched", "rlm_query_batched"])
def test_prompts(names: dict[str, Any], kind: str) -> None:
    assert len(names[kind](["x"] * 10_000).prompts) == 10_000
    with pytest.raises(ValueError, match="at most 10000 prompts in one call, not 10001; split the list"):
        names[kind](["x"] * 10_001)


@pytest.mark.parametrize(("model", "sent"), [("m" * 256, True), ("m" * 257, False), ("\ud800" * 50, False)])
def test_model_names(names: dict[str, Any], model: str, sent: bool) -> None:
    for kind, prompts in (("llm_query", "a"), ("rlm_query_batched", ["a"])):
        if sent:
            assert names[kind](prompts, model=model).model == model
        else:
            with pytest.raises(ValueError, match="a model name has at most 256 characters"):
                names[kind](prompts, model=model)


@pytest.mark.parametrize("each", [0, [], {}])
def test_values_of_all_arguments(names: dict[str, Any], each: Any) -> None:
    assert len(names["tool"]([each] * 99_000).args[0]) == 99_000
    assert len(names["tool"]([each] * 90_000, more=[each] * 90_000).kwargs["more"]) == 90_000
    with pytest.raises(TypeError, match="and 38000 values"):
        names["tool"](*[[each] * 90_000] * 5)
    with pytest.raises(TypeError, match="and 0 values"):
        names["tool"](*[each] * 200_000)


@pytest.mark.parametrize("pair", [("\ud800", "\\ud800"), ("\ud83d\ude00", "\U0001f600")])
def test_keys_that_the_host_takes_for_one(names: dict[str, Any], pair: tuple[str, str]) -> None:
    table = dict.fromkeys(pair, 1)
    assert names["tool"]({pair[0]: 1}) and names["tool"]({pair[1]: 1, "\ud801": 2})
    for args, kwargs in (([table], {}), ([[{"a": table}]], {}), ([], table)):
        with pytest.raises(TypeError):
            names["tool"](*args, **kwargs)
