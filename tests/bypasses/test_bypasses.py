"""Every known bypass, with the language layer alone: refused or contained, and its control wins without it."""

from __future__ import annotations

import contextlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.guarantees import Guarantee

from . import corpus

ROOT = Path(__file__).parents[2]
ATTACKS = corpus.every()
#: So many other processes may show that a control wins which died in the first one.
_CONTROLS = 3


class Arena:
    """A process that runs attacks, one at a time, as "cell" or as "plain" Python."""

    def __init__(self, kind: str) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(Path(__file__).with_name("arena.py")), kind],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def fight(self, source: str, damage: str | None = None) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        self._process.stdin.write(json.dumps({"source": source, "damage": damage}) + "\n")
        self._process.stdin.flush()
        answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate(timeout=90)


@pytest.fixture(scope="module")
def cell() -> Iterator[Arena]:
    made = Arena("cell")
    yield made
    made.close()


@pytest.fixture(scope="module")
def plain() -> Iterator[Arena]:
    made = Arena("plain")
    yield made
    made.close()


@pytest.mark.attack
@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.id for attack in ATTACKS])
def test_the_wall_holds(cell: Arena, attack: corpus.Attack) -> None:
    answer = cell.fight(attack.source, attack.damage)
    assert not answer["won"], answer["how"]
    assert answer["how"] != "died or hung"


@pytest.mark.attack
@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.id for attack in ATTACKS])
def test_the_attack_wins_without_the_wall(plain: Arena, attack: corpus.Attack) -> None:
    """Once is enough. What reads freed memory may meet another object there, in every fork of the same process."""
    answer = plain.fight(attack.control, attack.damage)
    for _ in range(_CONTROLS):
        if answer["how"] != "died or hung":
            break
        with contextlib.closing(Arena("plain")) as another:
            answer = another.fight(attack.control, attack.damage)
    assert answer["won"], answer["how"]


def test_the_corpus_is_large_and_each_file_says_what_it_is() -> None:
    assert len(ATTACKS) >= 150
    assert len({attack.source for attack in ATTACKS}) == len(ATTACKS)
    for file in corpus.files():
        text = (corpus.FOLDER / f"{file}.py").read_text()
        assert text.startswith('"""'), file
    assert {attack.guarantee for attack in ATTACKS} <= set(Guarantee)


def test_the_arenas_tell_winning_from_losing(cell: Arena, plain: Arena) -> None:
    for arena in (cell, plain):
        assert arena.fight("LOOT = CANARY") == {"won": True, "how": "holds the canary"}
        assert arena.fight("LOOT = 1") == {"won": False, "how": "ran to its end"}
        assert arena.fight("x = 1", "True")["how"] == "damage: True"
    assert cell.fight("import subprocess")["how"].startswith("ModuleNotFoundError")
    assert cell.fight("x = (")["how"] == "refused: syntax"
    assert plain.fight("import os; LOOT = os")["how"] == "is a module"
