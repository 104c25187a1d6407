"""A session whose worker does what it likes, and the policy that several files change."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from rlm_secure.environments.local.cgroup import CgroupBounds, Group, Parents
from rlm_secure.policy import Policy, load_policy
from rlm_secure.testing import Unscreened, unscreened

#: What a hostile worker is given first: `replace(function)` puts its own in the place of the one that forks.
HOSTILE = """
import gc, json, os, time
[Worker] = {type(found) for found in gc.get_objects() if hasattr(type(found), "_checkpoint")}
[channel] = [found for found in gc.get_objects() if type(found).__name__ == "FrameChannel"]
def replace(function):
    Worker._checkpoint = function
def conclude():
    said = {"op": "done", "stdout": "", "stderr": "", "dropped": 0, "variables": {}, "answer": None, "error": None}
    body = json.dumps({**said, "cpu": 0.0, "peak": 1, "nonce": channel.nonce}).encode()
    os.write(3, len(body).to_bytes(4, "big") + body)
def burn(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end: pass
"""


def strict(*, pool: int = 0, **limits: Any) -> Policy:
    policy = load_policy("strict")
    return policy.model_copy(
        update={
            "limits": policy.limits.model_copy(update=limits),
            "isolation": policy.isolation.model_copy(update={"pool": pool}),
        }
    )


@pytest.fixture
def hostile() -> Iterator[Unscreened]:
    with unscreened(policy=strict()) as box:
        assert box.run(HOSTILE).error is None
        yield box


class Boundless(Group):
    """The cgroup of a session on a machine that has none: everything is in it, and nothing limits it."""

    def __init__(self, bounds: CgroupBounds | None = None) -> None:
        super().__init__(Parents(2, (), "a machine with cgroups"))
        self._bounds = bounds

    def limit(self, bounds: CgroupBounds) -> None:
        self._bounds = bounds

    def out_of_memory(self) -> bool:
        return False

    def cpu_seconds(self) -> None:
        return None

    def kill(self) -> None:
        pass

    def give_back(self) -> None:
        self.remove()
