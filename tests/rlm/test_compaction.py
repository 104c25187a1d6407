"""Long conversations: how full they are, and what takes their place."""

from __future__ import annotations

import sys
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.rlm import compaction
from rlm_secure.rlm.compaction import (
    DEFAULT_CONTEXT_LIMIT,
    compacted,
    count_tokens,
    get_context_limit,
    history_entries,
    should_compact,
    summary_request,
)

CONVERSATION = [
    {"role": "system", "content": "s"},
    {"role": "user", "content": "m"},
    {"role": "user", "content": "prologue"},
    {"role": "user", "content": "turn 1"},
    {"role": "assistant", "content": "a {reply}"},
]


@pytest.mark.parametrize(
    ("model", "limit"),
    [
        ("gpt-4", 8_192),
        ("gpt-4-0613", 8_192),
        ("openai/gpt-4o-mini", 128_000),
        ("GPT-4.1-nano", 1_047_576),
        ("claude-opus-4", 200_000),
        ("o3-mini", 200_000),
        ("turbo1", DEFAULT_CONTEXT_LIMIT),
        ("my-own-model", DEFAULT_CONTEXT_LIMIT),
        ("", DEFAULT_CONTEXT_LIMIT),
    ],
)
def test_the_longest_known_name_decides(model: str, limit: int) -> None:
    assert get_context_limit(model) == limit


def test_without_a_tokenizer_four_characters_are_a_token() -> None:
    assert count_tokens([{"role": "user", "content": "x" * 41}], "no-such-model") == 11 + 4
    assert count_tokens([], "no-such-model") == 0


@pytest.mark.parametrize("content", [None, "", [], 3, [{"type": "image_url"}], [{"type": "text", "text": "abcd"}]])
def test_any_content_counts(content: object) -> None:
    assert count_tokens([{"role": "user", "content": content}], "no-such-model") in (4, 5)


@pytest.fixture
def tokenizer(monkeypatch: pytest.MonkeyPatch):
    """A tiktoken that knows one model, counts words, and records the longest text it was given."""
    seen = SimpleNamespace(longest=0)

    def encode(text: str, disallowed_special: tuple[()]) -> list[str]:
        seen.longest = max(seen.longest, len(text))
        return text.split()

    def encoding_for_model(model: str) -> SimpleNamespace:
        if model != "known":
            raise KeyError(model)
        return SimpleNamespace(encode=encode)

    monkeypatch.setitem(sys.modules, "tiktoken", SimpleNamespace(encoding_for_model=encoding_for_model))
    compaction._counter.cache_clear()
    yield seen
    compaction._counter.cache_clear()


def test_a_tokenizer_is_used_for_the_models_that_it_knows(tokenizer: SimpleNamespace) -> None:
    messages = [{"role": "user", "content": "<|endoftext|> b c"}]
    assert count_tokens(messages, "known") == 3 + 4
    assert count_tokens(messages, "unknown") == 5 + 4


def test_a_tokenizer_gets_text_in_pieces(tokenizer: SimpleNamespace) -> None:
    count_tokens([{"role": "user", "content": "a" * 50_000}], "known")
    assert tokenizer.longest == 4_096


def test_compaction_is_due_at_the_threshold() -> None:
    messages = [{"role": "user", "content": "x" * 4 * 96}]
    assert count_tokens(messages, "") == 100
    assert should_compact(messages, "", 0.5, limit=200)
    assert not should_compact(messages, "", 0.51, limit=200)
    assert not should_compact(messages, "gpt-4")


def test_the_request_is_one_message_more() -> None:
    asked = summary_request(CONVERSATION)
    assert asked[:-1] == CONVERSATION
    assert asked[-1]["role"] == "user"


def test_the_opening_stays_with_its_prologue() -> None:
    after = compacted(CONVERSATION, 3, "what {I} found", 2)
    assert after[:3] == CONVERSATION[:3]
    assert after[3] == {"role": "assistant", "content": "what {I} found"}
    assert after[4]["role"] == "user"
    assert "cut number 2" in after[4]["content"]
    assert len(after) == 5


def test_nothing_is_shared_with_the_conversation_before() -> None:
    after = compacted(CONVERSATION, 3, "s", 1)
    entries = history_entries(CONVERSATION[3:], "s")
    assert entries == [CONVERSATION[3:], {"type": "summary", "content": "s"}]
    after[0]["content"] = entries[0][0]["content"] = "changed"
    assert CONVERSATION[0]["content"] == "s"
    assert CONVERSATION[3]["content"] == "turn 1"


@given(st.lists(st.fixed_dictionaries({"role": st.text(), "content": st.text() | st.none()})), st.text())
def test_counts_never_fail_and_never_shrink(messages: list[dict[str, str]], more: str) -> None:
    assert count_tokens([*messages, {"role": "user", "content": more}], "") > count_tokens(messages, "")


def test_a_megabyte_is_counted_at_once() -> None:
    begin = time.process_time()
    count_tokens([{"role": "user", "content": "x" * 1_000_000}] * 10, "gpt-4o")
    assert time.process_time() - begin < 1
