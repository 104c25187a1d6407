"""Every no of the host: a rule, one inert sentence that says what to do, and the yes beside it."""

from __future__ import annotations

import os
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rlm_secure.errors import CallRefused, EnforcementError, PromptTooLarge, ReentrantCall, Refused, WrongProcess
from rlm_secure.guarantees import EnforcementReport, Level, Wall, WallStatus
from rlm_secure.policy import Decision, Gate, load_policy
from rlm_secure.policy.gate import shown
from rlm_secure.policy.model import Policy
from tests.effort import examples

POLICY = load_policy(
    {
        "name": "tight",
        "language": {"source_bytes": 10},
        "limits": {"context_bytes": 100, "cells": 3},
        "isolation": {"environments": ["local", "docker"]},
        "lm": {"models": ["gpt-5-mini"], "prompt_bytes": 10, "reply_bytes": 10, "batch": 2, "depth": 1},
    }
)
GATE = Gate(POLICY, frozenset({"gpt-5"}), frozenset({"search", "fetch_note"}))

REFUSED: list[tuple[str, Any, str, str]] = [
    ("environment", "modal", "environment",
     "the policy tight does not allow the environment 'modal'; use local or docker, or add it to isolation.environments"),
    ("environment", "modall", "environment",
     ("the policy tight does not allow the environment 'modall'; use local or docker, or install the distribution that "
      "offers it, and add it to isolation.environments")),
    ("model", "gpt-5-mni", "lm-models",
     "the model 'gpt-5-mni' is not one that cells may use; use 'gpt-5-mini', or have it added to lm.models"),
    ("model", "o9", "lm-models",
     "the model 'o9' is not one that cells may use; leave model= out to use the run's own, or have it added to lm.models"),
    ("model", 7, "lm-models", "a model is named by a str, not by int"),
    ("batch", 3, "lm-batch", "a batch of 3 prompts is more than lm.batch = 2; send smaller ones"),
    ("prompts", ["x" * 11], "lm-prompt-bytes",
     "the prompt takes 11 bytes, more than lm.prompt_bytes = 10; split it and ask in parts"),
    ("prompts", ["ok", "é" * 6], "lm-prompt-bytes",
     "prompt 1 takes 12 bytes, more than lm.prompt_bytes = 10; split it and ask in parts"),
    ("prompts", [b"x"], "lm-prompt-type", "the prompt is bytes, not a str; use str()"),
    ("reply", "x" * 11, "lm-reply-bytes",
     "the model's reply takes 11 bytes, more than lm.reply_bytes = 10; ask for a shorter one"),
    ("reply", None, "lm-reply-type", "the model's client answered with NoneType, not with a str"),
    ("depth", 2, "lm-depth", "a recursion at depth 2 is deeper than lm.depth = 1; use llm_query instead"),
    ("cell_source", "x = '12345678'", "source-bytes",
     "the cell takes 14 bytes, more than language.source_bytes = 10; move data to the context"),
    ("cell_source", b"x", "cell-type", "a cell is a str of Python source, not bytes"),
    ("context", 101, "context-bytes",
     "the context takes 101 bytes, more than limits.context_bytes = 100; raise it or send less"),
    ("cells", 4, "cells", "the session has run limits.cells = 3 cells; start a new session"),
    ("tool", "serch", "tool-unknown", "there is no tool 'serch'; there are fetch_note or search"),
    ("tool", "a b", "tool-name", "'a b' is no name of a tool; a name looks like search_notes"),
    ("tool", "_hidden", "tool-name", "'_hidden' is no name of a tool; a name looks like search_notes"),
    ("tool", "s\xe9arch", "tool-name", r"'s\xe9arch' is no name of a tool; a name looks like search_notes"),
    ("tool_name", 7, "tool-name", "<int> is no name of a tool; a name looks like search_notes"),
    ("tool", "__import__", "tool-name", "'__import__' is no name of a tool; a name looks like search_notes"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "asked", "rule", "reason"), REFUSED)
def test_a_refusal_has_its_rule_and_says_what_to_do(method: str, asked: Any, rule: str, reason: str) -> None:
    decision = getattr(GATE, method)(asked)
    assert decision == Decision(False, rule, reason)
    with pytest.raises(Refused) as caught:
        decision.require()
    assert caught.value.decision is decision
    assert str(caught.value) == reason


ALLOWED: list[tuple[str, Any]] = [
    ("environment", "local"), ("model", None), ("model", "gpt-5"), ("model", "gpt-5-mini"), ("batch", 0), ("batch", 2),
    ("prompts", []), ("prompts", ["x" * 10]), ("prompts", ["é" * 5]), ("prompts", ["\ud800" * 3]),
    ("reply", "x" * 10), ("reply", ""), ("depth", 0), ("depth", 1), ("cell_source", "x = 1"), ("context", 100),
    ("cells", 3), ("tool", "search"),
]  # fmt: skip


@pytest.mark.parametrize(("method", "asked"), ALLOWED)
def test_what_is_within_the_policy_is_allowed(method: str, asked: Any) -> None:
    decision = getattr(GATE, method)(asked)
    assert decision.allowed
    assert decision.reason == ""
    decision.require()


@pytest.mark.parametrize(
    ("decision", "rule", "reason"),
    [
        (GATE.resumes(4), "resumes", "it was brought back limits.resumes = 3 times; start a new session"),
        (GATE.forks(65), "forks", "there are limits.forks = 64 copies and snapshots of the session already; close one first"),
        (GATE.tool_calls(10_001), "tool-calls",
         "the session has made limits.tool_calls = 10,000 tool calls, and may make no more; go on without"),
        (GATE.abandoned(0, 0, 1024), "abandoned-calls",
         "1,024 calls of all sessions of this process were left behind and still run, 1,024 may; try again later"),
        (GATE.abandoned(0, 256, 256), "abandoned-calls",
         "256 calls of all sessions of this RLM were left behind and still run, 256 may; try again later"),
        (GATE.abandoned(1, 128, 128), "abandoned-calls",
         "128 calls of all sessions of this RLM were left behind and still run, 128 may; try again later"),
        (GATE.abandoned(16), "abandoned-calls",
         "limits.abandoned_calls = 16 calls were left behind and still run; try again later"),
        (GATE.abandoned(15, 15, 513), "abandoned-calls",
         "513 calls of all sessions of this process were left behind and still run, 512 may; try again later"),
        (GATE.tool_seconds("t", 60.0), "tool-seconds",
         "the tool t did not return within limits.tool_seconds = 60 s and was left behind; ask for less at a time"),
        (GATE.tool_arguments("t", 11, None), "tool-argument-bytes",
         "t was given 11 bytes, more than lm.reply_bytes = 10; pass less"),
        (GATE.tool_arguments("t", 1, "n: \x1b[31m\u202e\ud800"), "tool-arguments", r"n: \x1b[31m\u202e\ud800"),
        (GATE.tool_result("t", 11, None), "tool-result-bytes",
         "t returned at least 11 bytes, more than lm.reply_bytes = 10; ask for less"),
        (GATE.tool_result("t", 0, "an object"), "tool-result", "t returned an object"),
        (GATE.tool_result("t", 0, "sk-proj-abcdefghijklmnop1234"), "tool-result", "<looks like a secret>"),
        (GATE.reentrant(True), "session-reentrant",
         "a cell of this session waits for this very call; return first, or use another session"),
        (GATE.walls(["seccomp"], "none", "do so"), "walls",
         ("policy 'tight' requires walls that do not hold here: seccomp (none); do so, or name them in "
          "isolation.best_effort with a reason")),
    ],
)  # fmt: skip
def test_what_a_session_asks_has_a_rule_as_well(decision: Decision, rule: str, reason: str) -> None:
    assert decision == Decision(False, rule, reason)


def test_a_session_within_its_limits_is_not_refused() -> None:
    asked = [
        GATE.resumes(3), GATE.forks(64), GATE.tool_calls(10_000), GATE.abandoned(15, 127, 511), GATE.abandoned(0, 255, 1023), GATE.tool_seconds("t", 59.9),
        GATE.tool_arguments("t", 10, None), GATE.tool_result("t", 10, None),
        GATE.reentrant(False), GATE.walls([], "", ""), GATE.process(os.getpid()), GATE.tool_name("t"),
    ]  # fmt: skip
    assert [decision.reason for decision in asked if not decision.allowed] == []


def test_a_refusal_becomes_the_error_that_its_asker_raises() -> None:
    foreign = GATE.process(os.getpid() + 1)
    assert foreign.rule == "session-process" and "make one here" in foreign.reason
    for error in (WrongProcess, ReentrantCall, CallRefused):
        with pytest.raises(error) as caught:
            foreign.require(error)
        assert caught.value.decision is foreign  # type: ignore[attr-defined]
    refused = GATE.cell_source("x" * 11).cell_error
    assert (refused.rule, refused.wall) == ("source-bytes", "language")
    assert str(refused).startswith("source-bytes: the cell takes 11 bytes")


def changed(section: str, **values: Any) -> Gate:
    part = getattr(POLICY, section).model_copy(update=values)
    return Gate(POLICY.model_copy(update={section: part}), frozenset({"gpt-5"}))


@pytest.mark.parametrize(
    ("refused", "rule", "reason", "allowed"),
    [
        (changed("limits", files=0).files(), "files",
         "this policy grants no files (limits.files = 0); give the data as a context, or use the policy standard",
         changed("limits", files=1).files()),
        (changed("limits", file_bytes=1_000).file_bytes(1_001), "file-bytes",
         "the file has 1,001 bytes, more than limits.file_bytes = 1,000; raise it or send less",
         changed("limits", file_bytes=1_000).file_bytes(1_000)),
        (changed("guardrails", edit=False).edits(), "edits",
         "this policy serves no questions that edit a table (guardrails.edit = false); ask one that only reads",
         changed("guardrails", edit=True).edits()),
        (Gate.runs(8, 7), "lm-calls",
         "a batch of 8 prompts takes at least as many calls of models, and lm.calls leaves 7; allow more, or send fewer prompts",
         Gate.runs(7, 7)),
    ],
)  # fmt: skip
def test_what_a_policy_grants_is_refused_beyond_it(refused: Decision, rule: str, reason: str, allowed: Decision) -> None:
    assert refused == Decision(False, rule, reason)
    assert allowed == Decision(True, rule)


def test_prompts_for_a_model_are_refused_for_their_number_first_then_for_the_model_and_for_their_size() -> None:
    long = "x" * 11
    asked = (([long] * 3, "o9"), ([long], "o9"), ([long], "gpt-5"), (["x"], "gpt-5"), (["x"], None))
    assert [GATE.subcalls(*each).rule for each in asked] == ["lm-batch", "lm-models", "lm-prompt-bytes", "lm-prompts", "lm-prompts"]
    assert [GATE.subcalls(*each).allowed for each in asked] == [False, False, False, True, True]


def test_ingress_is_closed_unless_the_policy_opens_it() -> None:
    assert GATE.ingress() == Decision(
        False, "ingress", "the policy tight opens no port of a sandbox; use the exec transport, or set network.ingress = true"
    )
    assert Gate(load_policy({"network": {"ingress": True}})).ingress().allowed


def test_without_a_list_of_tools_only_their_names_are_checked() -> None:
    assert Gate(POLICY).tool("anything").allowed
    assert not Gate(POLICY).tool("any thing").allowed
    assert Gate(POLICY, tools=frozenset()).tool("anything").reason == "there is no tool 'anything'; this run has none"


def test_media_are_of_known_types_and_count_with_the_prompt() -> None:
    assert GATE.media(["image/png", "audio/wav"], 10).allowed
    assert GATE.media(["image/png", None], 1) == Decision(
        False, "lm-media", "media 1 is no PNG, JPEG, GIF or WebP image and no WAV or MP3 sound; convert it"
    )
    assert GATE.media(["image/png"], 11) == Decision(
        False,
        "lm-prompt-bytes",
        "the prompt and its media take 11 bytes, more than lm.prompt_bytes = 10; send smaller ones",
    )


@pytest.mark.parametrize(
    ("conversation", "reason"),
    [
        (False, ("the prompt has 900,000 characters, at least 128,001 tokens, and the model 'gpt-4o' takes 128,000; split "
                "it and ask about the parts with llm_query_batched")),
        (True, ("the conversation has 900,000 characters, at least 128,001 tokens, and the model 'gpt-4o' takes 128,000; "
               "print less of what is long, or set compaction=True")),
    ],
)  # fmt: skip
def test_a_prompt_that_cannot_fit_is_refused(conversation: bool, reason: str) -> None:
    GATE.require_window("gpt-4o", 900_000, 128_000, 128_000, conversation=conversation)
    with pytest.raises(PromptTooLarge) as caught:
        GATE.require_window("gpt-4o", 900_000, 128_001, 128_000, conversation=conversation)
    large = caught.value
    assert large.decision == Decision(False, "lm-window", reason)
    assert (str(large), large.characters, large.window, large.partial_answer) == (reason, 900_000, 128_000, None)
    assert isinstance(large, Refused) and large.for_cells


def test_lists_in_a_sentence_stay_short() -> None:
    assert Gate(POLICY, tools=frozenset({"search"})).tool("x").reason == "there is no tool 'x'; there are search"
    nowhere = POLICY.model_copy(update={"isolation": POLICY.isolation.model_copy(update={"environments": ()})})
    assert "the environment 'local'; use none, or add it" in Gate(nowhere).environment("local").reason
    gate = Gate(POLICY, tools=frozenset(f"tool_{number:02}" for number in range(40)))
    assert gate.tool("tol").reason.endswith("tool_11 or 28 more")


@pytest.mark.parametrize(
    "secret",
    [
        "sk-proj-abcdefghijklmnop1234",
        "ghp_abcdefghijklmnopqrstuvwx",
        "AKIAIOSFODNN7EXAMPLE",
        "AIzaSyA1234567890abcdefghi",
        "xoxb-123456789012-abcdef",
        "Bearer abcdefghijklmnop",
        "eyJhbGciOiJIUzI1NiJ9.eyJzdWIi",
        "please use sk-live_0123456789abcdef now",
    ],
)
def test_a_secret_is_never_repeated(secret: str) -> None:
    for decision in (GATE.model(secret), GATE.tool(secret), GATE.environment(secret)):
        assert not decision.allowed
        assert secret[-6:] not in decision.reason


UNTRUSTED = st.text(max_size=300) | st.text("\x00\x07\x1b\x7f\x9b\u202e\u2028\ud800abc", max_size=300)


@given(UNTRUSTED)
@settings(max_examples=examples(200), deadline=None)
def test_whatever_is_asked_the_answer_is_inert_and_short(text: str) -> None:
    for decision in (GATE.model(text), GATE.tool(text), GATE.prompts([text]), GATE.reply(text), GATE.cell_source(text)):
        assert decision.reason.isascii()
        assert decision.reason.isprintable()
        assert len(decision.reason) < 700  # 80 characters, each at most \UXXXXXXXX-escaped


@given(st.none() | st.integers() | st.binary(max_size=8) | st.lists(st.integers(), max_size=2))
def test_the_wrong_type_is_refused_and_never_an_exception(thing: object) -> None:
    for decision in (GATE.prompts([thing]), GATE.reply(thing), GATE.cell_source(thing), GATE.tool(thing)):
        assert not decision.allowed
    assert GATE.model(thing).allowed is (thing is None)


def test_shown_text_is_cut_at_eighty() -> None:
    assert shown("x" * 81) == f"'{'x' * 80}'..."
    assert shown("\x1b[31mred") == "'\\x1b[31mred'"
    assert shown(3) == "<int>"


def test_what_is_repeated_is_cut_where_it_is_said_to_be() -> None:
    assert shown("x" * 80) == f"'{'x' * 80}'"
    assert GATE.tool_name("a" * 128).allowed and not GATE.tool_name("a" * 129).allowed
    assert len(GATE.tool_arguments("t", 1, "x" * 500).reason) == 400
    kind = type("k" * 50, (), {})
    assert GATE.reply(kind()).reason == f"the model's client answered with {'k' * 40}, not with a str"
    few, many = (Gate(POLICY, tools=frozenset(f"{number:02}".rjust(50, "t") for number in range(size))) for size in (12, 13))
    assert few.tool("x").reason.count("t" * 40) == 12 and "more" not in few.tool("x").reason
    assert many.tool("x").reason.count("t" * 40) == 12 and many.tool("x").reason.endswith(" or 1 more")
    assert f"{'t' * 41}" not in few.tool("x").reason
    assert GATE.prompts(["é" * 11]).reason.startswith("the prompt takes 11 bytes"), "at least: it is not encoded"


def test_a_secret_is_looked_for_in_what_could_be_repeated_and_far_behind_it() -> None:
    key = "AKIAIOSFODNN7EXA"  # as short as one may be
    for behind, found in ((4096 - len(key), True), (4097 - len(key), False)):
        text = "x" * (behind - 1) + " " + key
        assert (shown(text) == "<looks like a secret>") is found
        assert (GATE.tool_arguments("t", 1, text).reason == "<looks like a secret>") is found
        assert key not in shown(text) and key not in GATE.tool_arguments("t", 1, text).reason


@given(text=st.text(st.characters(), max_size=20), limit=st.integers(1, 40))
@settings(max_examples=examples(200))
def test_sizes_are_utf8_bytes_exactly(text: str, limit: int) -> None:
    gate = Gate(load_policy({"lm": {"prompt_bytes": limit}}))
    assert gate.prompts([text]).allowed is (len(text.encode("utf-8", "surrogatepass")) <= limit)


def test_refused_calls_and_results_are_counted_against_the_policy() -> None:
    gate = Gate(Policy.model_validate({"name": "t", "lm": {"refusals": 2}, "limits": {"kept_bytes": 2**20}}))
    assert [gate.refusals(count).allowed for count in (1, 2, 3)] == [True, True, False]
    assert [gate.results(size).allowed for size in (0, 2**20, 2**20 + 1)] == [True, True, False]
    assert "lm.refusals = 2" in gate.refusals(3).reason
    assert "limits.kept_bytes = 1,048,576" in gate.results(2**21).reason


def test_a_session_has_every_wall_that_is_required_or_is_refused_with_the_evidence_of_the_first() -> None:
    report = EnforcementReport(
        "local",
        (
            WallStatus(Wall.SECCOMP, Level.FULL, "a filter"),
            WallStatus(Wall.LANDLOCK, Level.PARTIAL, "an old kernel"),
            WallStatus(Wall.RLIMITS, Level.NONE, "none set"),
        ),
    )
    GATE.require_walls(report, [], "here", "do so")
    GATE.require_walls(report, [Wall.SECCOMP], "here", "do so")
    with pytest.raises(EnforcementError) as refused:
        GATE.require_walls(report, (Wall.SECCOMP, Wall.LANDLOCK, Wall.RLIMITS), "here", "do so")
    assert refused.value.missing == ("landlock", "rlimits")
    assert str(refused.value) == (
        "policy 'tight' requires walls that do not hold here: landlock, rlimits (here: an old kernel); do so, or name "
        "them in isolation.best_effort with a reason"
    )
