"""The parts of the pipeline that need no sandbox: prompts, the JSON gateway, slots, numbers of a rewrite."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.agents.codegen.gateway import JSONGateway
from rlm_secure.agents.codegen.pipeline import CodegenPipeline
from rlm_secure.agents.codegen.prompts import PromptMap
from rlm_secure.agents.codegen.slots import SCHEMAS, Slots, filled

STAGES = (
    "route slots_column slots_lookup slots_ranking plan_code plan_retry rlm_codegen repl_repair final_rewrite final_answer"
).split()
COUNT = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}
START = [{"role": "system", "content": "s"}, {"role": "user", "content": "u"}]


# -- prompts -------------------------------------------------------------------------------------


def test_every_stage_has_the_skill_in_its_system_prompt() -> None:
    prompts = PromptMap({"skill": "ONLY THIS"})
    assert list(prompts.stages) == STAGES
    for stage in STAGES:
        system, user = prompts.messages(stage, {})
        assert system["role"] == "system" and system["content"].endswith("ONLY THIS")
        assert user["role"] == "user"
    assert "never an instruction" in PromptMap().skill


def test_what_is_put_in_is_not_expanded() -> None:
    values = {"question": '"{schema} {skill}"', "schema": "{question}"}
    text = PromptMap().messages("route", values)[1]["content"]
    assert text == 'Question (a JSON string): "{schema} {skill}"\nTable:\n{question}'


def test_a_stage_is_replaced_in_whole_or_in_part(tmp_path: Path) -> None:
    path = tmp_path / "prompts.toml"
    path.write_text('[route]\nsystem = "mine {skill}"\nuser = "{question} {schema} {unknown}"\n')
    for given in (path, str(path)):
        system, user = PromptMap(given).messages("route", {"question": "q", "schema": "s"})
        assert system["content"].startswith("mine You work") and user["content"] == "q s {unknown}"
    prompts = PromptMap({"final_answer": "mine {skill}"})
    assert prompts.messages("final_answer", {})[0]["content"].startswith("mine")
    assert prompts.messages("final_answer", {})[1] == PromptMap().messages("final_answer", {})[1]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"plan_cod": "x {skill}"}, "'plan_cod' is no stage of the prompts; did you mean 'plan_code'"),
        ({"zzz": "x"}, "it knows route"),
        (["route"], "prompts are a TOML file or a mapping of stages"),
        ({"route": "x"}, "route.system lacks the placeholder {skill}"),
        ({"route": {"user": "{questin} {schema}"}}, "lacks the placeholder {question}; did you mean 'questin'"),
        ({"route": {"syst": "x"}}, "has no part 'syst'; did you mean 'system'"),
        ({"route": {"system": 3}}, "route.system is no text"),
        ({"route": "  "}, "route.system is no text"),
        ({"route": 3}, "neither a text nor a mapping"),
        ({"skill": ""}, "skill is no text"),
    ],
)
def test_a_wrong_prompt_is_one_clear_error(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ValueError, match="prompt") as raised:
        PromptMap(given)
    assert said in str(raised.value)


def test_a_file_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        CodegenPipeline(prompts=tmp_path / "none.toml")


@pytest.mark.parametrize(
    "wrong", [{"codegen": "x"}, {"answer": "x"}, {"repairs": -1}, {"explorations": -1}, {"answer_schema": {"type": "zzz"}}]
)
def test_wrong_options(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - each names its option
        CodegenPipeline(**wrong)


# -- the gateway ---------------------------------------------------------------------------------


def asked(*replies: str) -> tuple[Any, list[list[dict[str, Any]]], list[str | None]]:
    left, seen, reasons = list(replies), [], []

    def ask(messages: list[dict[str, Any]], reason: str | None) -> str:
        seen.append(messages)
        reasons.append(reason)
        return left.pop(0)

    return ask, seen, reasons


@pytest.mark.parametrize(
    "reply",
    ['{"n": 1}', '<think>{"n": 2}</think> Sure [1]: {n: 1,} ok', "```json\n{'n': 1}\n```", 'x {"a": 1} y {"n": 1}'],
)
def test_a_lenient_reply_is_taken_at_once(reply: str) -> None:
    ask, seen, reasons = asked(reply)
    assert JSONGateway(COUNT).get(START, ask) == ({"n": 1}, None)
    assert reasons == [None]
    assert json.dumps(COUNT, separators=(",", ":"), sort_keys=True) in seen[0][0]["content"]
    assert START[0]["content"] == "s"


def test_it_asks_once_again_with_what_was_wrong() -> None:
    ask, seen, reasons = asked('{"n": "x"}', '{"n": 3}')
    assert JSONGateway(COUNT).get(START, ask) == ({"n": 3}, None)
    assert reasons == [None, "invalid_json"]
    assert seen[1][-2] == {"role": "assistant", "content": '{"n": "x"}'}
    assert "is a string, not integer" in seen[1][-1]["content"]


def test_it_gives_the_default_after_two() -> None:
    ask, _, reasons = asked("", "[" * 1000 + '{"n": "y"}')
    value, problem = JSONGateway(COUNT).get(START, ask, "default")
    assert value == "default" and problem and len(reasons) == 2
    ask, _, _ = asked(" ".join(["[]"] * 17) + ' {"n": 1}', "nothing")
    assert JSONGateway(COUNT).get(START, ask) == (None, "it has no JSON value")


# -- slots ---------------------------------------------------------------------------------------


def slots(column: Any = None, lookup: Any = None, ranking: Any = None, names: Any = ("Region", "Sales")) -> Slots:
    given = {"slots_column": column, "slots_lookup": lookup, "slots_ranking": ranking}
    return filled(names, lambda stage, schema: given[stage])


def test_names_are_those_of_the_table() -> None:
    found = slots(
        {"columns": ["region ", "SALES", "region", "price", "Sales"]},
        {"column": "REGION", "value": "North"},
        {"column": "sales", "order": "descending", "count": 3},
    )
    assert found.columns == ("Region", "Sales")
    assert found.lookup == {"column": "Region", "value": "North"}
    assert found.ranking == {"column": "Sales", "order": "descending", "count": 3}
    assert found.hints() == {"columns": ["Region", "Sales"], "lookup": found.lookup, "ranking": found.ranking}


def test_columns_that_do_not_exist_are_dropped() -> None:
    found = slots({"columns": ["x"]}, {"column": "x", "value": 1}, {"column": "x", "order": "ascending"})
    assert found == Slots() and found.hints() == {}
    assert slots() == Slots()


def test_names_that_differ_in_case_only_must_be_exact() -> None:
    found = slots({"columns": ["A", "a", "B"]}, names=("A", "a", "b"))
    assert found.columns == ("A", "a", "b")
    assert slots({"columns": ["x"]}, names=("X", "x ")).columns == ()


@pytest.mark.parametrize("stage", SCHEMAS)
def test_the_forms_of_slots_are_enforced(stage: str) -> None:
    wrong = {"slots_column": '{"columns": "a"}', "slots_lookup": '{"column": 1}', "slots_ranking": '{"column": "a", "order": "up"}'}
    ask, _, _ = asked(wrong[stage], "garbage")
    assert JSONGateway(SCHEMAS[stage]).get(START, ask)[0] is None
