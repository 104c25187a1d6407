"""Each single wall taken away, and each one alone: MATRIX.md says what then gets through, and this measures it."""

from __future__ import annotations

import pytest

from rlm_secure.testing import corpus
from tests.attacks import matrix


@pytest.fixture(scope="module")
def checked(controls) -> list[corpus.Attack]:
    """The rows of the document that mean something on this machine."""
    return [
        attack for attack in matrix.candidates() if controls[attack.name].won and attack.name in matrix.documented()
    ]


@pytest.fixture(scope="module")
def without(checked) -> list[matrix.Row]:
    return matrix.measure(checked, ("without",))


@pytest.fixture(scope="module")
def alone(checked) -> list[matrix.Row]:
    return matrix.measure(checked, ("alone",))


def test_the_document_lists_every_attack_that_does_not_depend_on_the_machine():
    candidates = {attack.name: attack for attack in matrix.candidates()}
    documented = set(matrix.documented())
    assert documented <= candidates.keys()
    missing = candidates.keys() - documented
    assert {name for name in missing if candidates[name].excuse is not corpus.Excuse.MACHINE} == set()


@pytest.mark.exhaustive
def test_with_all_walls_nothing_gets_through(without):
    assert [row.attack.name for row in without if "nothing" in row.without] == []


@pytest.mark.exhaustive
def test_what_only_one_wall_catches_is_what_the_document_says(without):
    documented = matrix.documented()
    found = {row.attack.name: sorted(row.without) for row in without}
    assert found == {name: sorted(documented[name][0]) for name in found}


@pytest.mark.exhaustive
@pytest.mark.root
def test_what_each_wall_catches_alone_is_what_the_document_says(alone):
    documented = matrix.documented()
    found = {row.attack.name: sorted(row.alone) for row in alone}
    assert found == {name: sorted(documented[name][1]) for name in found}


def test_every_wall_catches_something_alone():
    documented = matrix.documented()
    nothing_alone = max(len([1 for _, alone in documented.values() if wall in alone]) for wall in matrix.WALLS)
    for wall in matrix.WALLS:
        assert sum(wall not in alone for _, alone in documented.values()) > 0, wall
    assert nothing_alone < len(documented)


def test_every_wall_that_stands_alone_has_a_reason():
    single = {wall for walls, _ in matrix.documented().values() for wall in walls}
    assert single == set(matrix.REASONS)
