"""Bounded host calls in each provider's sandbox: the tests of tests/environments/test_host_calls.py, with another place under them."""

from __future__ import annotations

import pytest

from rlm_secure import Sandbox
from tests.clouds.conftest import Cloud
from tests.environments.test_forks import forked, refusals
from tests.environments.test_host_calls import (  # noqa: F401 - collected here
    UNHOLDABLE,
    Open,
    Told,
    test_a_caller_may_give_a_cell_time_of_its_own,
    test_a_close_does_not_wait_for_a_tool,
    test_a_policys_time_is_the_cells_own,
    test_a_slow_tool_is_left_behind_and_the_cell_goes_on,
    test_a_thread_that_a_tool_waits_for_is_told_so_too,
    test_a_timeout_is_wall_time_whatever_a_tool_does,
    test_a_tool_that_uses_its_own_sandbox_is_told_so,
    test_an_answer_of_any_host_call_is_json_or_a_failure,
    test_an_interrupt_does_not_wait_for_a_tool,
    test_arguments_are_checked_by_the_tools_signature,
    test_ctrl_c_does_not_wait_for_a_tool,
    test_no_result_of_a_tool_ends_a_session,
    test_run_seconds_bound_every_cell,
    test_tool_calls_are_counted,
    test_what_is_left_behind_is_counted_and_bounded,
)

pytestmark = [
    pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning"),
    pytest.mark.by_turns(1),
]


@pytest.fixture
def opened(cloud: Cloud) -> Open:
    def remote(**options: object) -> Sandbox:
        limits = options.pop("limits", {})
        return cloud.sandbox(policy=cloud.policy(**limits), **options)  # type: ignore[arg-type]

    return remote


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")
def test_every_use_in_a_fork_is_an_error_and_the_fork_ends_nothing(cloud: Cloud) -> None:
    with cloud.sandbox() as box:
        box.run("x = 1").check()
        session = box._repl.session

        def child() -> list[object]:
            found = refusals(box, session)
            from rlm_secure.environments.cloud import lease as _lease

            _lease.close_all()
            return [found, len(cloud.emulator.live)]

        assert forked(child) == [{}, 1]
        assert box.run("print(x)").stdout == "1\n"
