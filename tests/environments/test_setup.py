"""A session's context, its second name and a fresh answer: bound in one request, as they are."""

from __future__ import annotations

import pytest

from rlm_secure.compat.environments import LocalREPL
from rlm_secure.errors import CellTimeout, Refused
from rlm_secure.policy import Policy

SHOW = "print([ord(each) for each in context], context is context_0, answer)"
FRESH = "{'content': '', 'ready': False}"


def ops(repl: LocalREPL) -> list[str]:
    """The requests of a session so far."""
    log = repl.session._log
    assert log is not None
    return [entry.request["op"] for entry in log]


@pytest.mark.parametrize("context", ["short", "x" * 100_000, ["a", {"b": 1}]], ids=["short", "long", "json"])
def test_one_request_binds_all_that_a_run_begins_with(context: object) -> None:
    with LocalREPL(policy="strict") as empty, LocalREPL(policy="strict", context_payload=context) as repl:
        assert len(ops(repl)) == len(ops(empty)) + 1
        assert repl.execute_code("print(context is context_0, answer)").stdout == f"True {FRESH}\n"


@pytest.mark.parametrize("text", ["", "a", "caf\xe9", "\u0100 \U0001f600 \x00", "\ud800", "\ud83d\ude00", "\\ud800\n"])
def test_a_text_arrives_as_it_is(text: str) -> None:
    with LocalREPL(policy="strict", context_payload=text) as repl:
        assert repl.execute_code(SHOW).stdout == f"{[ord(each) for each in text]} True {FRESH}\n"


def test_a_further_context_makes_the_answer_fresh_and_leaves_the_first() -> None:
    with LocalREPL(policy="strict", context_payload="first") as repl:
        repl.execute_code("answer['content'] = 'old'")
        assert repl.add_context("second") == 1
        said = repl.execute_code("print(context, context_0, context_1, answer)").stdout
        assert said == f"first first second {FRESH}\n"
        repl.execute_code("context = context_1 = 'a cell overwrites them'")
        assert repl.execute_code("print(context, context_1)").stdout == "first second\n"


@pytest.mark.parametrize("size", [11, 100_000])
def test_a_context_over_its_limit_is_refused_however_it_is_sent(size: int) -> None:
    policy = Policy.model_validate({"name": "t", "limits": {"context_bytes": 10}})
    with pytest.raises(Refused, match=r"limits\.context_bytes"):
        LocalREPL(policy=policy, context_payload="x" * size)


@pytest.mark.parametrize("checkpoints", [True, False])
def test_a_session_that_is_resumed_has_its_context(checkpoints: bool) -> None:
    limits = {"cell_seconds": 0.5, "grace_seconds": 0.1}
    policy = Policy.model_validate({"name": "t", "limits": limits, "isolation": {"checkpoints": checkpoints}})
    with LocalREPL(policy=policy, context_payload="kept") as repl:
        stuck = repl.execute_code("[0] * 10\nwhile True:\n    try:\n        while True: pass\n    except: pass")
        assert isinstance(stuck.error, CellTimeout)
        assert repl.execute_code("print(context, context_0, answer)").stdout == f"kept kept {FRESH}\n"
