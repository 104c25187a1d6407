"""How much a model reads: known names, sizes of one's own, and a count that is never too high."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.clients.windows import WINDOWS, Windows, fewest_tokens, prompt_characters
from rlm_secure.errors import CellCallsRefused, PromptTooLarge
from rlm_secure.events import CellCompleted, ModelCalled, Violation
from rlm_secure.rlm.compaction import count_tokens
from tests.growth.cost import assert_linear
from tests.loops import Heard, cell, limited, scripted

#: What an audit sent through a sub-call.
LONG = "x" * 3_000_000
PROSE = "It was the best of times, it was the worst of times, it was the age of wisdom, it was the age of foolishness. "
CODE = "    for index, (name, value) in enumerate(sorted(settings.items())):\n        result[name] = compute(value)\n\n"
GERMAN = "Die Donaudampfschifffahrtsgesellschaft veröffentlichte Verwaltungsvorschriften zur Rechtsschutzversicherung. "


@pytest.mark.parametrize(
    ("name", "tokens"),
    [
        ("gpt-4o", 128_000),
        ("gpt-4o-2024-08-06", 128_000),
        ("openai/gpt-4o-mini", 128_000),
        ("openrouter/anthropic/claude-opus-4-5@20251101", 200_000),
        ("gpt-5", 272_000),
        ("gpt-4", 8_192),
        ("gpt-4-1106-preview", 128_000),
        ("gpt-4.1", 1_047_576),
        ("gpt-4o-realtime", None),
        ("gpt-40", None),
        ("my-gpt-4", None),
        ("/models/of/mine/gpt-4", None),
        ("unknown", None),
        ("", None),
        ("/", None),
    ],
)
def test_a_name_is_known_exactly_or_not_at_all(name: str, tokens: int | None) -> None:
    assert Windows().of(name) == tokens


def test_every_window_is_named_once_and_large_enough_for_a_page() -> None:
    assert len(WINDOWS) > 60
    assert all(4_096 <= tokens <= 2_000_000 for tokens in WINDOWS.values())


def test_given_windows_come_first_and_are_checked() -> None:
    windows = Windows({"mine": 128_000, "gpt-4": None})
    assert (windows.of("mine"), windows.of("gpt-4"), windows.of("gpt-4o")) == (128_000, None, 128_000)
    for wrong in (0, -1, True, 1.5, "128k"):
        with pytest.raises(ValueError, match=r"windows\['m'\] is no window"):
            Windows({"m": wrong})  # type: ignore[dict-item]


@pytest.mark.parametrize("text", [PROSE, CODE, GERMAN, "".join(map(chr, range(0x4E00, 0x4E80))), "\n" + " " * 79, "=" * 80])
def test_honest_text_is_never_counted_higher_than_it_is(text: str) -> None:
    text *= 1_000
    assert fewest_tokens(text) <= count_tokens([{"content": text}]) * 0.7


@given(st.text(max_size=200), st.text(max_size=200))
def test_more_text_has_no_fewer_tokens(one: str, more: str) -> None:
    assert fewest_tokens(one) <= fewest_tokens(f"{one}.{more}") + 1
    image = {"type": "image_url", "image_url": {"url": more}}
    assert fewest_tokens([{"role": "user", "content": [{"type": "text", "text": one}, image]}]) == fewest_tokens(one)
    assert prompt_characters(one) == len(one)


@pytest.mark.parametrize("unit", [" ", "=", "_", "ab ", "= ", "\n", "-_"])
def test_twice_the_prompt_takes_twice_the_time(unit: str) -> None:
    assert_linear(lambda size: unit * size, fewest_tokens, begin=10_000)


def test_what_was_too_large_is_refused_for_every_window_of_that_size() -> None:
    assert all(fewest_tokens(LONG) > window for window in (128_000, 200_000, 272_000, 400_000))
    assert fewest_tokens(LONG) < 1_000_000


# -- in a run --------------------------------------------------------------------------------------------


def asking(code: str, **more: object) -> object:
    turns = [cell(code), "FINAL(went on)"]
    return scripted(turns, "a reply", windows={"small": 128_000}, backend_kwargs={"model_name": "small"}, **more)


@pytest.mark.parametrize("kind", ["llm_query", "rlm_query"])
def test_a_sub_call_that_cannot_fit_is_refused_before_it_is_sent(kind: str) -> None:
    heard = Heard()
    rlm = asking(f"print({kind}('x' * 3_000_000))", on_event=heard)
    completion = rlm.completion("c")  # type: ignore[attr-defined]
    (refused,) = heard.of(Violation)
    assert refused.rule == "lm-window"
    assert "3,000,000 characters" in refused.message and "128,000" in refused.message
    assert [each.purpose for each in heard.of(ModelCalled)] == ["turn", "turn"]
    assert completion.usage_summary.total_calls == 2


def test_the_cell_reads_why_and_what_to_do() -> None:
    seen: list[str] = []

    def second(messages: list[dict[str, str]]) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(done)"

    code = "print(llm_query_batched(['short', 'x' * 3_000_000, 'short']))"
    rlm = scripted([cell(code), second], "a reply", windows={"small": 128_000}, backend_kwargs={"model_name": "small"})
    rlm.completion("c")
    assert seen[0].count("a reply") == 2
    assert "Error: the prompt has 3,000,000 characters, at least 428,571 tokens" in seen[0]
    assert "llm_query_batched" in seen[0]


def test_a_refused_prompt_counts_as_a_refused_call() -> None:
    heard = Heard()
    code = "for _ in range(9):\n    llm_query('x' * 3_000_000)\nprint('never')"
    asking(code, on_event=heard, policy=limited(refusals=2)).completion("c")  # type: ignore[attr-defined]
    assert len(heard.of(Violation)) >= 3
    (cut,) = heard.of(CellCompleted)
    assert cut.block.result.stdout == ""
    assert isinstance(cut.block.result.error, CellCallsRefused)


def test_a_model_without_a_known_window_is_asked() -> None:
    heard = Heard()
    rlm = scripted([cell("llm_query('x' * 3_000_000)"), "FINAL(done)"], "a reply", on_event=heard)
    rlm.completion("c")
    assert [each.purpose for each in heard.of(ModelCalled)] == ["turn", "llm_query", "turn"]


def test_a_conversation_that_outgrew_the_window_ends_the_run_with_its_answer_so_far() -> None:
    turns = ["word " * 10_000, "FINAL(never)"]
    rlm = scripted(turns, windows={"tiny": 5_000}, backend_kwargs={"model_name": "tiny"})
    with pytest.raises(PromptTooLarge, match="the conversation has .* compaction=True") as caught:
        rlm.completion("c")
    assert caught.value.partial_answer == turns[0]
    assert caught.value.window == 5_000


def test_compaction_comes_first() -> None:
    def turn(messages: list[dict[str, str]]) -> str:
        if "about to be cut" in messages[-1]["content"]:
            return "a summary"
        return "FINAL(done)" if any(each["content"] == "a summary" for each in messages) else "word " * 5_000

    options = {"windows": {"tiny": 8_000}, "backend_kwargs": {"model_name": "tiny"}}
    assert scripted(turn, compaction=True, compaction_threshold_pct=0.5, **options).completion("c").response == "done"


def test_the_answer_of_a_child_that_was_asked_too_much_is_an_error_of_its_own() -> None:
    seen: list[str] = []

    def second(messages: list[dict[str, str]]) -> str:
        seen.append(messages[-2]["content"])
        return "FINAL(done)"

    rlm = scripted(
        [cell("print(rlm_query('q'))"), second], child_turns=["word " * 10_000, "FINAL(never)"], max_depth=2,
        windows={"tiny": 5_000}, backend_kwargs={"model_name": "tiny"},
    )  # fmt: skip
    rlm.completion("c")
    assert "Error: Child RLM completion failed - the conversation has" in seen[0]
