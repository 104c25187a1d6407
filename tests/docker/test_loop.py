"""What the loop does, in containers: the tests of the loop themselves, with another environment under them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import tests.rlm.test_completions as completions
import tests.rlm.test_recursion as recursion
from rlm_secure.errors import TimeoutExceededError
from rlm_secure.policy import Policy
from tests.docker.conftest import own
from tests.loops import cell, scripted
from tests.rlm.test_completions import *  # noqa: F403
from tests.rlm.test_recursion import *  # noqa: F403

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
    "test_what_compaction_removes_and_its_summary_are_sent_together": "looks at what a local session is sent",
}
for name in LEFT_OUT:
    del globals()[name]

#: Tests in which the place where cells run has the largest part; the others, which are more about the loop, are
#: exhaustive here (conftest.py).
ALWAYS = {
    "test_a_child_has_a_container_of_its_own_and_only_its_answer_comes_back",
    "test_a_child_runs_cells_of_its_own_over_its_prompt",
    "test_a_batch_answers_in_order_with_errors_in_their_place",
    "test_a_failing_child_is_an_error_string_of_upstreams",
    "test_a_persistent_session_that_was_lost_is_replaced",
    "test_calls_beyond_the_limit_are_error_strings_and_then_the_exception",
    "test_children_of_a_batch_answer_in_order",
    "test_closing_ends_the_persistent_session_and_the_next_completion_starts_anew",
    "test_leaving_a_stream_early_ends_its_run",
    "test_output_of_parallel_children_stays_apart",
    "test_sub_tools_are_the_parents_unless_others_are_given",
    "test_the_history_holds_the_final_turn_and_is_a_copy",
    "test_threads_of_a_persistent_rlm_take_turns",
    "test_variables_contexts_and_histories_last_between_completions",
    "test_what_children_spend_ends_the_parents_run",
}


@pytest.fixture(autouse=True)
def _in_docker(image: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    def in_docker(*args: Any, **kwargs: Any) -> Any:
        if kwargs.setdefault("environment", "docker") == "docker":
            kwargs.setdefault("environment_kwargs", {"image": image})
        return scripted(*args, **kwargs)

    for module in (completions, recursion):
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


def test_the_run_ends_a_cell_in_time(image: str, engine: Any) -> None:
    limits = {"run_seconds": 8.0, "cell_seconds": 60.0, "cell_cpu_seconds": 60.0}
    rlm = scripted(
        [cell("while True:\n    pass")],
        policy=Policy.model_validate({"name": "t", "limits": limits}),
        environment="docker",
        environment_kwargs={"image": image},
    )
    began = time.monotonic()
    with pytest.raises(TimeoutExceededError):
        rlm.completion("x")
    assert time.monotonic() - began < 20
