"""The table of docs/pages/agents/side-by-side.md: our columns are what happens, the others have the same cases."""

from __future__ import annotations

import pytest

from benchmarks import replies

RECORDED = replies.recorded(replies.PAGE.read_text(encoding="utf-8"))


@pytest.mark.parametrize("column", replies.COLUMNS[:2])
@pytest.mark.parametrize("case", [
    # Traced, a call that runs no bytecode can be interrupted.
    pytest.param(case, marks=[pytest.mark.untraced] if case.name == "endless-sum" else [], id=case.name)
    for case in replies.CASES
])  # fmt: skip
def test_our_agent_does_what_the_table_says(case: replies.Case, column: str) -> None:
    assert replies.ours(case, column) == RECORDED[column].get(case.name)


def test_the_peers_columns_have_the_same_cases() -> None:
    known = {case.name for case in replies.CASES}
    tools = {case.name for case in replies.CASES if case.calls is not None and not case.sandboxed}
    assert set(RECORDED["ToolCallingAgent"]) == tools
    assert set(RECORDED["CodeAgent"]) == {case.name for case in replies.CASES if replies.has_code(case)} <= known
