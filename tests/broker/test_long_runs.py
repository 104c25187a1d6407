"""Sessions that load contexts all day: what a supervisor, its host and the sandbox hold for them does not grow.

A part of each run comes first, which fills what is kept: allocators, buffers, the log. What comes after it adds nothing.
"""

from __future__ import annotations

import gc
import resource
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

from rlm_secure.environments.docker import container
from rlm_secure.environments.remote import RemoteSession
from rlm_secure.environments.request_log import LOG_ATTACHMENTS
from rlm_secure.guest.supervisor.uploads import MAX_UPLOADS
from tests.broker.support import ProcessLease, policy, session

#: More than a container has descriptors, and than a log may have contexts; what a day may have.
SOME, MANY = 400, 2000
COUNTS = [SOME, pytest.param(MANY, marks=pytest.mark.exhaustive)]
#: Bytes that one process may have more at the end than after the first part: pages that an allocator keeps for later.
SLACK = 6 << 20


class CountedLease(ProcessLease):
    """A lease that keeps what room was made, as a container would have it."""

    room = 0

    def make_room(self, size: int) -> None:
        self.room = max(self.room, size)


@pytest.fixture(params=[True, False], ids=["resumable", "not resumable"])
def opened(request: pytest.FixtureRequest) -> Iterator[RemoteSession]:
    loaded = policy(cells=100_000)
    isolation = loaded.isolation.model_copy(update={"checkpoints": request.param})
    with session(loaded.model_copy(update={"isolation": isolation}), CountedLease) as made:
        resource.prlimit(made.lease.process.pid, resource.RLIMIT_NOFILE, (container.OPEN_FILES, container.OPEN_FILES))
        yield made


def held(one: Any) -> tuple[int, int, int]:
    """Resident bytes of supervisor and host, and bytes of room for contexts."""
    gc.collect()
    return psutil.Process(one.lease.process.pid).memory_info().rss, psutil.Process().memory_info().rss, one.lease.room


@pytest.mark.parametrize("count", COUNTS)
@pytest.mark.parametrize("same_name", [True, False], ids=["history, again and again", "contexts of their own names"])
def test_contexts_without_an_end_leave_nothing_behind(opened: RemoteSession, count: int, same_name: bool) -> None:
    before = None
    most = 0
    for number in range(count):
        name = "history" if same_name else f"context_{number}"
        opened.load_context(name, f"{number} " + "turn " * 500)
        most = max(most, len(opened._contexts._held))
        if number % 100 == 99:
            assert opened.execute(f"print({name}[:9].split()[0])", None).stdout == f"{number}\n"
        if number == count // 4:
            before = held(opened)
    after = held(opened)
    assert before is not None
    assert after[0] - before[0] < SLACK, "the supervisor grew"
    assert after[1] - before[1] < SLACK, "the host grew"
    assert most <= LOG_ATTACHMENTS + 1 < MAX_UPLOADS
    # A name that is bound again takes the room of what it had: what a log keeps, and two of them.
    assert after[2] <= (4096 * (LOG_ATTACHMENTS + 3) if same_name else 4096 * (count + 1))
    assert opened.execute("print('still here')", None).stdout == "still here\n"
    assert opened.lease.refusals == []
