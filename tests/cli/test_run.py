"""`rlm-secure run` against the scripted backend and a real OpenAI-compatible server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run
from tests.servers.openai_server import OpenAIServer, Raw

COUNT = "```repl\nfinal_answer(f'{len(context)} things')\n```"


def scripted(*turns: str, replies: str | None = None) -> list[str]:
    arguments = ["--backend", "scripted", "--backend-arg", f"turns={json.dumps(turns)}"]
    return arguments if replies is None else [*arguments, "--backend-arg", f"replies={json.dumps(replies)}"]


def test_the_answer_is_on_stdout_and_usage_on_stderr(rlm_secure: Run, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("line\n" * 1000)
    done = rlm_secure("run", "How much?", "--context", str(tmp_path / "log"), *scripted(COUNT))
    assert (done.code, done.out) == (0, "5000 things\n")
    assert "1 turn · 1 model call · " in done.err
    assert "tokens in" in done.err


def test_stdin_and_directories_are_contexts(rlm_secure: Run, tmp_path: Path) -> None:
    for name in "abc":
        (tmp_path / name).write_text(name)
    assert rlm_secure("run", "?", "--context", "-", *scripted(COUNT), stdin="1234").out == "4 things\n"
    assert rlm_secure("run", "?", "--context", str(tmp_path), *scripted(COUNT)).out == "3 things\n"


def test_without_a_context_the_question_is_the_context(rlm_secure: Run) -> None:
    assert rlm_secure("run", "12345", *scripted(COUNT)).out == "5 things\n"


def test_sub_calls_are_answered(rlm_secure: Run) -> None:
    ask = "```repl\nfinal_answer(', '.join(llm_query_batched(['a', 'b'])))\n```"
    assert rlm_secure("run", "?", *scripted(ask, replies="yes")).out == "yes, yes\n"


def test_a_real_server_answers_through_the_openai_sdk(rlm_secure: Run) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
    with OpenAIServer(reply=COUNT, usage=usage) as server:
        done = rlm_secure(
            *("run", "?", "--context", "-", "--model", "test-model", "--base-url", server.base_url),
            stdin="1234567",
            env={"OPENAI_API_KEY": "sk-secret-of-the-test"},
        )
        (request,) = server.requests
    assert (done.code, done.out) == (0, "7 things\n")
    assert "1,000 tokens in, 10 out" in done.err
    assert request.body["model"] == "test-model"
    assert request.headers["authorization"] == "Bearer sk-secret-of-the-test"
    assert "sk-secret" not in done.out + done.err


def test_a_provider_that_fails_is_1_and_quotes_nothing_of_it(rlm_secure: Run) -> None:
    with OpenAIServer(reply=lambda request: Raw(401, {"error": {"message": "Incorrect key: sk-oops"}})) as server:
        done = rlm_secure(
            *("run", "?", "--model", "m", "--base-url", server.base_url), env={"OPENAI_API_KEY": "sk-oops"}
        )
    assert (done.code, done.out) == (1, "")
    assert "no answer" in done.err
    assert "sk-oops" not in done.err


def test_json_has_answer_and_usage(rlm_secure: Run) -> None:
    done = rlm_secure("run", "?", "--json", *scripted("FINAL(\x1b[31mred)"))
    assert done.code == 0
    assert "\x1b" not in done.out
    found = json.loads(done.out)
    assert found["answer"] == "\x1b[31mred"
    assert (found["turns"], found["environment"], found["policy"]) == (1, "local", "strict")
    assert found["usage"]["model_usage_summaries"]


def test_an_answer_is_inert(rlm_secure: Run) -> None:
    assert rlm_secure("run", "?", *scripted("FINAL(\x1b[31mred)")).out == "\\x1b[31mred\n"


def test_verbose_shows_cells_inert_on_stderr(rlm_secure: Run) -> None:
    cell = "```repl\nprint('seen \\x1b[2J')\nfinal_answer('done')\n```"
    done = rlm_secure("run", "?", "--verbose", *scripted(cell))
    assert (done.code, done.out) == (0, "done\n")
    assert "seen \\x1b[2J" in done.err
    assert "\x1b" not in done.err


def test_the_trajectory_is_written(rlm_secure: Run, tmp_path: Path) -> None:
    done = rlm_secure("run", "?", "--log-dir", str(tmp_path / "logs"), *scripted(COUNT))
    assert done.code == 0
    (log,) = (tmp_path / "logs").iterdir()
    assert all(json.loads(line) for line in log.read_text().splitlines())
    assert log.stat().st_mode & 0o077 == 0


@pytest.mark.parametrize(
    ("arguments", "code", "sentence"),
    [
        (scripted("no code here"), 1, "`turns`"),
        (["--backend", "oracle", "--model", "x"], 2, "oracle"),
        (["--model", "x"], 2, "OPENAI_API_KEY"),
        ([*scripted(COUNT), "--policy", "/no/such.toml"], 2, "/no/such.toml"),
        ([*scripted(COUNT), "--context", "/no/such"], 2, "cannot be read"),
        (["--base-url", "http://127.0.0.1:9/v1"], 2, "add --model NAME"),
    ],
)
def test_failures_are_one_sentence(rlm_secure: Run, arguments: list[str], code: int, sentence: str) -> None:
    done = rlm_secure("run", "?", *arguments)
    assert (done.code, done.out) == (code, "")
    assert sentence in done.err
    assert "Traceback" not in done.err
