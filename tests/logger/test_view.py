"""The page of a trajectory: everything in it, and nothing of it alive."""

from __future__ import annotations

import json
import re
import tracemalloc
from html.parser import HTMLParser
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.logger import RLMLogger, read, view
from rlm_secure.logger.view import page, render
from rlm_secure.types import (
    CodeBlock,
    ModelUsageSummary,
    REPLResult,
    RLMChatCompletion,
    RLMIteration,
    RLMMetadata,
    UsageSummary,
)

ATTACKS = [
    "<script>alert(1)</script>",
    "</pre></details><img src=x onerror=alert(1)>",
    '" onmouseover="alert(1)',
    "</title><script>",
    "<style>@import 'http://evil'</style>",
    "<!--", "]]>", "&lt;script&gt;", "javascript:alert(1)", "<a href='http://evil'>", "\x00<\x00script>",
]  # fmt: skip

TAGS = {
    "html", "head", "meta", "title", "style", "body", "h1", "h2", "p", "b", "pre", "details", "summary", "div", "span",
    "dl", "dt", "dd",
}  # fmt: skip


class Page(HTMLParser):
    """What a browser would see."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}

    def handle_data(self, data: str) -> None:
        self.text += data

    def handle_comment(self, data: str) -> None:
        raise AssertionError(f"a comment: {data}")


def harmless(text: str) -> Page:
    seen = Page(text)
    assert seen.tags <= TAGS
    assert seen.attributes <= {"lang", "charset", "http-equiv", "content", "name", "class", "open"}
    assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\ud800-\udfff]", text)
    return seen


def log(folder: Path, text: str) -> RLMLogger:
    """A trajectory with `text` wherever text goes."""
    logger = RLMLogger(folder)
    child = logger.fresh()
    for each in (logger, child):
        each.log_metadata(RLMMetadata(text, 1, 30, text, {text: text}, text, {}))
    child.log(RLMIteration([{"role": text, "content": text}], f"child {text}", []))
    usage = UsageSummary({text: ModelUsageSummary(1, 12, 3)})
    call = RLMChatCompletion(text, text, text, usage, 0.5, child.get_trajectory())
    block = CodeBlock(text, REPLResult(text, text, {text: text}, 1.5, [call]))
    messages = [{"role": "system", "content": text}]
    for number in range(2):
        messages = [*messages, {"role": "user", "content": f"message {number} {text}"}]
        logger.log(RLMIteration(messages, text, [block], text if number else None, 2.5))
    return logger


def test_shows_the_whole_run(tmp_path: Path) -> None:
    seen = harmless(render(log(tmp_path, "hello").log_file_path))
    for shown in ("Run 1", "Turn 1", "Turn 2", "message 1 hello", "2 messages as in the turn before", "child of hello"):
        assert shown in seen.text
    for shown in ("child hello", "12 prompt_tokens".replace("_", " "), "1.5 s", "2.5 s", "answer"):
        assert shown in seen.text


def test_a_second_run_in_the_file_is_a_second_run(tmp_path: Path) -> None:
    logger = log(tmp_path, "x")
    logger.clear_iterations()
    logger.log(RLMIteration([], "second", []))
    assert "Run 2" in render(logger.log_file_path)


@pytest.mark.parametrize("attack", ATTACKS)
def test_no_text_of_a_log_becomes_markup(tmp_path: Path, attack: str) -> None:
    seen = harmless(render(log(tmp_path, attack).log_file_path))
    assert attack.replace("\x00", "\\x00") in seen.text


def test_nothing_is_loaded_and_no_script_may_run(tmp_path: Path) -> None:
    text = render(log(tmp_path, "x").log_file_path)
    assert "default-src 'none'; style-src 'sha256-" in text
    assert "http://" not in text
    assert "https://" not in text
    assert "<script" not in text


def test_lines_that_are_no_objects_are_named(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_bytes(b'not json\n[1]\n\xff\xfe\n{"type":"iteration","iteration":1}\n' + b"[" * 200_000 + b"\n")
    seen = harmless(render(path))
    for number in (1, 2, 3, 5):
        assert f"line {number} is not a JSON object" in seen.text
    assert "Turn 1" in seen.text


def test_values_of_any_type_in_any_place(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    deep = "[" * 900 + "]" * 900
    odd = ["null", "true", "1e999", "NaN", "1" * 4000, '""', "{}", "[[[]]]", '"\\ud800\\u202e"', deep]
    names = ["prompt", "response", "code_blocks", "final_answer", "iteration_time", "iteration", "type"]
    lines = [f'{{"{name}":{value}}}' for name in names for value in odd]
    nested = [f'{{"code_blocks":[{{"result":{{"{name}":{value}}}}}]}}' for name in ("locals", "error") for value in odd]
    calls = [f'{{"code_blocks":[{{"result":{{"rlm_calls":[{value}, {{"metadata":{value}}}]}}}}]}}' for value in odd]
    path.write_text("\n".join(lines + nested + calls))
    harmless(render(path))


def test_children_of_children_end_somewhere() -> None:
    entry: dict[str, object] = {"iteration": 1}
    for _ in range(40):
        entry = {"iteration": 1, "code_blocks": [{"result": {"rlm_calls": [{"metadata": {"iterations": [entry]}}]}}]}
    assert harmless(page([entry], title="t")).text.count("Turn 1") == 17


def test_long_text_is_cut() -> None:
    text = page([{"iteration": 1, "response": "x" * 1_000_000}], title="t")
    assert len(text) < 110_000
    assert "[900000 chars...]" in text


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.sampled_from(ATTACKS),
        lambda inner: (
            st.lists(inner)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "type",
                        "iteration",
                        "prompt",
                        "role",
                        "content",
                        "response",
                        "code_blocks",
                        "code",
                        "result",
                        "stdout",
                    ]
                    + [
                        "locals",
                        "rlm_calls",
                        "metadata",
                        "iterations",
                        "final_answer",
                        "execution_time",
                        "error",
                        "message",
                    ]
                ),
                inner,
            )
        ),
        max_leaves=40,
    ).filter(lambda value: isinstance(value, dict))
)
def test_any_entry(entry: dict[str, object]) -> None:
    harmless(page([json.loads(json.dumps(entry))], title="<t>"))


def test_lines_of_any_length_and_shape_end(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(read, "_LINE", 100)
    monkeypatch.setattr(read, "_NODES", 20)
    many = b'{"a":[' + b"1," * 30 + b"1]}"
    lines = [b"[" * 5_000, many, b"\xff\xfe", b'{"type":"metadata","x":"\x1b[2J"}', b'{"type":"metadata","x":"\\u001b[2J\\u202e"}']
    (tmp_path / "log.jsonl").write_bytes(b"\n".join(lines))
    seen = render(tmp_path / "log.jsonl")
    for number in (1, 2, 3, 4):
        assert f"line {number} is not a JSON object" in seen
    assert "\\x1b[2J\\u202e" in seen and "line 5" not in seen
    harmless(seen)


def test_a_file_of_any_size_ends(tmp_path: Path) -> None:
    with (tmp_path / "log.jsonl").open("wb") as file:
        file.truncate(1 << 40)
    with pytest.raises(ValueError, match="larger than 512 MiB"):
        render(tmp_path / "log.jsonl")


def test_deep_variables_make_no_larger_page(tmp_path: Path) -> None:
    deep = "[" * 150 + "1," * 50_000 + "1" + "]" * 150
    (tmp_path / "log.jsonl").write_text(
        f'{{"type":"iteration","code_blocks":[{{"code":"","result":{{"locals":{{"x":{deep}}}}}}}]}}'
    )
    assert len(render(tmp_path / "log.jsonl")) < 20_000


def test_a_page_is_made_a_piece_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    turn = {"type": "iteration", "iteration": 1, "response": "x" * 90_000}
    path.write_text((json.dumps(turn) + "\n") * 400)
    tracemalloc.start()
    size = sum(map(len, view.pieces(path)))
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert size > 400 * 90_000 and most < size / 8


def test_lines_without_end_are_counted_and_not_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text("[]\n" * 20_000)
    assert "and 19,000 more such lines" in render(path)
    monkeypatch.setattr(read, "_LINES", 500)
    seen = render(path)
    assert "more than 500 lines" in seen and len(seen) < 60_000
