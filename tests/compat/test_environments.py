"""Programs that made upstream's environments themselves keep working, unless they relied on a hole."""

from __future__ import annotations

import pytest

from rlm_secure import CellException
from rlm_secure.compat.environments import LocalREPL
from rlm_secure.environments import get_environment
from rlm_secure.types import RLMChatCompletion, UsageSummary


def reply(prompt, text):
    return RLMChatCompletion("m", prompt, text, UsageSummary({}), 0.0)


def test_positional_parameters_are_upstreams():
    with LocalREPL(None, "the context", "ready = 1") as repl:
        result = repl.execute_code("print(context, ready)")
        assert (result.stdout, result.stderr) == ("the context 1\n", "")


def test_a_handler_answers_llm_query_and_subcall_fn_answers_rlm_query():
    asked = []

    def handler(call):
        asked.append((call.kind, call.prompts, call.model))
        return [f"lm {p}" for p in call.prompts] if call.kind.endswith("_batched") else f"lm {call.prompts[0]}"

    with LocalREPL(handler, subcall_fn=lambda prompt, model: reply(prompt, f"child {prompt}")) as repl:
        code = "print(llm_query('a', model='m'), llm_query_batched(['b', 'c']), rlm_query('d'), rlm_query_batched(['e']))"
        result = repl.execute_code(code)
        assert result.stdout == "lm a ['lm b', 'lm c'] child d ['child e']\n"
        assert [call.response for call in result.rlm_calls] == ["child d", "child e"]
    assert asked == [("llm_query", ("a",), "m"), ("llm_query_batched", ("b", "c"), None)]


def test_without_a_handler_a_query_says_so_as_upstream_does():
    with LocalREPL() as repl:
        assert repl.execute_code("print(llm_query('a'))").stdout == "Error: No LM handler configured\n"


def test_contexts_and_histories_count_and_alias():
    with LocalREPL(context_payload="first", persistent=True) as repl:
        assert repl.add_context({"n": 2}) == 1
        messages = [{"role": "user", "content": "hi"}]
        assert repl.add_history(messages) == 0
        messages[0]["content"] = "changed later"
        assert repl.add_history([]) == 1
        assert (repl.get_context_count(), repl.get_history_count()) == (2, 2)
        shown = repl.execute_code("print(context is context_0, context_1, history == history_0, history[0]['content'])")
        assert shown.stdout == "True {'n': 2} True hi\n"


def test_tools_are_functions_or_data_and_their_errors_carry_no_detail():
    def fail():
        raise ValueError("/home/me/secret.txt")

    tools = {"double": lambda n: n * 2, "limit": 7, "fail": {"tool": fail, "description": "fails"}}
    with LocalREPL(custom_tools=tools) as repl:
        assert repl.execute_code("print(double(limit))").stdout == "14\n"
        result = repl.execute_code("fail()")
        assert isinstance(result.error, CellException)
        assert "ValueError" in result.stderr
        assert "secret" not in result.stderr


def test_an_address_of_a_tcp_port_is_refused_with_the_reason():
    with pytest.raises(TypeError, match="no TCP port"):
        LocalREPL(lm_handler_address=("127.0.0.1", 5000))


def test_an_unknown_environment_and_an_unknown_option_are_named():
    with pytest.raises(ValueError, match="unknown environment 'wsl'; known: .*local"):
        get_environment("wsl", {})
    with pytest.raises(TypeError, match="no option 'privileged'"):
        get_environment("local", {"privileged": True})
