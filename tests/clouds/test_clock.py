"""The run's clock reaches the cells of every provider, whatever they wait for."""

from __future__ import annotations

import time

import pytest

from rlm_secure.errors import TimeoutExceededError
from rlm_secure.policy.model import Policy
from tests.clouds.conftest import Cloud
from tests.loops import cell, scripted

#: Seconds of the run, in which a sandbox starts; and after which nothing of it may still run.
RUN, OVER = 6.0, 25.0


def timed(policy: Policy) -> Policy:
    limits = policy.limits.model_copy(update={"run_seconds": RUN, "cell_seconds": 60.0, "cell_cpu_seconds": 60.0})
    return policy.model_copy(update={"limits": limits})


@pytest.mark.parametrize(
    "turn", [cell("while True:\n    pass"), cell("print(llm_query('q'))")], ids=["computes", "waits for a model"]
)
def test_the_run_ends_a_cell_in_time(cloud: Cloud, turn: str) -> None:
    rlm = scripted(
        ["partial " + turn], lambda _: time.sleep(30) or "late", policy=timed(cloud.policy()), environment=cloud.name,
        environment_kwargs=cloud.options,
    )  # fmt: skip
    began = time.monotonic()
    with pytest.raises(TimeoutExceededError) as caught:
        rlm.completion("c")
    assert time.monotonic() - began < OVER
    assert caught.value.timeout == RUN
