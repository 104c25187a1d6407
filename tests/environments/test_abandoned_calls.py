"""Calls that were left behind and still run: whoever leaves many behind is refused more, and nobody else is."""

from __future__ import annotations

import time
from contextlib import ExitStack
from typing import Any

import pytest

from rlm_secure import Sandbox
from rlm_secure.policy.gate import ABANDONED_OF_OWNER, ABANDONED_OF_PROCESS
from rlm_secure.tools.hostcall import HostCall, abandoned
from tests.environments.test_host_calls import strict
from tests.loops import cell, scripted

#: Says why a call of `{0}` failed.
TRY = "try:\n    print({0}())\nexcept Exception as error:\n    print(error)"


@pytest.fixture(autouse=True)
def none_left_behind() -> None:
    """No call of an earlier test still runs: thousands of threads take a slow machine a while to end."""
    until = time.monotonic() + 60
    while abandoned(None, None)[2] and time.monotonic() < until:
        time.sleep(0.01)
    assert abandoned(None, None)[2] == 0


def box(hang: Any, **limits: Any) -> Sandbox:
    limits = {"tool_seconds": 0.1, "abandoned_calls": 1, **limits}
    return Sandbox(policy=strict(**limits), tools={"hang": hang, "quick": lambda: 1})


def filled(hang: Any, most: int) -> None:
    """As many calls of sessions that have ended are left behind."""
    while abandoned(None, None)[2] < most:
        HostCall(hang, object(), object()).abandon()


@pytest.mark.parametrize("closed", [True, False])
def test_eight_sessions_that_left_calls_behind_refuse_no_other(hang: Any, closed: bool) -> None:
    with ExitStack() as stack:
        for _ in range(9):
            one = stack.enter_context(box(hang))
            assert "was left behind" in one.run("hang()").stderr
            assert "limits.abandoned_calls = 1" in one.run("quick()").stderr
            if closed:
                one.close()
        assert stack.enter_context(box(hang, tool_seconds=10)).run("print(quick())").stdout == "1\n"


def test_where_many_were_left_behind_who_left_none_goes_on(hang: Any) -> None:
    with box(hang, abandoned_calls=2) as first, box(hang, abandoned_calls=2, tool_seconds=10) as second:
        assert "was left behind" in first.run("hang()").stderr
        assert first.run("print(quick())").stdout == "1\n"
        filled(hang, 2 * ABANDONED_OF_PROCESS)
        assert f"{2 * ABANDONED_OF_PROCESS} may" in first.run(TRY.format("quick")).stdout
        assert second.run("print(quick())").stdout == "1\n"
        filled(hang, 4 * ABANDONED_OF_PROCESS)
        said = second.run(TRY.format("quick")).stdout
        assert said.startswith(f"{4 * ABANDONED_OF_PROCESS} calls of all sessions of this process were left behind")


def test_what_the_runs_of_an_rlm_leave_behind_counts_for_its_later_runs_and_for_no_other(hang: Any) -> None:
    policy = strict(tool_seconds=0.1, abandoned_calls=1)
    turn = cell("try:\n    said = hang()\nexcept Exception as error:\n    said = str(error)\nfinal_answer(said)")
    with scripted([turn], policy=policy, custom_tools={"hang": hang}) as rlm:
        said = [rlm.completion("c").response for _ in range(2 * ABANDONED_OF_OWNER + 1)]
    assert all("was left behind" in each for each in said[:-1])
    assert f"{2 * ABANDONED_OF_OWNER} calls of all sessions of this RLM were left behind" in said[-1]
    with scripted([turn], policy=policy, custom_tools={"hang": hang}) as other:
        assert "was left behind" in other.completion("c").response
    with box(hang, tool_seconds=10) as another:
        assert another.run("print(quick())").stdout == "1\n"
