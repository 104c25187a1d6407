"""Every known bypass, with the language layer alone: refused or contained, and its control wins without it."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.guarantees import Guarantee

from . import corpus

ROOT = Path(__file__).parents[2]
ATTACKS = corpus.every()


class Arena:
    """The process that runs attacks. One at a time."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-W", "ignore", str(Path(__file__).with_name("arena.py"))],
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._lock = threading.Lock()

    def fight(self, source: str, *, wall: bool, damage: str | None) -> dict[str, Any]:
        assert self._process.stdin and self._process.stdout
        with self._lock:
            self._process.stdin.write(json.dumps({"source": source, "wall": wall, "damage": damage}) + "\n")
            self._process.stdin.flush()
            answer: dict[str, Any] = json.loads(self._process.stdout.readline())
        return answer

    def close(self) -> None:
        self._process.communicate(timeout=30)


@pytest.fixture(scope="module")
def arena() -> Iterator[Arena]:
    made = Arena()
    yield made
    made.close()


@pytest.mark.attack
@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.id for attack in ATTACKS])
def test_the_wall_holds(arena: Arena, attack: corpus.Attack) -> None:
    answer = arena.fight(attack.source, wall=True, damage=attack.damage)
    assert not answer["won"], answer["how"]
    assert answer["how"] != "died or hung"


@pytest.mark.attack
@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.id for attack in ATTACKS])
def test_the_attack_wins_without_the_wall(arena: Arena, attack: corpus.Attack) -> None:
    answer = arena.fight(attack.control, wall=False, damage=attack.damage)
    assert answer["won"], answer["how"]


def test_the_corpus_is_large_and_each_file_says_what_it_is() -> None:
    assert len(ATTACKS) >= 150
    assert len({attack.source for attack in ATTACKS}) == len(ATTACKS)
    for file in corpus.files():
        text = (corpus.FOLDER / f"{file}.py").read_text()
        assert text.startswith('"""'), file
    assert {attack.guarantee for attack in ATTACKS} <= set(Guarantee)


def test_the_arena_tells_winning_from_losing(arena: Arena) -> None:
    assert arena.fight("LOOT = CANARY", wall=True, damage=None) == {"won": True, "how": "holds the canary"}
    assert arena.fight("LOOT = 1", wall=False, damage=None) == {"won": False, "how": "ran to its end"}
    assert arena.fight("import os", wall=True, damage=None)["how"].startswith("ModuleRefused")
    assert arena.fight("x = 1", wall=False, damage="True")["how"] == "damage: True"
    assert arena.fight("x = (", wall=True, damage=None)["how"] == "refused: syntax"
