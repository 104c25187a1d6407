"""The run's clock reaches the cells of every provider, whatever they wait for."""

from __future__ import annotations

import threading
import time

import pytest

from rlm_secure.errors import TimeoutExceededError
from rlm_secure.policy.model import Policy
from tests.clouds.conftest import Cloud
from tests.loops import cell, scripted

#: Seconds of the run, in which a sandbox starts; after which nothing of it may still run, on the busiest machine; and
#: of a cell, or of a model, that nothing ends.
RUN, OVER, ENDLESS = 6.0, 100.0, 300.0


def timed(policy: Policy) -> Policy:
    limits = policy.limits.model_copy(update={"run_seconds": RUN, "cell_seconds": ENDLESS, "cell_cpu_seconds": ENDLESS})
    return policy.model_copy(update={"limits": limits})


#: A processor is taken at one provider, and time alone at the others: what stops a cell is the same program in all.
BUSY, SLEEPS, ASKS = "while True:\n    pass", "import time\nwhile True:\n    time.sleep(1)", "print(llm_query('q'))"


@pytest.mark.parametrize("waits", [False, True], ids=["by itself", "for a model"])
def test_the_run_ends_a_cell_in_time(cloud: Cloud, waits: bool) -> None:
    turn = cell(ASKS if waits else BUSY if cloud.name == "e2b" else SLEEPS)
    answered = threading.Event()
    rlm = scripted(
        ["partial " + turn], lambda _: str(answered.wait(ENDLESS)), policy=timed(cloud.policy()), environment=cloud.name,
        environment_kwargs=cloud.options,
    )  # fmt: skip
    began = time.monotonic()
    try:
        with pytest.raises(TimeoutExceededError) as caught:
            rlm.completion("c")
    finally:
        answered.set()
    assert time.monotonic() - began < OVER
    assert caught.value.timeout == RUN
