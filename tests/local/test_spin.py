"""When the host looks for an answer before it sleeps, and when it must not."""

from __future__ import annotations

import os
import select
import time
from collections.abc import Callable
from typing import Any, cast

import pytest

from rlm_secure.environments.local import spin
from rlm_secure.environments.local.spin import Spin


class Answer:
    """Counts looks; something is there from number `at` on."""

    def __init__(self, at: int = 1 << 60, meanwhile: Callable[[], object] = lambda: None) -> None:
        self.looks = 0
        self._at, self._meanwhile = at, meanwhile

    def look(self, _seconds: float) -> list[tuple[int, int]]:
        self.looks += 1
        self._meanwhile()
        return [(0, select.POLLIN)] if self.looks >= self._at else []


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spin, "_readable", lambda answer: answer.look)
    monkeypatch.setattr(spin, "SECONDS", 30.0)  # a busy machine may stop this process for longer than it looks


@pytest.fixture
def two(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0, 1})


def quick() -> Spin:
    made = Spin()
    made.wait(cast(Any, Answer()))
    made.learn(spin.SECONDS / 2)
    return made


def test_a_first_answer_is_not_looked_for() -> None:
    made, answer = Spin(), Answer()
    for _ in range(2):
        assert made.wait(cast(Any, answer)) <= time.monotonic()
    assert answer.looks == 0


@pytest.mark.usefixtures("two")
def test_it_looks_until_there_is_an_answer_or_until_it_is_time_to_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    made, coming = quick(), Answer(at=3)
    made.wait(cast(Any, coming))
    assert coming.looks == 3
    monkeypatch.setattr(spin, "SECONDS", 0.001)
    began = made.wait(cast(Any, Answer()))
    assert time.monotonic() - began >= spin.SECONDS


@pytest.mark.usefixtures("two")
def test_after_a_slow_answer_it_sleeps_at_once_until_a_quick_one_comes() -> None:
    made, answer = quick(), Answer()
    made.learn(spin.SECONDS * 2)
    made.wait(cast(Any, answer))
    assert answer.looks == 0
    made.learn(spin.SECONDS / 2)
    made.wait(cast(Any, there := Answer(at=1)))
    assert there.looks == 1


@pytest.mark.usefixtures("two")
def test_it_stops_looking_when_another_session_is_asked() -> None:
    mine, other = quick(), quick()
    answer = Answer()
    mine.wait(cast(Any, answer))
    assert answer.looks == 0, "the other one was asked last"
    answer = Answer(meanwhile=lambda: other.wait(cast(Any, Answer())))
    mine.wait(cast(Any, answer))
    assert answer.looks == 1


def test_it_sleeps_where_the_worker_needs_the_same_processor(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "sched_getaffinity", lambda _pid: {0})
    made, answer = quick(), Answer()
    made.wait(cast(Any, answer))
    assert answer.looks == 0
