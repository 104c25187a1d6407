"""The loop's features in containers: the tests of the loop themselves, with another environment under them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import tests.test_loop_features as features
import tests.test_loop_recursion as recursion
from tests.docker.conftest import own
from tests.loops import cell, scripted
from tests.test_loop_features import *  # noqa: F403
from tests.test_loop_recursion import *  # noqa: F403

pytestmark = pytest.mark.slow

#: Tests that say something about the local environment alone, each with the reason.
LEFT_OUT = {
    "test_a_batch_can_be_awaited_and_cancelled": "cancels half a second after the start, when containers are not up",
    "test_a_deep_tree_moves_on_with_any_number_of_places": "starts forty sessions, three times",
    "test_a_tree_goes_down_to_max_depth_and_ends_in_a_plain_model": "names the environment; its like is below",
    "test_a_tree_of_depth_three_makes_exactly_as_many_calls_as_it_may": "starts a hundred sessions, for minutes here",
    "test_no_more_children_run_at_once_than_there_are_places_in_the_whole_tree": "needs leaves that start together",
    "test_nothing_is_left_behind_by_a_tree": "counts local processes; containers are counted in conftest.py",
    "test_sixty_four_prompts_take_less_than_twice_the_ideal": "times a local start",
}
for name in LEFT_OUT:
    del globals()[name]


@pytest.fixture(autouse=True)
def _in_docker(image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def in_docker(*args: Any, **kwargs: Any) -> Any:
        if kwargs.setdefault("environment", "docker") == "docker":
            kwargs.setdefault("environment_kwargs", {"image": image})
        return scripted(*args, **kwargs)

    for module in (features, recursion):
        monkeypatch.setattr(module, "scripted", in_docker)
    yield


def test_a_child_has_a_container_of_its_own_and_only_its_answer_comes_back(image: str, engine: Any) -> None:
    seen: list[int] = []

    def leaf(prompt: str) -> str:
        seen.append(len(own(engine)))
        return f"leaf of {prompt}"

    rlm = scripted(
        [cell("secret = 1\nfinal_answer(rlm_query('go down'))")],
        leaf,
        child_turns=[cell("final_answer('secret' in SHOW_VARS() or llm_query(context))")],
        max_depth=2,
        environment="docker",
        environment_kwargs={"image": image},
    )
    before = len(own(engine))
    assert rlm.completion("x").response == "leaf of go down"
    assert seen == [before + 2]
    assert len(own(engine)) == before
