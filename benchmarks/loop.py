"""What the walls add to a model call that a cell makes."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from benchmarks.runner import Case, benchmark
from rlm_secure.broker.protocol import Call
from rlm_secure.environments import get_environment

CALLS = 100
CELL = f"for _ in range({CALLS}):\n    llm_query('a question')"


def answer(_: Call) -> str:
    """A model that takes no time."""
    return "an answer"


@benchmark("llm-query", "one llm_query of a cell, answered by a model that takes no time")
def llm_query() -> Iterator[Sequence[Case]]:
    plain: dict[str, Callable[[str], str]] = {"llm_query": lambda _: "an answer"}
    with get_environment("local", {"calls": answer}) as repl:
        yield [
            Case("exec in this process", lambda: exec(compile(CELL, "<cell>", "exec"), plain), CALLS),
            Case("a cell in a local session", lambda: repl.execute_code(CELL).check(), CALLS),
        ]
