"""Every known bypass once more, in cells that have imported numpy, pandas and matplotlib.

For every push it is each third, and those that the packages themselves were.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.share import share

from . import corpus
from .test_bypasses import ATTACKS, Arena

THEIRS = tuple(corpus.load("gadget_packages"))
SOME = (*share([attack for attack in ATTACKS if attack not in THEIRS], 3), *THEIRS)


@pytest.fixture(scope="module")
def packages() -> Iterator[Arena]:
    made = Arena("packages")
    yield made
    made.close()


@pytest.mark.attack
@pytest.mark.parametrize("attack", SOME, ids=[attack.id for attack in SOME])
def test_the_wall_holds_beside_packages(packages: Arena, attack: corpus.Attack) -> None:
    answer = packages.fight(attack.source, attack.damage)
    assert not answer["won"], answer["how"]
    assert answer["how"] != "died or hung"


def test_the_arena_has_the_packages_and_tells_winning_from_losing(packages: Arena) -> None:
    assert packages.fight("assert pd.DataFrame({'x': [1, 2]}).x.sum() == 3 == np.add(1, 2)")["how"] == "ran to its end"
    assert packages.fight("LOOT = CANARY") == {"won": True, "how": "holds the canary"}
    assert packages.fight("LOOT = 1") == {"won": False, "how": "ran to its end"}
