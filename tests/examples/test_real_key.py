"""With one variable the examples ask a real provider: here a local server that speaks OpenAI's API, and wants a key."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

from tests.examples.programs import EXAMPLES, promised, run
from tests.servers.openai_server import OpenAIServer

KEY = "sk-of-a-user-4711"
MODEL = "gpt-5-mini"
#: By example: the name of its written turns, and what a plain call is answered.
WRITTEN = {"long_log": ("WRITTEN", "disk full"), "streaming": ("WRITTEN", "one disk"), "react_tools": ("REPLIES", "")}


@pytest.mark.parametrize("name", WRITTEN)
def test_the_same_program_asks_the_provider_that_is_named(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    path = EXAMPLES / f"{name}.py"
    turns, plain = WRITTEN[name]
    left = list(runpy.run_path(str(path))[turns])

    def reply(body: dict[str, Any]) -> str:
        return left.pop(0) if len(body["messages"]) > 1 else plain

    with OpenAIServer(reply) as server:
        asked = {"RLM_SECURE_MODEL": f"openai:{MODEL}", "OPENAI_BASE_URL": server.base_url, "OPENAI_API_KEY": KEY}
        done = run(path, tmp_path, **asked)
    assert (done.returncode, done.stderr, done.stdout) == (0, "", promised(path))
    assert left == []
    assert {seen.headers["authorization"] for seen in server.requests} == {f"Bearer {KEY}"}
    assert {seen.body["model"] for seen in server.requests} == {MODEL}


def test_without_a_key_it_says_which_variable_is_missing(tmp_path: Path) -> None:
    done = run(EXAMPLES / "typed_answer.py", tmp_path, RLM_SECURE_MODEL=f"openai:{MODEL}")
    assert done.returncode == 1
    assert "set OPENAI_API_KEY" in done.stderr
