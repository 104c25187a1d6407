"""A session checks code without running it: bounded for any text, without a trace, and read strictly."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from rlm_secure import Policy
from rlm_secure.broker.protocol import MAX_FINDING, MAX_FINDINGS, Variable, code_findings
from rlm_secure.environments.interface import Session
from rlm_secure.environments.local import LocalEnvironment
from rlm_secure.environments.local.session import open_session
from rlm_secure.environments.repl import REPL, no_host
from rlm_secure.errors import CellException, CellRefused, EnvironmentUnavailable, ProtocolViolation, SessionEnded
from rlm_secure.policy.model import FORBIDDEN_CALLS
from rlm_secure.types import CodeFinding
from tests.broker import support

RULES: dict[str, Any] = {
    "result": "result",
    "table": ("df", "columns"),
    "imports": False,
    "forbidden_calls": FORBIDDEN_CALLS,
    "mode": "read",
    "filter": True,
}


@pytest.fixture(scope="module")
def repl() -> Iterator[REPL]:
    with REPL(LocalEnvironment(), policy="standard") as made:
        yield made


def reasons(repl: REPL, code: str) -> list[tuple[str, int]]:
    return [(each.reason, each.line) for each in repl.check_code(code, RULES)]


def test_code_is_checked_and_not_run(repl: REPL) -> None:
    assert repl.check_code("result = df[df.x > 1]", RULES) == []
    said = repl.check_code("import os\ndf['x'] = eval('1')\nresult = x.__globals__ if df else 1", RULES)
    assert [(each.reason, each.line) for each in said] == [
        ("import", 1), ("forbidden_call", 2), ("read_mutation", 2), ("language", 3),
    ]  # fmt: skip
    assert said[0] == CodeFinding(
        "import", "the code imports 'os'; leave imports out and use the names that are there", 1
    )
    assert repl.execute_code("ran = 1\nran").check().stdout == ""


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("(" * 100_000, "syntax"),
        ("[" * 150 + "]" * 150, "missing_result"),
        ("-" * 100_000 + "1", "language"),
        ("a" + ".b" * 100_000, "language"),
        ("1" + "+1" * 100_000, "language"),
        ("x\n" * 100_000, "language"),
        ("x = 1\n" * 200_000, "language"),
        ("a\0b", "syntax"),
        ("\ud800", "language"),
        ("x = '" + "\udfff" * 50_000 + "'", "language"),
        ("x = 1\n" * 1_000_000, "language"),
        ("if 1:\n" + "".join(" " * n + "if 1:\n" for n in range(1, 200)), "syntax"),
    ],
)
def test_any_text_is_answered_in_bounded_time(repl: REPL, code: str, reason: str) -> None:
    began = time.monotonic()
    made = reasons(repl, code)
    assert reason in [each for each, _ in made]
    assert time.monotonic() - began < 10
    assert repl.execute_code("1 + 1").error is None


def test_a_remote_session_checks_as_a_local_one_does(repl: REPL) -> None:
    with support.session() as session:
        assert session.execute("kept = [1]", no_host).error is None
        for code in ("result = df[df.x > 1]", "import os\ndf['x'] = eval('1')", "(" * 100_000, "\ud800", "kept = 2"):
            assert session.check_code(code, RULES) == repl.check_code(code, RULES)
        assert session.execute("print(kept)", no_host).stdout == "[1]\n"


def test_a_check_leaves_no_trace() -> None:
    plain = Policy.load({"extends": "standard", "isolation": {"checkpoints": False}})  # none of these cuts the log
    with REPL(LocalEnvironment(), policy=plain) as one, REPL(LocalEnvironment(), policy=plain) as other:
        after: list[Any] = []
        other.session._seed = one.session._seed  # type: ignore[attr-defined]
        for repl in (one, other):
            repl.execute_code("import random\nfiles['a'] = b'1'\nkept = [1]\nfirst = random.random()").check()
            log = [dict(entry.request) for entry in repl.session._log or []]  # type: ignore[attr-defined]
            if repl is other:
                repl.check_code("kept = [2]\nfiles['b'] = b'2'\nfirst = random.random()\nx = 5", RULES)
                repl.check_code("(", RULES)
            assert [dict(entry.request) for entry in repl.session._log or []] == log  # type: ignore[attr-defined]
            shown = "print(kept, files.names(), sorted(name for name in globals() if name[0] != '_'), first, random.random())"
            seen = repl.execute_code(shown).check()
            after.append((seen.stdout, seen.stderr, dict(repl.files)))
        assert after[0] == after[1]


def test_a_check_has_an_answer_where_cells_took_all_memory() -> None:
    small = Policy.load({"extends": "standard", "limits": {"memory_bytes": 256 << 20}})  # it takes seconds to fill more
    with REPL(LocalEnvironment(), policy=small) as repl:
        repl.execute_code("held = []\nwhile True: held.append(bytes(100_000))")
        assert ("missing_result", 0) in reasons(repl, "x = 1")
        assert repl.execute_code("len(held) > 10").error is None


def test_rules_that_are_none_are_an_error_and_the_session_goes_on(repl: REPL) -> None:
    with pytest.raises(CellRefused, match=r"rules are an object with the keys result, table"):
        repl.check_code("1", {})
    with pytest.raises(CellRefused, match="rules.mode is read or edit"):
        repl.check_code("1", {**RULES, "mode": "write"})
    with pytest.raises(TypeError):
        repl.check_code("1", {**RULES, "table": object()})
    assert reasons(repl, "result = 1 if a else 2") == []


def test_findings_that_no_value_may_hold_are_an_error() -> None:
    small = Policy.load({"extends": "standard", "limits": {"value_bytes": 60}})
    with REPL(LocalEnvironment(), policy=small) as repl:
        with pytest.raises(CellException, match=r"limits\.value_bytes is too small"):
            repl.check_code("1", RULES)
        assert repl.check_code("result = a > 1", RULES) == []


def test_a_session_that_checks_nothing_says_so(repl: REPL) -> None:
    with pytest.raises(EnvironmentUnavailable, match="checks no code"):
        Session.check_code(repl.session, "1", RULES)


_LIE = """
import sys
worker = sys.modules['guest.session.worker']
worker.SessionWorker._check = lambda self, request: {{**worker._done(), "value": {value}}}
"""


@pytest.mark.parametrize("value", ["None", "{'type': 'list'}", "{'type': 'list', 'whole': [1]}"])
def test_a_worker_that_answers_with_something_else_loses_its_session(value: str) -> None:
    with open_session(Policy.load("standard"), screen=False) as session:
        assert session.execute(_LIE.format(value=value), no_host).error is None
        with pytest.raises(ProtocolViolation, match="finding"):
            session.check_code("1", RULES)
        with pytest.raises(SessionEnded):
            session.check_code("1", RULES)


GOOD = {"reason": "import", "message": "m", "line": 1}


@pytest.mark.parametrize(
    "value",
    [
        None,
        5,
        "text",
        {},
        (GOOD,),
        [GOOD] * (MAX_FINDINGS + 1),
        [[]],
        [None],
        [{}],
        [{**GOOD, "more": 1}],
        [{**GOOD, "reason": "other"}],
        [{**GOOD, "reason": ["import"]}],
        [{**GOOD, "message": ""}],
        [{**GOOD, "message": b"m"}],
        [{**GOOD, "message": "m" * (MAX_FINDING + 1)}],
        [{**GOOD, "line": -1}],
        [{**GOOD, "line": True}],
        [{**GOOD, "line": 1.0}],
        [{**GOOD, "line": 2**60}],
    ],
)
def test_hostile_findings_are_a_violation(value: Any) -> None:
    with pytest.raises(ProtocolViolation):
        code_findings(Variable("list", whole=(value,)))


def test_findings_are_read_and_their_messages_only_print() -> None:
    assert code_findings(Variable("list", whole=([],))) == []
    said = [{**GOOD, "message": "a\x1b[2J\nb" + "c" * (MAX_FINDING - 7)}] * MAX_FINDINGS
    (first, *rest) = code_findings(Variable("list", whole=(said,)))
    assert len(rest) == MAX_FINDINGS - 1 and first.message.startswith("a\\x1b[2J\\nb")
    for nothing in (None, Variable("list"), Variable("list", size=5)):
        with pytest.raises(ProtocolViolation):
            code_findings(nothing)


def test_findings_that_fit_into_no_result_are_an_error_and_the_session_goes_on() -> None:
    small = Policy.load({"extends": "standard", "limits": {"result_bytes": 4096}})
    code = "\n".join("import " + "\u00e9" * 60 + str(n) for n in range(20))
    with REPL(LocalEnvironment(), policy=small) as repl:
        with pytest.raises(CellException, match=r"limits\.result_bytes is too small"):
            repl.check_code(code, RULES)
        assert repl.execute_code("print(1)").stdout == "1\n"
