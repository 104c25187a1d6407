"""Bounded host calls in containers: the tests of tests/environments/test_host_calls.py, with another place under them."""

from __future__ import annotations

import pytest

from rlm_secure import Sandbox
from rlm_secure.environments import docker
from tests.docker.conftest import own, tightened
from tests.environments.test_forks import forked, refusals
from tests.environments.test_host_calls import *  # noqa: F403
from tests.environments.test_host_calls import Open

#: Tests that start local sandboxes or processes of their own.
for name in (
    "test_a_result_that_cannot_be_held_fails_in_the_cell_and_nowhere_else",  # one after the other in one session: test_no_result_of_a_tool_ends_a_session
    "test_a_sandbox_in_a_tool_of_another_may_not_go_back_to_it",
    "test_a_timeout_is_wall_time_whatever_a_model_does",
    "test_the_limits_of_tools_hold_in_a_run",
    "test_a_tool_has_no_more_time_than_its_run",
    "test_a_tool_may_start_what_uses_the_sandbox_later",
    "test_a_tool_of_a_persistent_run_may_not_use_its_session",
    "test_a_tool_that_never_ends_does_not_keep_the_process",
    "test_refusals_are_written_into_the_audit_log",
    "test_threads_that_are_no_tools_take_turns",
    "test_what_refuses_a_call_says_so_and_what_serves_one_gives_its_time",
    "test_a_refusal_of_a_child_is_not_its_parents",
):
    del globals()[name]


@pytest.fixture
def opened(image: str) -> Open:
    def contained(**options: object) -> Sandbox:
        limits = options.pop("limits", {})
        made = {"environment": "docker", "environment_kwargs": {"image": image}}
        return Sandbox(policy=tightened(**limits), **made, **options)  # type: ignore[arg-type]

    return contained


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_every_use_in_a_fork_is_an_error_and_the_fork_ends_nothing(opened: Open, engine: object) -> None:
    with opened() as box:
        box.run("x = 1").check()
        session = box._repl.session

        def child() -> dict[str, str]:
            found = refusals(box, session)
            docker._close_all()  # what runs at its exit
            return found

        before = own(engine)
        assert forked(child) == {}
        assert own(engine) == before
        assert box.run("print(x)").stdout == "1\n"
