"""Replies of a model: which text is a cell, which is a final answer, and what the model is told back."""

from __future__ import annotations

import re
import time
from types import SimpleNamespace

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tests.effort  # noqa: F401 - fewer examples
from rlm_secure.errors import CellException, CellTimeout
from rlm_secure.rlm.parsing import (
    FinalText,
    FinalUnclear,
    FinalVar,
    check_for_final_answer,
    find_cells,
    find_code_blocks,
    find_final_answer,
    format_execution_result,
    format_iteration,
    parse_final,
    truncated,
    why_nothing_ran,
)
from rlm_secure.types import CodeBlock, REPLResult, RLMIteration
from tests.growth.cost import assert_linear

MEGABYTE = 1_000_000

#: Text made of the pieces that the parsers look for, in every order.
PIECES = st.lists(
    st.sampled_from(
        [
            "FINAL(",
            "FINAL_VAR(",
            "FINAL",
            "(",
            ")",
            "```repl",
            "```",
            "```python",
            "~~~",
            "\n",
            " ",
            "\t",
            "x",
            "'",
            '"',
        ]
    ),
    max_size=60,
).map("".join)


class Environment:
    """Prints what `values` holds, as an environment's FINAL_VAR does."""

    def __init__(self, **values: str) -> None:
        self.values = values
        self.ran: list[str] = []

    def execute_code(self, code: str) -> REPLResult:
        self.ran.append(code)
        name = re.fullmatch(r"print\(FINAL_VAR\('(\w+)'\)\)", code).group(1)
        known = self.values.get(name, f"Error: Variable '{name}' not found. Available variables: {{}}")
        return REPLResult(f"{known}\n", "", {})


class TestCodeBlocks:
    @pytest.mark.parametrize(
        ("text", "cells"),
        [
            ("```repl\nx = 1\n```", ["x = 1"]),
            ("a\n```repl\nx\n```\nb\n```repl\ny\nz\n```", ["x", "y\nz"]),
            ("```repl \t\n\n  x\n\n```", ["x"]),
            ("```repl\r\nx\r\ny\r\n```", ["x\r\ny"]),
            ("```python\nx\n```", []),
            ("```replica\nx\n```", []),
            ("```REPL\nx\n```", []),
            ("```repl x\n```", []),
            ("```repl\nx", []),
            ("```repl\nx\n```python", ["x"]),
            ("inline ```repl\nx\n```", ["x"]),
            ("```repl\nx = '''\n```\n'''\n```", ["x = '''"]),
            ("```repl\nx\n ```\n```", ["x\n ```"]),
            ("", []),
            (None, []),
        ],
    )
    def test_cells(self, text: str | None, cells: list[str]) -> None:
        assert find_code_blocks(text) == cells

    def test_an_empty_cell_is_none_and_swallows_nothing(self) -> None:
        assert find_code_blocks("```repl\n```\n```repl\n\n\n```\n```repl\nx\n```") == ["x"]

    @given(PIECES)
    def test_as_upstreams_pattern_says_where_no_cell_is_empty(self, text: str) -> None:
        text = re.sub(r"```repl\s*\n```", "", text)
        while "```repl\n```" in text:
            text = text.replace("```repl\n```", "")
        theirs = [cell.strip() for cell in re.findall(r"```repl\s*\n(.*?)\n```", text, re.DOTALL)]
        assert find_code_blocks(text) == [cell for cell in theirs if cell]

    @given(st.text())
    def test_any_text(self, text: str) -> None:
        assert all(cell and cell in text for cell in find_code_blocks(text))


PYTHON = "```python\nx = 1\n```"
BARE = "```\nx = 1\n```"


class TestUnmarked:
    """Models write Python without the mark that they were told of."""

    @pytest.mark.parametrize(
        "text",
        [
            PYTHON,
            BARE,
            f"I will look.\n\n{PYTHON}\nThen I will know.",
            "```Python title='a'\n\nx = 1\n\n```",
            "~~~py\nx = 1\n~~~",
            "``` repl\nx = 1\n```",
            "````tool_code\nx = 1\n````",
            f"{PYTHON}\nIt prints:\n```\n1\n```",
            f"```bash\nls\n```\n{PYTHON}",
            "FINAL(not closed\n" + PYTHON,
        ],
    )
    def test_the_only_python_of_a_reply_is_its_cell(self, text: str) -> None:
        assert find_code_blocks(text) == []
        assert find_cells(text) == ["x = 1"]

    def test_a_block_in_a_list_keeps_its_shape(self) -> None:
        text = "1. Do this:\n\n   ```python\n   for n in [1]:\n       print(n)\n\n  print(2)\n   ```\n"
        assert find_cells(text) == ["for n in [1]:\n    print(n)\n\nprint(2)"]

    @pytest.mark.parametrize("text", ["", None, "no code", "```repl\nx\n```", f"```repl\nx\n```\n{PYTHON}", "```repl\nx"])
    def test_a_marked_block_or_none_at_all_is_as_it_was(self, text: str | None) -> None:
        assert find_cells(text) == find_code_blocks(text)
        assert (why_nothing_ran(text) is None) is ("```" not in (text or ""))

    @pytest.mark.parametrize(
        ("text", "why"),
        [
            (f"{PYTHON}\n{PYTHON}", "none of its 2 blocks is marked `repl`"),
            (f"{BARE}\n{BARE}", "none of its 2 blocks is marked `repl`"),
            (f"{BARE}\n```json\n{{}}\n```", "none of its 2 blocks is marked `repl`"),
            ("```python\nx = 1", "it ends inside a block, which has no closing line"),
            (f"{PYTHON}\n```\nx", "it ends inside a block, which has no closing line"),
            ("```repl\nx = 1", "it ends inside a block, which has no closing line"),
            ("```sql\nSELECT 1\n```", "its block is marked `sql`"),
            (f"{PYTHON}\nFINAL(1)", "its block is marked `python`"),
            (f"{PYTHON}\nFINAL_VAR(x)", "its block is marked `python`"),
            (f"{BARE}\nFINAL(1)", "its block is not marked"),
            ("```python\n\n```", "its block is empty"),
            ("```repl\n\n```", "its `repl` block is empty"),
            (f"```repl\n```\n{PYTHON}", "its `repl` block is empty"),
            ("```" + "a" * 50 + "\nx\n```", "its block is marked `" + "a" * 17 + "...`"),
            ("```\x1b[31m\nx\n```", "its block is marked `\\x1b[31m`"),
        ],
    )
    def test_what_is_not_run_is_said(self, text: str, why: str) -> None:
        assert find_cells(text) == []
        assert why_nothing_ran(text) == why

    @given(PIECES)
    def test_any_reply_has_a_cell_a_reason_or_no_block(self, text: str) -> None:
        cells = find_cells(text)
        assert cells or why_nothing_ran(text) or not re.search("^~~~", text, re.MULTILINE)
        assert all(cell.strip() == cell and cell for cell in cells)


class TestFinal:
    @pytest.mark.parametrize(
        ("text", "answer"),
        [
            ("FINAL(42)", "42"),
            ("Thinking.\nFINAL(42)", "42"),
            ("   \tFINAL(42)", "42"),
            ("\n\n  FINAL(42)\nmore", "42"),
            ('FINAL("hello")', '"hello"'),
            ("FINAL('hello')", "'hello'"),
            ("FINAL( spaced out )", "spaced out"),
            ("FINAL(f(a, g(b)))", "f(a, g(b))"),
            ("FINAL(one\ntwo (2)\nthree)", "one\ntwo (2)\nthree"),
            ("FINAL()", ""),
            ("FINAL(Steps: 1) do a 2) do b)", "Steps: 1) do a 2) do b"),
            ("FINAL(Steps: 1) do (a) 2) do b (c))  \nmore", "Steps: 1) do (a) 2) do b (c)"),
            ("FINAL(Steps:\n1) do a 2) do b)", "Steps:\n1) do a 2) do b"),
            ("FINAL(**42**).**", "**42**"),
            ("FINAL(1)\nFINAL(2)", "1"),
            ("FINAL(open (\nFINAL(2)", "2"),
            ("FINAL(42).", "42"),
            ("FINAL(it's (a) quote: ``` )", "it's (a) quote: ```"),
            ("FINAL(code:\n```python\nf(x)\n```\n)", "code:\n```python\nf(x)\n```"),
            ("```python\nFINAL(1)\n```\nFINAL(2)", "2"),
            ("```repl\nx = (1\n```\nFINAL(2)", "2"),
            ("~~~\nFINAL(1)\n```\n~~~\nFINAL(2)", "2"),
            ("````\n```\nFINAL(1)\n````\nFINAL(2)", "2"),
            ("```inline code``` is no fence\nFINAL(2)", "2"),
            ("```markdown\n```repl\nx\n```\n```\nFINAL(2)", "2"),
            ("```repl\nx\n``` and on\nFINAL(2)", "2"),
            ("FINAL(\r\n42\r\n)", "42"),
        ],
    )
    def test_an_answer(self, text: str, answer: str) -> None:
        assert parse_final(text) == FinalText(answer)
        assert find_final_answer(text) == find_final_answer(text, Environment()) == answer
        assert check_for_final_answer(text, None, None) == answer

    @pytest.mark.parametrize(
        "text",
        [
            "",
            None,
            "The answer is FINAL(42)",
            "I will say FINAL(42) soon",
            "- FINAL(42)",
            "> FINAL(42)",
            "`FINAL(42)`",
            "**FINAL(42)**",
            "FINAL(42",
            "FINAL((42)",
            "FINAL 42",
            "FINAL (42)",
            "FINALLY(42)",
            "final(42)",
            "_FINAL(42)",
            "FINAL_VARIABLE(x)",
            "```\nFINAL(42)\n```",
            "```repl\nFINAL(42)\n```",
            "text ```repl\nFINAL(42)\n```",
            "  ```python\n  FINAL(42)\n  ```",
            "~~~\nFINAL(42)\n~~~",
            "```repl\nFINAL(42)",
            "text ```repl\nFINAL(42)",
            "```\nFINAL(42)\n```python",
        ],
    )
    def test_no_answer(self, text: str | None) -> None:
        assert parse_final(text) is None
        assert find_final_answer(text) is None
        assert find_final_answer(text, Environment(x="1")) is None

    @pytest.mark.parametrize(
        "text",
        [
            "FINAL_VAR(x)",
            "FINAL_VAR('x')",
            'FINAL_VAR("x")',
            "FINAL_VAR( `x` )",
            "  FINAL_VAR( x )",
            "FINAL(42)\nFINAL_VAR(x)",
            "FINAL_VAR(x)\nFINAL(42)",
            "FINAL_VAR(x)\nFINAL_VAR(y)",
            "FINAL_VAR(broken\nFINAL_VAR(x)",
            "FINAL(see\nFINAL_VAR(x)\n)",
        ],
    )
    def test_a_variable_comes_first(self, text: str) -> None:
        assert parse_final(text) == FinalVar("x")
        assert find_final_answer(text) is None
        assert find_final_answer(text, Environment(x=" the value\n")) == "the value"

    @pytest.mark.parametrize(
        "text",
        [
            "FINAL(Steps: 1) do a 2) do b",
            "FINAL(Steps: 1) do (a)",
            "FINAL(Steps:\n1) do a\n2) do b\n)",
            "FINAL(1) FINAL(2)",
            "FINAL(42) (as computed above)",
            "FINAL(42) is the answer\nFINAL(43)",
        ],
    )
    def test_an_answer_that_may_go_on_behind_its_parenthesis_is_not_cut_off(self, text: str) -> None:
        final = parse_final(text)
        assert isinstance(final, FinalUnclear)
        assert "FINAL_VAR" in final.problem
        assert find_final_answer(text) is None

    def test_a_variable_whose_parentheses_do_not_balance_is_none(self) -> None:
        assert parse_final("FINAL_VAR(x\nFINAL(42)") == FinalText("42")

    def test_an_unknown_variable_is_no_answer(self) -> None:
        assert find_final_answer("FINAL_VAR(nothing)\nFINAL(42)", Environment(x="1")) is None

    @pytest.mark.parametrize("name", ["rows[0]", "a.b", "__import__('os')", "x' + 'y", "", "a b", "1x", "x" * 129])
    def test_what_is_no_name_never_reaches_the_environment(self, name: str) -> None:
        environment = Environment()
        assert parse_final(f"FINAL_VAR({name})") == FinalVar(name)
        assert find_final_answer(f"FINAL_VAR({name})", environment) is None
        assert environment.ran == []

    def test_an_environment_that_returns_the_answer_itself_is_believed_over_what_it_printed(self) -> None:
        result = REPLResult("cut ...", "", {}, final_answer=" whole \n")
        assert find_final_answer("FINAL_VAR(x)", SimpleNamespace(execute_code=lambda code: result)) == " whole \n"

    def test_a_lookup_that_failed_is_no_answer(self) -> None:
        result = REPLResult("", "NameError: name 'FINAL_VAR' is not defined", {})
        assert find_final_answer("FINAL_VAR(x)", SimpleNamespace(execute_code=lambda code: result)) is None

    def test_an_empty_variable_is_an_answer(self) -> None:
        assert find_final_answer("FINAL_VAR(x)", Environment(x="")) == ""

    @given(PIECES | st.text())
    def test_any_text(self, text: str) -> None:
        match parse_final(text):
            case FinalText(answer):
                assert answer in text
                assert answer.count("(") == answer.count(")")
            case FinalVar(name):
                assert name in text

    @given(st.text(alphabet="ab\n ,.'\"`", max_size=40))
    def test_what_is_written_comes_back(self, content: str) -> None:
        assert find_final_answer(f"FINAL(({content}))") == f"({content})"


UNITS = [
    "FINAL(\n",
    "FINAL_VAR(\n",
    "FINAL(x)\n```\n",
    "FINAL((\n))\n",
    "(",
    ")",
    "```repl\n",
    "```repl ",
    "```repl",
    "```repl\n```\n",
    "```\n",
    "````\n```\n",
    "`",
    "~",
    " ",
    "\n",
    "\n ",
    "```repl\n\nFINAL(\n",
    "F",
    "~~~\n```repl\nx\n```\n",
]
BEFORE = ["FINAL(", "```repl\n", "FINAL_VAR(\n"]


def _after(number: int, unit: str) -> list[object]:
    """Each unit by itself and behind one of BEFORE, by turns; behind the others in an exhaustive run."""
    mine = BEFORE[number % len(BEFORE)]
    marked = [pytest.param(each, unit, marks=() if each == mine else pytest.mark.exhaustive) for each in BEFORE]
    return [pytest.param("", unit), *marked]


@pytest.mark.parametrize(("before", "unit"), [each for number, unit in enumerate(UNITS) for each in _after(number, unit)])
def test_a_megabyte_of_anything_takes_linear_time(before: str, unit: str) -> None:
    text = before + unit * (MEGABYTE // len(unit))
    begin = time.process_time()
    find_cells(text)
    why_nothing_ran(text)
    parse_final(text)
    # Quadratic time on a megabyte would be minutes.
    assert time.process_time() - begin < 5


class TestFeedback:
    def test_nothing_to_say(self) -> None:
        assert format_execution_result(REPLResult("", "", {})) == "No output"

    def test_output_errors_and_names(self) -> None:
        result = REPLResult("out\n", "err", {"x": 1, "_y": 2, "rows": [1], "f": None})
        assert format_execution_result(result) == "\nout\n\n\n\nerr\n\nREPL variables: ['x', 'rows']\n"

    def test_control_characters_are_spelled_out_and_scripts_are_not_touched(self) -> None:
        result = REPLResult("\x1b[2J\u202e\u05d0 \U0001f468\u200d\U0001f469 \ud800\r\n", "\x9d0;t\x07", {})
        assert (
            format_execution_result(result)
            == "\n\\x1b[2J\u202e\u05d0 \U0001f468\u200d\U0001f469 \\ud800\r\n\n\n\n\\x9d0;t\\a"
        )

    def test_what_ended_a_cell_from_outside_is_told(self) -> None:
        error = CellTimeout("the cell used up limits.cell_seconds of 30 s", limit="limits.cell_seconds")
        said = "CellTimeout: the cell used up limits.cell_seconds of 30 s"
        assert format_execution_result(REPLResult("", "", {}, error=error)) == f"\n{said}"
        assert format_execution_result(REPLResult("", "killed\n", {}, error=error)) == f"\nkilled\n\n\n\n{said}"

    def test_what_stderr_says_is_not_told_twice(self) -> None:
        error = CellException("ValueError: no")
        assert (
            format_execution_result(REPLResult("", "line 1\nValueError: no", {}, error=error)).count("ValueError") == 1
        )

    def test_dropped_output_is_counted(self) -> None:
        assert "[7 more bytes of output were dropped]" in format_execution_result(
            REPLResult("x", "", {}, dropped_bytes=7)
        )

    def test_a_reply_without_cells_is_one_message(self) -> None:
        assert format_iteration(RLMIteration("p", "reply", [])) == [{"role": "assistant", "content": "reply"}]

    def test_one_cell_is_one_message_without_its_code(self) -> None:
        iteration = RLMIteration("p", "reply", [CodeBlock("secret_code()", REPLResult("1", "", {}))])
        assert format_iteration(iteration) == [
            {"role": "assistant", "content": "reply"},
            {"role": "user", "content": "REPL output:\n\n1"},
        ]

    def test_several_cells_are_numbered_in_one_message(self) -> None:
        blocks = [CodeBlock("a", REPLResult("1", "", {})), CodeBlock("b", REPLResult("", "", {}))]
        assert format_iteration(RLMIteration("p", "reply", blocks))[1] == {
            "role": "user",
            "content": "REPL output (block 1):\n\n1\n\nREPL output (block 2):\nNo output",
        }

    def test_each_cell_is_truncated_by_itself(self) -> None:
        blocks = [CodeBlock("a", REPLResult("x" * 50, "", {})), CodeBlock("b", REPLResult("y" * 5, "", {}))]
        assert format_iteration(RLMIteration("p", "r", blocks), 10)[1]["content"] == (
            "REPL output (block 1):\n\nxxxxxxxxx... + [41 chars...]\n\nREPL output (block 2):\n\nyyyyy"
        )

    @given(st.text(), st.integers(0, 50))
    def test_truncation_keeps_a_prefix_and_counts_the_rest(self, text: str, limit: int) -> None:
        short = truncated(text, limit)
        if len(text) <= limit:
            assert short == text
        else:
            assert short == f"{text[:limit]}... + [{len(text) - limit} chars...]"

    @given(st.text(), st.text(), st.dictionaries(st.text(), st.none() | st.text() | st.integers()))
    def test_any_result(self, stdout: str, stderr: str, variables: dict[str, object]) -> None:
        text = format_execution_result(REPLResult(stdout, stderr, variables))
        assert not re.search("[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ud800-\udfff]", text)


@pytest.mark.parametrize(
    "unit",
    ["```\n", "~", "`", "\n", " ", "FINAL(\n", "FINAL()\n", "FINAL(x)\n(", "```repl\n", "```repl ", "```repl \n```", "\u2028", "x`"],
)
@pytest.mark.parametrize("begin", ["", "FINAL(x)\n", "```repl\n", "FINAL_VAR('"])
def test_twice_the_reply_takes_twice_the_time(begin: str, unit: str) -> None:
    def read(text: str) -> None:
        find_cells(text)
        why_nothing_ran(text)
        parse_final(text)

    assert_linear(lambda size: begin + unit * size, read, begin=1_000)
