"""Programs that made upstream's environments themselves keep working, unless they relied on a hole."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from rlm_secure import CellException, CellTimeout, EnvironmentUnavailable, PolicyError, ProviderError
from rlm_secure.broker.protocol import Call
from rlm_secure.clients import get_client
from rlm_secure.clients.scripted import ScriptedClient
from rlm_secure.compat.environments import (
    E2BREPL,
    BaseEnv,
    DaytonaREPL,
    DockerREPL,
    IPythonREPL,
    LocalREPL,
    ModalREPL,
    PrimeREPL,
    SupportsCustomTools,
    SupportsPersistence,
    extract_tool_value,
    format_tools_for_prompt,
    parse_custom_tools,
)
from rlm_secure.compat.environments.base_env import IsolatedEnv, NonIsolatedEnv
from rlm_secure.environments import get_environment
from rlm_secure.environments.foreign_options import own_options
from rlm_secure.errors import AuditLogError, CellCallsRefused, LogError
from rlm_secure.rlm.handler import LMHandler
from rlm_secure.types import REPLResult, RLMChatCompletion, UsageSummary
from tests.loops import scripted


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


def test_what_subcall_fn_raises_is_a_text_in_the_cell_and_no_detail() -> None:
    def subcall(prompt: str, model: str | None) -> RLMChatCompletion:
        if prompt == "bad":
            raise RuntimeError("/home/me/secret.txt")
        return reply(prompt, f"child {prompt}")

    with LocalREPL(subcall_fn=subcall) as repl:
        result = repl.execute_code("print(rlm_query('bad'), rlm_query_batched(['a', 'bad', 'b']))")
        failed = "Error: RLM query failed - RuntimeError"
        assert result.stdout == f"{failed} ['child a', '{failed}', 'child b']\n"
        assert [call.response for call in result.rlm_calls] == ["child a", "child b"]


@pytest.mark.parametrize("kind", [EnvironmentUnavailable, PolicyError, AuditLogError, LogError])
def test_what_a_place_or_a_policy_says_of_its_failure_stays_outside(kind: type[Exception]) -> None:
    def subcall(prompt: str, model: str | None) -> RLMChatCompletion:
        raise kind("api.provider.example said: key sk-123 in /home/me/policy.toml")

    with LocalREPL(subcall_fn=subcall) as repl:
        result = repl.execute_code("print(rlm_query('q'))")
        assert result.stdout == f"Error: RLM query failed - {kind.__name__}\n"


def test_what_subcall_fn_is_given_is_within_the_policy() -> None:
    asked: list[str] = []

    def subcall(prompt: str, model: str | None) -> RLMChatCompletion:
        asked.append(prompt)
        return reply(prompt, "child")

    with LocalREPL(subcall_fn=subcall, policy={"lm": {"batch": 2, "prompt_bytes": 10}}) as repl:
        code = "print(rlm_query_batched(['a'] * 3)[0])\nprint(rlm_query('a' * 11))\nprint(rlm_query_batched(['b'] * 2))"
        batch, long, fits = repl.execute_code(code).stdout.splitlines()
    assert batch.startswith("Error: a batch of 3 prompts is more than lm.batch = 2")
    assert long.startswith("Error: the prompt takes 11 bytes, more than lm.prompt_bytes = 10")
    assert (fits, asked) == ("['child', 'child']", ["b", "b"])


def test_a_model_that_the_policy_does_not_list_does_not_reach_subcall_fn() -> None:
    asked: list[str | None] = []

    def subcall(prompt: str, model: str | None) -> RLMChatCompletion:
        asked.append(model)
        return reply(prompt, "child")

    with LocalREPL(subcall_fn=subcall, policy={"lm": {"models": ["listed"]}}) as repl:
        said = repl.execute_code("print(rlm_query('a', model='evil'))\nprint(rlm_query('a', model='listed'))").stdout
    assert said.startswith("Error: the model 'evil' is not one that cells may use") and said.endswith("\nchild\n")
    assert asked == ["listed"]


def test_a_reply_of_subcall_fn_is_within_the_policy_and_kept_as_far_as_there_is_room() -> None:
    policy = {"lm": {"reply_bytes": 300_000}, "limits": {"kept_bytes": 1 << 20}}
    with LocalREPL(subcall_fn=lambda prompt, _: reply(prompt, "x" * int(prompt)), policy=policy) as repl:
        said = repl.execute_code("print(rlm_query('300001'))").stdout
        assert said.startswith("Error: the model's reply takes 300,001 bytes")
        for _ in range(2):  # each cell has the room anew
            result = repl.execute_code("print(sum(len(rlm_query('300000')) for _ in range(8)))")
            assert (result.stdout, len(result.rlm_calls)) == ("2400000\n", 3)


def test_a_plain_handler_is_within_the_policy_as_well() -> None:
    asked: list[int] = []

    def handler(call: Call) -> Any:
        asked.append(len(call.prompts))
        texts = ["x" * int(prompt) for prompt in call.prompts]
        return texts if call.kind.endswith("_batched") else texts[0]

    policy = {"lm": {"batch": 2, "prompt_bytes": 10, "reply_bytes": 50}}
    code = "print(llm_query('1' * 11))\nprint(llm_query_batched(['1'] * 3)[2])\nprint(llm_query_batched(['3', '51']))"
    with LocalREPL(handler, policy=policy) as repl:
        long, batch, replies = repl.execute_code(code).stdout.splitlines()
    assert long.startswith("Error: the prompt takes 11 bytes") and batch.startswith("Error: a batch of 3 prompts")
    assert replies.startswith("['xxx', \"Error: the model's reply takes 51 bytes") and asked == [2]


def test_subcall_fn_is_asked_as_often_as_the_policy_has_calls() -> None:
    asked: list[str] = []

    def subcall(prompt: str, model: str | None) -> RLMChatCompletion:
        asked.append(prompt)
        return reply(prompt, "child")

    with LocalREPL(subcall_fn=subcall, policy={"lm": {"calls": 3}}) as repl:
        said = repl.execute_code("print(rlm_query_batched(['a'] * 5))").stdout
        again = repl.execute_code("print(rlm_query('b'))").stdout
    assert len(asked) == 3 and said.count("'child'") == 3 and said.count("lm.calls = 3 of this session are used up") == 2
    assert "lm.calls = 3" in again


def test_calls_without_a_handler_are_refused_calls() -> None:
    with LocalREPL(policy={"lm": {"refusals": 3}}) as repl:
        result = repl.execute_code("for _ in range(50):\n    llm_query('q')")
        assert isinstance(result.error, CellCallsRefused)


def test_children_of_a_cell_that_is_over_are_not_begun() -> None:
    begun, go_on = [], threading.Event()

    def subcall(prompt: str, model: str | None) -> RLMChatCompletion:
        begun.append(prompt)
        go_on.wait(30)
        return reply(prompt, "child")

    with LocalREPL(subcall_fn=subcall, max_concurrent_subcalls=2) as repl:
        result = repl.execute_code("rlm_query_batched(['a'] * 8)", timeout=0.5)
        assert isinstance(result.error, CellTimeout)
        go_on.set()
        time.sleep(0.5)
    assert len(begun) == 2


def test_what_subcall_fn_should_not_return_is_a_text_in_the_cell() -> None:
    with LocalREPL(subcall_fn=lambda *_: 12345) as repl:
        result = repl.execute_code("print(rlm_query('q'))")
        assert result.stdout.startswith("Error: RLM query failed - ")
        assert result.rlm_calls == []


def test_children_of_a_batch_run_side_by_side_and_no_more_than_allowed() -> None:
    lock = threading.Lock()
    running: list[int] = [0, 0]
    both = threading.Barrier(2)

    def subcall(prompt: str, model: str | None) -> RLMChatCompletion:
        with lock:
            running[0] += 1
            running[1] = max(running)
        both.wait(timeout=10)
        with lock:
            running[0] -= 1
        return reply(prompt, prompt)

    with LocalREPL(subcall_fn=subcall, max_concurrent_subcalls=2) as repl:
        assert repl.execute_code("print(rlm_query_batched(list('abcdef')))").stdout == f"{list('abcdef')}\n"
    assert running[1] == 2


def test_calls_of_both_kinds_are_kept_in_order_and_count_as_time() -> None:
    def subcall(prompt: str, model: str | None) -> RLMChatCompletion:
        time.sleep(0.2)
        return reply(prompt, f"child {prompt}")

    with LMHandler(ScriptedClient(replies=lambda prompt: f"lm {prompt}", model_name="m")) as handler:
        repl = LocalREPL(handler.address, subcall_fn=subcall)
        with repl:
            result = repl.execute_code("llm_query('a')\nrlm_query('b')\nllm_query_batched(['c', 'd'])")
    assert [call.response for call in result.rlm_calls] == ["lm a", "child b", "lm c", "lm d"]
    assert result.execution_time >= 0.2


@pytest.mark.parametrize("name", ["llm_query", "rlm_query_batched", "answer", "context", "history", "SHOW_VARS"])
def test_names_of_the_repl_are_no_names_of_tools(name: str) -> None:
    with pytest.raises(ValueError, match="reserved REPL functions"):
        LocalREPL(custom_tools={name: lambda: None})


def test_source_text_that_defines_a_tool_becomes_one_and_prose_does_not() -> None:
    tools = {
        "square": "def square(n):\n    return n * n * SCALE",
        "twice": {"tool": "lambda n: 2 * n", "description": "doubles"},
        "SCALE": 10,
        "NOTE": "two lines\nof prose",
    }
    with LocalREPL(custom_tools=tools, setup_code="base = 1") as repl:
        assert repl.execute_code("print(square(2), twice(3), NOTE, base)").stdout == "40 6 two lines\nof prose 1\n"


def test_contexts_added_by_several_threads_have_numbers_of_their_own() -> None:
    with LocalREPL() as repl, ThreadPoolExecutor(8) as pool:
        numbers = list(pool.map(lambda number: repl.add_context(f"c{number}"), range(8)))
        assert sorted(numbers) == list(range(8))
        assert repl.get_context_count() == 8
        shown = repl.execute_code("print(sorted([context_0, context_1, context_2, context_7]), context is context_0)")
        texts = sorted(f"c{numbers.index(each)}" for each in (0, 1, 2, 7))
        assert shown.stdout == f"{texts} True\n"


def test_a_context_that_cannot_be_loaded_takes_no_number() -> None:
    with LocalREPL() as repl:
        with pytest.raises(TypeError):
            repl.add_context(object())
        assert (repl.get_context_count(), repl.add_context("first")) == (0, 0)


def test_locals_show_the_variables_and_cannot_be_written() -> None:
    with LocalREPL(context_payload="text") as repl:
        repl.execute_code("x = [1, 2]\nclass C:\n    pass\nc = C()")
        assert (repl.locals["x"], repl.locals["context"]) == ([1, 2], "text")
        assert isinstance(repl.locals["c"], str)
        repl.add_context("more")
        assert repl.locals["context_1"] == "more"
        with pytest.raises(TypeError):
            repl.locals["x"] = 1  # type: ignore[index]
    assert not repl.locals


def test_another_handler_takes_over_with_a_fresh_answer() -> None:
    with LocalREPL(lambda call: "first") as repl:
        repl.execute_code("answer['content'] = 'stale'")
        repl.update_handler_address(lambda call: "second")
        assert repl.execute_code("print(llm_query('q'), repr(answer['content']))").stdout == "second ''\n"


def test_the_classes_are_what_upstream_says_they_are() -> None:
    assert issubclass(LocalREPL, NonIsolatedEnv)
    assert issubclass(DockerREPL, NonIsolatedEnv)
    for kind in (ModalREPL, DaytonaREPL, PrimeREPL, E2BREPL):
        assert issubclass(kind, IsolatedEnv)
        assert not issubclass(kind, NonIsolatedEnv)
    with LocalREPL() as repl:
        assert isinstance(repl, BaseEnv)
        assert isinstance(repl, SupportsPersistence)
        assert isinstance(repl, SupportsCustomTools)


def test_an_environment_of_ones_own_can_be_built_on_the_base() -> None:
    class Mine(NonIsolatedEnv):
        def setup(self) -> None: ...
        def load_context(self, context_payload: object) -> None: ...
        def execute_code(self, code: str) -> REPLResult:
            return REPLResult(code, "", {})

    mine = Mine(persistent=True, extra=1)
    assert (mine.persistent, mine.depth, mine.kwargs) == (True, 1, {"extra": 1})
    with pytest.raises(TypeError):
        IsolatedEnv()  # type: ignore[abstract]


def test_tools_are_described_as_upstream_describes_them() -> None:
    tools = {"f": len, "n": 3, "d": {"tool": {}, "description": "a table"}}
    assert format_tools_for_prompt(tools) == "- `f`: A custom function\n- `n`: A custom int value\n- `d`: a table"
    assert format_tools_for_prompt({}) is None
    assert [extract_tool_value(each) for each in tools.values()] == [len, 3, {}]
    assert [each.name for each in parse_custom_tools(tools)] == ["f", "n", "d"]
    assert parse_custom_tools(None) == []


@pytest.mark.parametrize(
    ("environment", "given", "ours"),
    [
        ("modal", {"app_name": "a", "timeout": 600}, {"app": "a", "ttl_seconds": 600}),
        ("modal", {"image": None}, {"image": None}),
        ("daytona", {"cpu": 2, "memory": 4, "disk": 5, "timeout": 90.5, "target": "eu"},
         {"cpus": 2, "memory_gib": 4, "disk_gib": 5, "ttl_seconds": 90, "target": "eu"}),
        ("prime", {"docker_image": "a:b", "timeout_minutes": 1.5}, {"image": "a:b", "ttl_seconds": 90}),
        ("e2b", {"timeout": 300}, {"ttl_seconds": 300}),
        ("local", {"timeout": 1}, {"timeout": 1}),
    ],
)  # fmt: skip
def test_options_under_upstreams_names_become_ours(environment: str, given: dict, ours: dict) -> None:
    assert own_options(environment, given) == ours


@pytest.mark.parametrize(
    ("environment", "given", "says"),
    [
        ("daytona", {"name": "rlm-sandbox"}, "no option 'name': .*leave it out"),
        ("daytona", {"auto_stop_interval": 0}, "ttl_seconds"),
        ("daytona", {"image": object()}, "named by a string"),
        ("prime", {"name": "rlm-sandbox"}, "leave it out"),
        ("prime", {"network_access": True}, "custom_tools"),
        ("e2b", {"timeout": 300, "ttl_seconds": 60}, "'ttl_seconds' twice"),
        ("modal", {"ttl_seconds": 300, "timeout": 60}, "'ttl_seconds' twice"),
    ],
)
def test_options_that_mean_something_else_here_say_what_to_take(environment: str, given: dict, says: str) -> None:
    for asked in (own_options, get_environment):
        with pytest.raises(TypeError, match=says):
            asked(environment, given)
    with pytest.raises(TypeError, match=says):
        scripted(["FINAL(1)"], environment=environment, environment_kwargs=given).completion("q")


@pytest.mark.parametrize("environment", ["modal", "e2b"])
def test_a_lifetime_that_is_too_short_is_told_by_upstreams_name_as_well(environment: str) -> None:
    with pytest.raises(ValueError, match=r"at least 60 s, not 30 \(ttl_seconds; upstream's timeout\)"):
        get_environment(environment, {"timeout": 30})


def test_ipython_says_what_to_take_in_its_place() -> None:
    for asked in (
        lambda: get_environment("ipython", {"cell_timeout": 3}),
        lambda: scripted(["FINAL(1)"], environment="ipython").completion("q"),
        lambda: IPythonREPL(kernel_mode="subprocess"),
    ):
        with pytest.raises(ValueError, match="no environment 'ipython'.* take 'local'.*cell_timeout.*limits.cell_seconds"):
            asked()


def test_positions_are_those_of_each_of_upstreams_classes() -> None:
    assert ModalREPL.leading == ("app_name", "image", "timeout")
    with pytest.raises(TypeError, match="E2BREPL got 'timeout' twice"):
        E2BREPL(300, timeout=300)
    with pytest.raises(TypeError, match="at most 10 positional"):
        LocalREPL(*range(11))
    with pytest.raises(TypeError, match="ttl_seconds' twice"):
        E2BREPL(300, ttl_seconds=60)


@pytest.mark.parametrize("backend", ["openai", "anthropic", "azure_openai", "gemini"])
def test_a_client_without_a_key_is_a_value_error(backend: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "AZURE_OPENAI_API_KEY", "GEMINI_API_KEY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://example.invalid")
    with pytest.raises(ValueError, match="no API key") as raised:
        get_client(backend, {"model_name": "m"})
    assert isinstance(raised.value, ProviderError)
