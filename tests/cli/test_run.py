"""`rlm-secure run` against the scripted backend and a real OpenAI-compatible server."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from rlm_secure.cli import main
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
    assert found["notices"] == []


@pytest.mark.parametrize("as_json", [False, True])
def test_an_answer_after_turns_in_which_nothing_ran_is_1(rlm_secure: Run, as_json: bool) -> None:
    turns = ["Let me think.", "It is 4.", "It is 4."]
    json_option = ["--json"] if as_json else []
    done = rlm_secure("run", "?", "--max-iterations", "2", *json_option, *scripted(*turns))
    assert done.code == 1
    said = "the answer is plain text: the run's turns are used up, and in the last 2 of them nothing was run"
    assert done.err.count(said) == 1
    assert done.err.count("no code gave this answer; raise --max-iterations") == 1
    if as_json:
        found = json.loads(done.out)
        assert (found["answer"], found["notices"]) == ("It is 4.", [{"kind": "nothing-ran", "message": said}])
    else:
        assert done.out == "It is 4.\n"


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


# -- limits, schemas, further questions --------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value", "sentence"),
    [
        ("--max-budget", "0", "'0' is not a positive amount of US dollars"),
        ("--max-budget", "nan", "'nan' is not a positive amount of US dollars"),
        ("--max-budget", "$1", "'$1' is not a positive amount of US dollars"),
        ("--max-tokens", "1e3", "'1e3' is not a positive whole number"),
        ("--timeout", "-1", "'-1' is not a positive number of seconds"),
        ("--schema", "none.json", "'none.json': No such file or directory; give a JSON Schema, as JSON or as a file"),
        ("--schema", "/", "'/': it is a folder, not a regular file; give a JSON Schema, as JSON or as a file"),
        ("--schema", "{", "'{' is no JSON Schema: Expecting property name"),
        ("--schema", '{"type": "strng"}', "is no JSON Schema: "),
        ("--schema", '{"nope": 1}', "is no JSON Schema: "),
        ("--schema", '{"a":' * 100_000, "is no JSON Schema: "),
    ],
)
def test_a_bad_value_is_one_sentence_that_names_it(
    option: str, value: str, sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["run", "?", f"{option}={value}"])
    assert ended.value.code == 2
    usage, said = capsys.readouterr().err.splitlines()
    assert said.startswith(f"rlm-secure run: error: argument {option}: ") and sentence in said


def test_limits_of_the_command_end_the_run_with_1(rlm_secure: Run) -> None:
    turns = scripted(*["```repl\nprint('x' * 1000)\n```"] * 4, COUNT)
    assert rlm_secure("run", "?", *turns, "--max-tokens", "100000", "--timeout", "50").code == 0
    done = rlm_secure("run", "?", *turns, "--max-tokens", "2500")
    assert (done.code, done.out) == (1, "") and "rlm-secure run: no answer: Token" in done.err
    done = rlm_secure("run", "?", *scripted("```repl\nwhile True: pass\n```"), "--timeout", "1.5")
    assert (done.code, done.out) == (1, "") and "rlm-secure run: no answer: Timeout" in done.err
    done = rlm_secure("run", "?", *scripted(COUNT), "--timeout", "0.001")  # before the first turn
    assert (done.code, done.out) == (1, "") and "rlm-secure run: no answer: Timeout" in done.err


def test_a_cost_limit_needs_a_price(rlm_secure: Run) -> None:
    usage = {"prompt_tokens": 1000, "completion_tokens": 10, "total_tokens": 1010}
    with OpenAIServer(reply="```repl\nprint(1)\n```", usage=usage) as server:
        reach = ("--base-url", server.base_url, "--max-budget", "0.001")
        done = rlm_secure("run", "?", "--model", "unheard-of", *reach, env={"OPENAI_API_KEY": "k"})
        assert done.code == 2 and "the price of the model 'unheard-of' is unknown" in done.err
        done = rlm_secure("run", "?", "--model", "gpt-4o", *reach, env={"OPENAI_API_KEY": "k"})
    assert done.code == 1 and "rlm-secure run: no answer: " in done.err


@pytest.mark.parametrize("in_a_file", [False, True])
def test_an_answer_under_a_schema_is_json_that_fits_it(rlm_secure: Run, tmp_path: Path, in_a_file: bool) -> None:
    schema = {"type": "array", "items": {"type": "integer"}}
    given = json.dumps(schema)
    if in_a_file:
        (tmp_path / "schema.json").write_text(given)
        given = str(tmp_path / "schema.json")
    fits = scripted("```repl\nfinal_answer('none')\n```", "```json\n[1]\n```\n```repl\nfinal_answer([1, len(context)])\n```")
    assert rlm_secure("run", "abc", *fits, "--schema", given).out == "[1, 3]\n"
    assert json.loads(rlm_secure("run", "abc", *fits, "--schema", given, "--json").out)["parsed"] == [1, 3]
    done = rlm_secure("run", "abc", *scripted("FINAL(none)"), "--schema", given, "--max-iterations", "1")
    assert (done.code, done.out) == (1, "") and "no answer" in done.err


#: Counts the questions of its session. (The scripted model begins anew with each.)
COUNTING = "```repl\ntry:\n    asked += 1\nexcept NameError:\n    asked = 1\n"


def test_further_questions_find_the_context_and_the_variables(rlm_secure: Run, tmp_path: Path) -> None:
    (tmp_path / "log").write_text("line\n" * 10)
    told = "more = [name for name in ('context_1', 'history', 'history_1') if name in SHOW_VARS()]\n"
    turn = COUNTING + told + "final_answer(f'{asked} {len(context)} {more}')\n```"
    command = ("run", "How much?", "--context", str(tmp_path / "log"), "--persistent", *scripted(turn))
    done = rlm_secure(*command, stdin="and twice that?\n\n  what else?\n")
    assert (done.code, done.out) == (0, "1 50 []\n2 50 ['history']\n3 50 ['history', 'history_1']\n")
    assert done.err.count("tokens in, ") == 3


def test_a_further_question_that_fails_is_1_and_the_next_is_answered(rlm_secure: Run) -> None:
    turn = COUNTING + "while asked == 2:\n    pass\nfinal_answer(str(asked))\n```"
    done = rlm_secure("run", "?", "--persistent", "--timeout", "3", *scripted(turn), stdin="loop\nand now?\n")
    assert (done.code, done.out) == (1, "1\n3\n"), done.err
    assert done.err.count("no answer") == 1


def test_stdin_is_a_context_or_has_questions(rlm_secure: Run) -> None:
    done = rlm_secure("run", "?", "--persistent", "--context", "-", *scripted(COUNT))
    assert done.code == 2 and "with --persistent stdin has further questions" in done.err
