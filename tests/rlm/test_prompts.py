"""What a model is told: the slots of upstream, words of our own, and text that is never a format string."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.errors import MissingExtra
from rlm_secure.policy import load_policy
from rlm_secure.rlm.prompts import (
    ORCHESTRATOR_ADDENDUM,
    RLM_SYSTEM_PROMPT,
    RLM_SYSTEM_PROMPT_FINAL,
    QueryMetadata,
    build_rlm_system_prompt,
    build_user_prompt,
    describe_session,
    fill,
    prompt_set,
    tools_section,
)
from rlm_secure.rlm.prompts.texts import SLOT

METADATA = QueryMetadata("x" * 1234)


def lookup(term: str, limit: int = 10, secret: str = "hunter2") -> str:
    return term[:limit] + secret


class TestOpening:
    def test_a_system_message_and_one_on_the_material(self) -> None:
        system, material = build_rlm_system_prompt(RLM_SYSTEM_PROMPT, METADATA)
        assert system == {"role": "system", "content": RLM_SYSTEM_PROMPT.replace(SLOT, "") + ORCHESTRATOR_ADDENDUM}
        assert material["role"] == "user"
        assert "a str of 1,234 characters" in material["content"]

    def test_the_addendum_is_for_the_one_that_leads(self) -> None:
        system = build_rlm_system_prompt("Work.", METADATA, orchestrator=False)[0]
        assert system["content"] == "Work."

    def test_the_question_stands_in_the_second_message(self) -> None:
        system, material = build_rlm_system_prompt(RLM_SYSTEM_PROMPT, METADATA, root_prompt="Who {did} it?")
        assert "Who {did} it?" in material["content"]
        assert "Who" not in system["content"]

    def test_parts_are_counted(self) -> None:
        material = build_rlm_system_prompt("w", QueryMetadata(["a" * 10, "b"]))[1]["content"]
        assert "a list of 11 characters, in 2 parts of which the longest has 10" in material

    def test_every_section_is_a_switch(self) -> None:
        ours = prompt_set("ours")
        bare = ours.opening(METADATA)
        full = ours.opening(
            METADATA,
            session=describe_session(load_policy("strict")),
            answer_schema='{"type":"object"}',
            compaction=True,
            user_prologue="Mind the {gap}.",
        )
        assert len(bare) == 2
        assert full[0]["content"].startswith(bare[0]["content"])
        assert "# The sandbox" in full[0]["content"]
        assert '{"type":"object"}' in full[0]["content"]
        assert "`history` is a list" in full[0]["content"]
        assert full[1:] == [bare[1], {"role": "user", "content": "Mind the {gap}."}]

    def test_the_same_arguments_give_the_same_bytes_in_new_messages(self) -> None:
        one, two = (prompt_set("ours").opening(METADATA, session=describe_session(load_policy("strict"))) for _ in "ab")
        assert one == two
        assert one[0] is not two[0]

    def test_each_set_says_how_it_finishes(self) -> None:
        ours, final = (prompt_set(name).opening(METADATA)[0]["content"] for name in ("ours", "final"))
        assert "final_answer(" in ours
        assert 'answer["ready"] = True' in ours
        assert "FINAL" not in ours
        assert "FINAL_VAR(name_of_a_variable)" in final
        assert "final_answer(" not in final
        assert RLM_SYSTEM_PROMPT_FINAL.replace(SLOT, "") in final

    def test_an_unknown_set_is_refused_with_the_known_ones(self) -> None:
        with pytest.raises(ValueError, match="unknown prompt_set 'theirs'; choose one of final, ours, rlms"):
            prompt_set("theirs")


class TestBraces:
    @pytest.mark.parametrize(
        "text",
        ['{"a": 1}', "{", "}", "{0.__class__}", "{custom_tools", "f'{x!r}' and {{y}}", "{{ {custom_tools_section}}"],
    )
    def test_single_braces_are_text(self, text: str) -> None:
        assert fill(text, None) == text.replace(SLOT, "")

    def test_where_all_are_doubled_they_are_halved_as_upstream_does(self) -> None:
        assert fill(f'{{{{"a": 1}}}} {SLOT}', "tools") == '{"a": 1} tools'
        assert fill(f'{{{{"a": 1}}}} {SLOT}', "tools") == f'{{{{"a": 1}}}} {SLOT}'.format(custom_tools_section="tools")

    def test_without_a_slot_the_tools_come_last(self) -> None:
        assert fill("Work.", "6. Tools") == "Work.\n6. Tools"

    @given(st.text(alphabet="{}a!:.0") | st.text(), st.none() | st.text())
    def test_any_text(self, text: str, section: str | None) -> None:
        filled = fill(text, section)
        assert not section or section in filled

    @given(st.text().filter(lambda text: "{" not in text and "}" not in text))
    def test_text_without_braces_stays_as_it_is(self, text: str) -> None:
        assert fill(text, None) == text


class TestTools:
    def test_none(self) -> None:
        assert tools_section(None) is tools_section({}) is None

    def test_functions_data_and_descriptions(self) -> None:
        section = tools_section(
            {
                "lookup": {"tool": lookup, "description": "finds {terms}"},
                "shout": lookup,
                "table": {"a": 1},
                "double": "def double(x):\n    return 2 * x",
            }
        )
        assert section == (
            "6. Tools and data of this run:\n"
            "   - `lookup(term, limit, secret)`: finds {terms}\n"
            "   - `shout(term, limit, secret)`: a function\n"
            "   - `table`: a value of type dict\n"
            "   - `double(...)`: a function\n"
        )

    def test_neither_defaults_nor_data_are_shown(self) -> None:
        section = tools_section({"lookup": lookup, "password": "s3cret"})
        assert "hunter2" not in section
        assert "s3cret" not in section

    def test_reserved_names_are_refused(self) -> None:
        with pytest.raises(ValueError, match="reserved"):
            build_rlm_system_prompt("w", METADATA, custom_tools={"llm_query": lookup})


class TestTurns:
    def test_counts_from_one(self) -> None:
        assert build_user_prompt(None, 4, 1, 0, 30) == {"role": "user", "content": "Turn 5 of 30."}

    def test_the_first_says_to_look_and_the_last_to_answer(self) -> None:
        first, last = (build_user_prompt("q", each, 1, 0, 3)["content"] for each in (0, 2))
        assert "not looked at the material yet" in first
        assert "last turn" in last

    def test_contexts_and_histories_are_named(self) -> None:
        several = build_user_prompt(None, 1, 3, 2, 9)["content"]
        assert "`context_0` to `context_2`" in several
        assert "`history_0` to `history_1`" in several
        assert "variable `history` holds" in build_user_prompt(None, 1, 1, 1, 9)["content"]

    def test_an_unknown_variable_is_explained_inert(self) -> None:
        said = prompt_set("ours").unknown_variable("re\x1bsult", ["a", "b\u202e"])["content"]
        assert "`re\\x1bsult`" in said
        assert "`a`, `b\\u202e`" in said
        assert "`SHOW_VARS()`" in prompt_set("ours").unknown_variable("x")["content"]

    def test_a_rejected_answer_is_explained(self) -> None:
        assert (
            "the answer['n']: not an integer"
            in prompt_set("ours").answer_rejected("the answer['n']: not an integer")["content"]
        )

    def test_the_default_answer_is_asked_for_by_the_user(self) -> None:
        assert prompt_set("final").default_answer()["role"] == "user"


class TestSession:
    def test_says_what_the_policy_says(self) -> None:
        policy = load_policy("strict")
        section = describe_session(policy)
        assert all(f"`{module}`" in section for module in policy.language.modules)
        assert f"{policy.limits.cell_seconds:g} seconds" in section
        assert f"{policy.lm.calls:,} model calls" in section
        assert "Leave `model` out" in section

    def test_a_shorter_cell_is_what_counts(self) -> None:
        assert "run for 5 seconds" in describe_session(load_policy("strict"), cell_seconds=5)
        assert "run for 5000 seconds" not in describe_session(load_policy("strict"), cell_seconds=5000)

    def test_allowed_models_are_named(self) -> None:
        policy = load_policy({"extends": "strict", "lm": {"models": []}})
        allowed = policy.model_copy(update={"lm": policy.lm.model_copy(update={"models": ("small", "large")})})
        assert "`model` may name `small`, `large`" in describe_session(allowed)


INSTALLED = """
import os
os.environ["LEAKED_BY_IMPORT"] = "1"
RLM_SYSTEM_PROMPT = "Theirs: {{}} {custom_tools_section}"
def build_rlm_system_prompt(system_prompt, query_metadata, custom_tools=None, root_prompt=None, orchestrator=True):
    tools = ",".join(f"{n}={t.get('description')}" for n, t in (custom_tools or {}).items())
    return [
        {"role": "system", "content": system_prompt.format(custom_tools_section=tools) + "+" * orchestrator},
        {"role": "user", "content": f"{root_prompt} {query_metadata.context_type} {query_metadata.context_total_length}"},
    ]
def build_user_prompt(root_prompt=None, iteration=0, context_count=1, history_count=0, max_iterations=30):
    return {"role": "user", "content": f"{iteration}/{max_iterations} {context_count} {history_count}"}
"""


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A package with the builders of `rlms`, on disk; `write(source)` puts its prompts there."""

    def write(source: str) -> None:
        (tmp_path / "rlm" / "utils").mkdir(parents=True)
        (tmp_path / "rlm" / "__init__.py").touch()
        (tmp_path / "rlm" / "utils" / "__init__.py").touch()
        (tmp_path / "rlm" / "utils" / "prompts.py").write_text(source)

    def forget() -> None:
        for name in [each for each in sys.modules if each == "rlm" or each.startswith("rlm.")]:
            del sys.modules[name]

    forget()
    monkeypatch.syspath_prepend(tmp_path)
    yield write
    forget()


class TestInstalledPrompts:
    def test_missing_says_what_to_install(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "rlm", None)
        with pytest.raises(
            MissingExtra, match=r'prompt_set="rlms" needs an optional package: pip install .rlms>=0.1.3.'
        ):
            prompt_set("rlms")

    @pytest.mark.parametrize(
        "old",
        ["USER_PROMPT = ''", "def build_rlm_system_prompt(system_prompt): ...\ndef build_user_prompt(iteration): ..."],
    )
    def test_too_old_says_what_to_install(self, installed, old: str) -> None:
        installed(old)
        with pytest.raises(MissingExtra, match="rlms>=0.1.3"):
            prompt_set("rlms")

    def test_takes_the_words_of_the_package(self, installed) -> None:
        installed(INSTALLED)
        theirs = prompt_set("rlms")
        tools = {"lookup": {"tool": lookup, "description": "finds"}}
        assert theirs.opening(METADATA, root_prompt="Who?", custom_tools=tools, user_prologue="p") == [
            {"role": "system", "content": "Theirs: {} lookup=finds+"},
            {"role": "user", "content": "Who? str 1234"},
            {"role": "user", "content": "p"},
        ]
        assert theirs.turn("Who?", 2, 1, 0, 9) == {"role": "user", "content": "2/9 1 0"}
        assert not theirs.describes_session

    def test_it_runs_and_tells_what_the_package_does(self, installed) -> None:
        installed(INSTALLED)
        theirs = prompt_set("rlms")
        assert not theirs.runs_unmarked
        assert theirs.nothing_ran(None) is None
        assert theirs.nothing_ran("its block is marked `python`") == {
            "role": "user",
            "content": (
                "Nothing of your reply was run: its block is marked `python`. Put the code that is to run between a line "
                'that says ```repl and a line that says ```, or set `answer["ready"] = True` in such a block.'
            ),
        }

    def test_a_custom_prompt_with_braces_passes_through_its_format(self, installed) -> None:
        installed(INSTALLED)
        opening = prompt_set("rlms").opening(METADATA, system_prompt='{"a": {0.x}}', orchestrator=False)
        assert opening[0]["content"] == '{"a": {0.x}}'

    def test_importing_it_leaves_nothing_in_the_environment(self, installed) -> None:
        installed(INSTALLED)
        prompt_set("rlms")
        assert "LEAKED_BY_IMPORT" not in os.environ
