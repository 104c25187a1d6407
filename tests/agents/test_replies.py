"""What a model wrote, as JSON and as code: every lenient form, and every text that is none."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.agents.replies import Found, code_of, first_json, without_thoughts

PIECES = st.lists(
    st.sampled_from(
        ["{", "}", "[", "]", ",", ":", '"', "'", '"""', "'''", "\\", "\n", " ", "a", "1", "-", ".", "e", "true", "None"]
        + [
            "//",
            "#",
            "/*",
            "*/",
            "\u201c",
            "\u201d",
            "\u2018",
            "\u2019",
            "\x00",
            "\ud800",
            "```",
            "```python\n",
            "\n```",
        ]
        + ["<think>", "</think>", "x = 1\n", "Answer is "]
    ),
    max_size=40,
).map("".join)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


def value(text: str) -> Any:
    """The value that is found, which is there."""
    found = first_json(text)
    assert found is not None, text
    return found.value


# -- thoughts ------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "left"),
    [
        ("plain", "plain"),
        ("<think>hm</think>answer", "answer"),
        ("a <thinking>1</thinking> b <reasoning>2</reasoning> c <reflection>3</reflection> d", "a  b  c  d"),
        ("<THINK >hm</Think\n> answer ", "answer"),
        ("before <think>never closed", "before"),
        ("a template opened it</think>answer", "answer"),
        ("<think>a <think>b</think> c</think>answer", "answer"),
        ("<think>a</thinking>answer", "answer"),
        ("<think></think>", ""),
        ("</think>", ""),
        ("<thinker>x</thinker>", "<thinker>x</thinker>"),
        ("", ""),
    ],
)
def test_thoughts_are_taken_out(text: str, left: str) -> None:
    assert without_thoughts(text) == left


# -- JSON ----------------------------------------------------------------------------------------


@given(VALUES)
def test_strict_json_is_read_as_it_is(wanted: Any) -> None:
    for text in (json.dumps(wanted), json.dumps(wanted, ensure_ascii=False, indent=1)):
        assert value(text) == wanted
        assert first_json(f"```json\n{text}\n```").value == wanted  # type: ignore[union-attr]


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ('Here it is: {"a": 1} as you asked.', {"a": 1}),
        ('```json\n{"a": [1, 2]}\n```\nand more', {"a": [1, 2]}),
        ('{"a": [1, 2,], "b": {},}', {"a": [1, 2], "b": {}}),
        ("{'a': 'b', 'c': [True, False, None]}", {"a": "b", "c": [True, False, None]}),
        ("{'said': 'it's here', 'b': 1}", {"said": "it's here", "b": 1}),
        ("{'a': 'it\\'s'}", {"a": "it's"}),
        ("{a: TRUE, $b-c: null}", {"a": True, "$b-c": None}),
        ("{\u201ca\u201d: \u201cb \u2018c\u2019\u201d}", {"a": "b \u2018c\u2019"}),
        ("{\u201ea\u201c: \u2018don\u2019t\u2019}", {"a": "don\u2019t"}),
        ('{"a": 1, // one\n# two\n/* three */ "b": 2}', {"a": 1, "b": 2}),
        ('{"code": """x = "1"\ny""", "b": \'\'\'it\'s\'\'\'}', {"code": 'x = "1"\ny', "b": "it's"}),
        ('{"a": "two\nlines\tand \x00"}', {"a": "two\nlines\tand \x00"}),
        ('{"a": "one \\\nline", "b": "\\d+\\u00e9\\u12"}', {"a": "one line", "b": "\\d+\u00e9\\u12"}),
        ('{"a": "\\\x01"}', {"a": "\\\x01"}),
        ("[+1, -.5, 5., 1e3, -0, 0.25E-2]", [1, -0.5, 5.0, 1000.0, 0, 0.0025]),
        ('Set {a, b} and [see the table] give {"column": "x"}.', {"column": "x"}),
        ('{"broken": [1, 2}, then [3]', [3]),
        ('{"a": 007} {"b": 7}', {"b": 7}),
        ('{"a": 1_000} [1]', [1]),
        ('{"a": nothing} [1]', [1]),
        ('{"a": 1 "b": 2} [1]', [1]),
        ('{"a" 1} [1]', [1]),
        ("{,} [1]", [1]),
        ('{"a": 1, "a": 2} [1]', [1]),
        (f"[{'1' * 5000}] [1]", [1]),
        ("[unclosed /* [1]", [1]),
        ("['never closed [1]", [1]),
        ('["', None),
        ("['x", None),
        ("[/* x", None),
        ("[1, [2", None),
        ("[" * 65 + "]" * 65, [[]]),
        ("no value at all", None),
        ("", None),
    ],
)
def test_lenient_forms(text: str, wanted: Any) -> None:
    found = first_json(text)
    if text.startswith("[[[["):
        assert found is not None  # what is nested too deep is skipped, what is left of it is a value of its own
        return
    assert (None if found is None else found.value) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("42", 42),
        ("  -1.5\nObservation: x", -1.5),
        ('"You have 9 apples left."', "You have 9 apples left."),
        ("'it's'", "it's"),
        ("None", None),
        ("true\n", True),
        ("```json\n42\n```", 42),
        ("```\n'x'```", "x"),
    ],
)
def test_a_bare_value_is_one_if_it_stands_alone(text: str, wanted: Any) -> None:
    assert value(text) == wanted


@pytest.mark.parametrize(
    "text", ["3 apples", "None of them", '"a" and "b"', "42%", "nothing", ".", "-", "```json\n```"]
)
def test_a_bare_value_with_words_behind_it_is_none(text: str) -> None:
    assert first_json(text) is None


def test_places_are_those_of_the_text() -> None:
    text = 'Action Input: {"a": 1}, then [2] '
    first = first_json(text)
    assert first == Found({"a": 1}, text.index("{"), text.index("}") + 1)
    assert first_json(text, at=first.end) == Found([2], text.index("["), text.index("]") + 1)
    assert first_json(text, at=len(text)) is None
    assert first_json("x 7", at=2) == Found(7, 2, 3)


def test_values_within_the_limits_of_the_only_parser() -> None:
    assert first_json("[" * 64 + "]" * 64) is not None
    assert first_json("[" + "1," * 400_001 + "1]") is None
    assert value('["\ud800"]') == ["\\ud800"]
    assert first_json("[1e999]") is None
    assert first_json("[NaN, Infinity]") is None


# -- code ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("Sure:\n```python\nresult = 1\n```\nDone.", "result = 1"),
        ("```py\na\n```\n```repl\nb\n```", "b"),
        ("```repl\na\n```\n```python3\nb\n```", "b"),
        ("```\nresult = 1\n```", "result = 1"),
        ("```\nx\n```\n```python\nresult = 1\n```\n```\noutput\n```", "result = 1"),
        ("~~~python\nresult = 1\n~~~", "result = 1"),
        ("```json\n{}\n```", None),
        ("```python\nresult = 1", None),
        ("```python\n```", None),
        ("result = df['a'].sum()", "result = df['a'].sum()"),
        ("import os\nfrom a import b\nx: int = 3\nfor a in b:\n    pass\nresult += 1", "import os\nfrom a import b\nx: int = 3\nfor a in b:\n    pass\nresult += 1"),
        ("# a comment\nresult = [\n  1,\n]\nprint(result)\nresult", "# a comment\nresult = [\n  1,\n]\nprint(result)\nresult"),
        ("a, b = 1, 2\nif a:\n    b\nelse:\n    a", "a, b = 1, 2\nif a:\n    b\nelse:\n    a"),
        ("The answer is 3.", None),
        ("I would write:\nresult = 1", None),
        ("for example, this one", None),
        ("from the table we see it.", None),
        ("Note: it is so", None),
        ("x = 1\n```python\nresult = 1", None),
        ("", None),
        ("   \n", None),
    ],
)  # fmt: skip
def test_the_code_of_a_reply(text: str, code: str | None) -> None:
    assert code_of(text) == code


@given(PIECES)
def test_no_text_raises(text: str) -> None:
    without_thoughts(text)
    code_of(text)
    found = first_json(text)
    if found is not None:
        assert 0 <= found.begin < found.end <= len(text)
        json.dumps(found.value).encode()
