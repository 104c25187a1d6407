"""Contexts and compactions without an end in one container: nothing of it grows, by either way into it.

A part of each run comes first, which fills what is kept: allocators, buffers, the log. What comes after it adds nothing.
"""

from __future__ import annotations

import gc
from typing import Any

import psutil
import pytest

from rlm_secure.environments.docker import DockerEnvironment, Wanted, container
from rlm_secure.environments.request_log import LOG_ATTACHMENTS
from tests.docker.conftest import tightened

#: More than a container has descriptors, and than a log may have contexts; what a day may have.
SOME, MANY = 300, 2000
assert SOME > container.OPEN_FILES > LOG_ATTACHMENTS

#: Run for every push: the way that most have. The rest is exhaustive (conftest.py).
ALWAYS = {"test_more_compactions_than_descriptors_leave_nothing_behind"}
#: Bytes that a process may have more at the end than after the first part: pages that an allocator keeps for later.
SLACK = 6 << 20


def held(engine: Any, session: Any) -> dict[str, int]:
    """Resident bytes of supervisor and host, and the memory limit of the container as its engine has it."""
    gc.collect()
    rows = engine.api.top(session._lease._id, ps_args="-o pid,rss,args")["Processes"]
    (supervisor,) = (int(rss) << 10 for _, rss, command in rows if command.startswith("python3") and "supervise" in command)
    limit = engine.api.inspect_container(session._lease._id)["HostConfig"]["Memory"]
    return {"supervisor": supervisor, "host": psutil.Process().memory_info().rss, "limit": limit}


def run(engine: Any, image: str, transport: Wanted, count: int, name: str) -> dict[str, int]:
    """Load so many contexts; returns by how much each measure grew after a quarter of them."""
    before = None
    with DockerEnvironment(image=image, transport=transport).session(tightened(cells=100_000)) as session:
        for number in range(count):
            bound = name.format(number)
            session.load_context(bound, f"{number} " + "turn " * 500)
            if number % 100 == 99:
                assert session.execute(f"print({bound}[:9].split()[0])", None).stdout == f"{number}\n"
            if number == count // 4:
                before = held(engine, session)
        after = held(engine, session)
        assert session.execute("print('still here')", None).stdout == "still here\n"
        assert session._client.refused == 0
    assert before is not None
    return {what: after[what] - before[what] for what in after}


def flat(grown: dict[str, int]) -> None:
    assert grown["supervisor"] < SLACK and grown["host"] < SLACK, grown
    assert grown["limit"] == 0, grown


def test_more_compactions_than_descriptors_leave_nothing_behind(engine, image) -> None:
    flat(run(engine, image, "unix", SOME, "history"))


@pytest.mark.parametrize("transport", ["unix", "exec"])
@pytest.mark.parametrize("name", ["history", "context_{}"])
def test_thousands_of_contexts_leave_nothing_behind(engine, image, transport: Wanted, name: str) -> None:
    flat(run(engine, image, transport, MANY, name))
