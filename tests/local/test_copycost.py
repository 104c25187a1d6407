"""A checkpoint waits until it saves more than the copies of pages that it causes."""

from __future__ import annotations

import logging
import time
from typing import cast

import pytest

from rlm_secure import Sandbox
from rlm_secure.environments.local import copycost
from rlm_secure.environments.local import session as local
from rlm_secure.environments.local.copycost import CopyCost
from rlm_secure.environments.local.session import LocalSession
from rlm_secure.environments.local.worker import Worker
from tests.local.conftest import strict

#: Longest wait for work that is done while a session is idle.
SECONDS = 30.0
BIG = "d = [{'a': i} for i in range(150_000)]"
WALK = "t = 0\nfor each in d: t += 1"


def session_of(box: Sandbox) -> LocalSession:
    return cast(LocalSession, box._repl._session)


def rested(session: LocalSession) -> bool:
    """Whether a checkpoint was taken while the session was idle."""
    until = time.monotonic() + SECONDS
    while session._spare is None and time.monotonic() < until:
        time.sleep(0.02)
    return session._spare is not None


class Counted:
    """A worker that had so many page faults."""

    def __init__(self, faults: int | None) -> None:
        self._faults = faults
        self.looks = 0

    def faults(self) -> int | None:
        self.looks += 1
        return self._faults


def outweighed(cost: CopyCost, log_seconds: float, faults: int | None, *, idle: bool) -> bool:
    return cost.outweighed(log_seconds, cast(Worker, Counted(faults)), idle=idle)


def test_the_log_takes_twenty_times_as_long_as_the_copies() -> None:
    cost = CopyCost()
    assert not outweighed(cost, 0.79, 10_000, idle=True)
    assert cost.needed == pytest.approx(0.8)
    assert outweighed(cost, 0.81, 10_000, idle=True)
    cost.taken(0.01)
    assert cost.needed == 0.0  # of the new worker nothing is known
    assert outweighed(cost, 0.81, 10_000, idle=True)
    assert not outweighed(cost, 0.99, 10_000, idle=False)  # a caller waits for the fork itself as well
    assert outweighed(cost, 1.01, 10_000, idle=False)


def test_a_long_log_is_cut_whatever_a_copy_costs() -> None:
    cost = CopyCost()
    assert not outweighed(cost, copycost._LONGEST_SECONDS - 0.1, 10**9, idle=True)
    assert outweighed(cost, copycost._LONGEST_SECONDS, 10**9, idle=True)
    cost.taken(100.0)
    assert outweighed(cost, 2 * copycost._LONGEST_SECONDS, 10**9, idle=False)


def test_what_the_last_look_rules_out_is_not_looked_at_again() -> None:
    cost, worker = CopyCost(), Counted(10_000)
    cost.taken(0.01)
    for log_seconds, idle, looks in (
        (0.19, False, 0), (0.5, False, 1), (0.79, True, 1), (0.99, False, 1), (0.81, True, 2), (1.01, False, 3),
    ):  # fmt: skip
        cost.outweighed(log_seconds, cast(Worker, worker), idle=idle)
        assert worker.looks == looks, (log_seconds, idle)


def test_where_faults_are_hidden_checkpoints_are_taken() -> None:
    assert outweighed(CopyCost(), 0.0, None, idle=False)


def test_faults_are_those_of_the_worker_since_it_was_forked() -> None:
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        box.run("x = 1").check()
        before = session._worker.faults()
        assert before is not None
        box.run(BIG).check()
        after = session._worker.faults()
        assert after is not None and after - before > 5_000  # 4 KiB each
        assert session.checkpoint()
        forked = session._worker.faults()
        assert forked is not None and forked < after / 2
        box.run(WALK).check()
        copied = session._worker.faults()
        assert copied is not None and copied - forked > 1_000
        session._worker.kill()
        assert session._worker.faults() is None or session._worker.faults() == copied


def test_a_session_that_holds_much_is_copied_less_often_than_one_that_holds_little() -> None:
    with Sandbox(policy=strict()) as small, Sandbox(policy=strict()) as big:
        small.run("d = [1]").check()
        big.run(BIG).check()
        time.sleep(0.2)  # an idle moment
        assert session_of(big)._spare is None
        small.run("for i in range(5_000_000): pass").check()
        assert rested(session_of(small))
        needed = session_of(big)._copy_cost.needed
        assert needed > session_of(big)._log_seconds > 0
        while session_of(big)._log_seconds < needed / 2:
            assert session_of(big)._spare is None
            big.run(WALK).check()
        until = time.monotonic() + SECONDS
        while session_of(big)._spare is None and time.monotonic() < until:
            big.run(WALK).check()
            time.sleep(0.1)
        assert session_of(big)._spare is not None


def test_a_session_without_a_checkpoint_resumes_by_its_log(caplog: pytest.LogCaptureFixture) -> None:
    with Sandbox(policy=strict()) as box:
        session = session_of(box)
        box.run(BIG).check()
        box.run("d[7]['a'] = 'seven'").check()
        assert session._spare is None
        with caplog.at_level(logging.INFO, logger="rlm_secure"):
            session._worker.kill()
            assert box.run("d[7]['a'], len(d)").check().value == ("seven", 150_000)
        assert any("2 requests of" in record.getMessage() for record in caplog.records)


def test_a_log_of_many_entries_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CopyCost, "outweighed", lambda *_, **__: False)
    monkeypatch.setattr(local, "_MOST_ENTRIES", 300)
    with Sandbox(policy=strict(cells=1000)) as box:
        session = session_of(box)
        for _ in range(300):
            box.run("x = 1").check()
        assert session._spare is None
        for _ in range(3):
            box.run("x = 1").check()
        assert rested(session)
