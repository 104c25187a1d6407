"""Batches and children over a provider's sandboxes: how many, who gets which, and what the next one finds there."""

from __future__ import annotations

import asyncio
import os
import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.environments import quota as _quota
from rlm_secure.environments.cloud import lease as _lease
from rlm_secure.environments.cloud.e2b import E2BEnvironment
from rlm_secure.environments.quota import SandboxQuota, SharedSandboxes, Use, _quotas
from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import CancellationError, CellCrashed, EnvironmentUnavailable, WallViolation
from rlm_secure.events import CellCompleted, ModelCalled, SandboxTaken
from rlm_secure.policy import Policy
from rlm_secure.rlm.rlm import RLM
from tests.clouds.conftest import Cloud, limits
from tests.emulators.base import Sandbox
from tests.loops import Heard, cell, limited, scripted

pytestmark = [
    pytest.mark.usefixtures("quick"),
    pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning"),
]

ANSWER = cell("final_answer(context + llm_query('q'))")


#: What the provider has no part in.
any_provider = pytest.mark.parametrize("cloud", ["e2b"], indirect=True)


def over(cloud: Cloud, turns: Any, replies: Any = None, *, options: dict[str, Any] | None = None, **rest: Any) -> RLM:
    kwargs = {**cloud.options, **(options or {})}
    return scripted(turns, replies, environment=cloud.name, environment_kwargs=kwargs, **rest)


def no_calls(call: object) -> None:
    return None


class Together:
    """Sessions as the runs of one tree open them."""

    def __init__(self, cloud: Cloud, shared: SharedSandboxes, **options: Any) -> None:
        self._cloud = cloud
        self._shared = shared
        self._options = {**cloud.options, **options}

    def session(self, policy: Policy | None = None, **options: Any) -> Any:
        environment: Any = create_environment(self._cloud.name, **self._options)
        environment.share(self._shared.reserve(below=0), self._options)
        return environment.session(policy or limits(), **options)


@contextmanager
def together(cloud: Cloud, **options: Any) -> Iterator[Together]:
    shared = SharedSandboxes(lambda: None)
    try:
        yield Together(cloud, shared, **options)
    finally:
        shared.close()


# -- how many --------------------------------------------------------------------------------------------


@pytest.mark.by_turns(2)
def test_a_batch_spreads_over_as_many_sandboxes_as_it_may_and_uses_them_again(cloud: Cloud) -> None:
    heard, done = Heard(), []
    rlm = over(cloud, lambda messages: ANSWER, lambda _: "r", options={"max_live": 2}, on_event=heard)
    items = rlm.batch(list("abcdefgh"), concurrency=4, on_progress=lambda *counts: done.append(counts))
    assert [item.response for item in items] == [f"{each}r" for each in "abcdefgh"]
    assert len(cloud.emulator.made) == 2, "so that no third one ever lived"
    assert sorted(done) == [(number, 8) for number in range(1, 9)]
    taken = heard.of(SandboxTaken)
    assert len(taken) == 8 and sum(event.reused for event in taken) == 6
    assert len({event.sandbox for event in taken}) == 2
    assert len(heard.of(ModelCalled)) == 16


@any_provider
def test_a_batch_has_one_budget(cloud: Cloud) -> None:
    rlm = over(cloud, lambda messages: ANSWER, lambda _: "r", policy=limited(calls=7), options={"max_live": 1})
    items = rlm.batch(list("abcdef"), concurrency=2)
    # Each answer takes two calls of the seven that all have together.
    assert sum(item.error is None and item.response.endswith("r") for item in items) == 3
    assert len(cloud.emulator.made) == 1


@any_provider
def test_a_tree_does_not_wait_for_itself(cloud: Cloud) -> None:
    turns = [cell("final_answer(context + rlm_query('child'))")]
    rlm = over(cloud, lambda messages: turns[0], child_turns=[cell("final_answer(context)")], max_depth=2,
               options={"max_live": 2})  # fmt: skip
    items = rlm.batch(["a", "b", "c"], concurrency=3)
    assert [item.response for item in items] == ["achild", "bchild", "cchild"]
    assert len(cloud.emulator.made) == 2


@any_provider
def test_each_run_may_have_a_sandbox_of_its_own(cloud: Cloud) -> None:
    rlm = over(cloud, lambda messages: ANSWER, lambda _: "r", options={"max_live": 1, "reuse": False})
    assert [item.response for item in rlm.batch(["a", "b"], concurrency=2)] == ["ar", "br"]
    assert len(cloud.emulator.made) == 2


@any_provider
def test_what_waits_makes_room_for_another_policy(cloud: Cloud) -> None:
    with together(cloud, max_live=1) as runs:
        runs.session().close()
        (waits,) = cloud.emulator.live
        with cloud.environment(max_live=1).session(limits(start_seconds=20)) as other:
            assert other.report.details["reused"] is False
            assert cloud.emulator.live != [waits]
        runs.session().close()
        with runs.session(limits(cells=7)) as third:
            assert third.report.details["reused"] is False, "another policy is another use"
    assert len(cloud.emulator.made) == 4


def taken(name: str) -> int:
    """How many sandboxes of an environment live, of all accounts."""
    return sum(quota._taken for (of, _), quota in _quotas.items() if of == name)


@any_provider
def test_an_environment_that_extends_one_of_ours_has_a_count_of_its_own(cloud: Cloud) -> None:
    class Mine(E2BEnvironment):
        """Ours, under the name that another distribution gives it."""

        name = "mine"

    for _ in range(2):
        with Mine(**cloud.options, max_live=1).session(limits(start_seconds=10)):
            assert taken("mine") == 1 and taken("e2b") == 0
        assert taken("mine") == taken("e2b") == 0


# -- what the next one finds -----------------------------------------------------------------------------


def mapped(box: Sandbox) -> list[str]:
    """The contexts that processes of a sandbox hold."""
    found = []
    for pid in box.left():
        for entry in Path(f"/proc/{pid}/fd").iterdir():
            try:
                target = os.readlink(entry)
            except OSError:
                continue
            found += [target] if "memfd:context" in target else []
    return found


DRAW = "import random, statistics\nprint(random.random())\nprint(statistics.NormalDist().samples(2))"


@pytest.mark.by_turns(2)
def test_nothing_of_a_session_is_found_by_the_next(cloud: Cloud) -> None:
    cloud.emulator.memory_mb = cloud.emulator.memory = 1024
    policy = limits(memory_bytes=760 << 20)
    modules = (*policy.language.modules, "random")
    policy = policy.model_copy(update={"language": policy.language.model_copy(update={"modules": modules})})
    with together(cloud) as runs:
        with runs.session(policy, tools={"secret_tool": ""}) as session:
            (box,) = cloud.emulator.live
            files = sorted(box.home.rglob("*"))
            session.load_context("context_0", "a secret " * 600_000)  # of the 8 MB that are left
            session.execute("kept = context_0[:8]; import json; json.mark = kept", no_calls)
            drawn = session.execute(DRAW, no_calls).stdout.splitlines()
            assert mapped(box), "the supervisor holds it"
            first = session.report.details
        assert cloud.emulator.live == [box] and not mapped(box)
        with runs.session(policy) as session:
            assert session.report.details["sandbox"] == first["sandbox"] and session.report.details["reused"]
            again = session.execute(DRAW, no_calls).stdout.splitlines()
            assert len({*drawn, *again}) == 4, "both workers are forks of one process"
            for name in ("kept", "context_0", "secret_tool", "json.mark"):
                assert "secret" not in session.execute(f"print({name})", no_calls).stdout
                assert session.execute(f"{name}", no_calls).error is not None
            assert session.read_text("context_0") is None
            session.load_context("context_0", "b" * 5_000_000)  # the room of the first is free again
            assert session.execute("print(len(context_0), set(context_0))", no_calls).stdout == "5000000 {'b'}\n"
            assert sorted(box.home.rglob("*")) == files
    assert len(cloud.emulator.made) == 1


# -- who gets none ---------------------------------------------------------------------------------------


def crash(session: Any) -> None:
    assert session.execute("sum(range(10**12))", no_calls, seconds=0.2).resumed


def violate(session: Any) -> None:
    result = session.execute("import os\nos.fork()", no_calls)
    assert isinstance(result.error, WallViolation), result


def be_refused(session: Any) -> None:
    session._client._refused = 1  # as its broker says when a stranger speaks to it


def grow_old(session: Any) -> None:
    session._lease._kept_until = time.monotonic()


def be_closed_inside(session: Any) -> None:
    closing = threading.Thread(target=session.close)
    result = session.execute("tick()", lambda call: closing.start() or closing.join(10))
    assert result.error is not None and result.error.session_ended
    closing.join(10)


def lie_about_the_end(session: Any) -> None:
    session._client.end = lambda **_: session._client._request("DELETE", "/nothing", seconds=5)


@any_provider
@pytest.mark.parametrize("how", [crash, violate, be_refused, grow_old, be_closed_inside, lie_about_the_end])
def test_a_sandbox_in_which_something_was_out_of_order_ends(cloud: Cloud, how: Callable[[Any], None]) -> None:
    with together(cloud) as runs:
        session = runs.session(tools={"tick": ""}, screen=how is not violate)
        how(session)
        session.close()
        assert cloud.emulator.live == []


@any_provider
def test_a_sandbox_that_grows_old_while_it_waits_ends(cloud: Cloud) -> None:
    with together(cloud) as runs:
        with runs.session() as session:
            lease = session._lease
        lease._kept_until = time.monotonic()
        with runs.session() as session:
            assert session.report.details["reused"] is False and len(cloud.emulator.live) == 1


@any_provider
def test_no_tree_gets_the_sandbox_of_another(cloud: Cloud) -> None:
    with together(cloud) as first, together(cloud) as second:
        first.session().close()
        with second.session() as session:
            assert session.report.details["reused"] is False
    with together(cloud) as runs:
        kept = runs.session()
    kept.close()  # after its tree
    assert cloud.emulator.live == []


@any_provider
def test_what_waits_ends_with_the_process(cloud: Cloud) -> None:
    with together(cloud) as runs:
        runs.session().close()
        assert len(cloud.emulator.live) == 1
        _lease.close_all()
        assert cloud.emulator.live == []
        with runs.session() as session:
            assert session.report.details["reused"] is False


# -- what goes wrong -------------------------------------------------------------------------------------


@pytest.mark.by_turns(2)
def test_a_sandbox_that_vanishes_under_a_run_or_while_it_waits_is_replaced(cloud: Cloud) -> None:
    heard, asked = Heard(), []

    def reply(prompt: str) -> str:
        asked.append(prompt)
        if len(asked) == 1:
            cloud.emulator.vanish(cloud.emulator.live[0].name)  # under the cell that asks
        return "r"

    def forget(done: int, _: int) -> None:
        if done == 2:
            cloud.emulator.vanish(cloud.emulator.live[0].name)  # between two runs

    rlm = over(cloud, lambda messages: ANSWER, reply, options={"max_live": 1}, on_event=heard)
    items = rlm.batch(["a", "b", "c", "d"], concurrency=1, on_progress=forget)
    assert [item.response for item in items] == ["ar", "br", "cr", "dr"]
    crashed = [event for event in heard.of(CellCompleted) if isinstance(event.block.result.error, CellCrashed)]
    assert crashed, "the model is told; nothing that a cell did is done twice unasked"
    assert len(cloud.emulator.made) == 3


@pytest.mark.by_turns(5)
@pytest.mark.parametrize(
    "fault",
    [{"status": 429}, {"status": 500, "after": True}, {"slow": 0.5}, {"hang": True}],
    ids=["429", "500 after creation", "slow", "no answer after creation"],
)
def test_a_fault_of_creation_costs_a_batch_no_answer_and_leaves_nothing(cloud: Cloud, fault: dict[str, Any]) -> None:
    cloud.emulator.fail(cloud.wire.create, **fault)
    options = {"max_live": 1, "create_seconds": 1.5 if "hang" in fault else 60.0}
    items = over(cloud, lambda messages: ANSWER, lambda _: "r", options=options).batch(["a", "b"], concurrency=2)
    assert [item.response for item in items] == ["ar", "br"]


@pytest.mark.by_turns(1)
def test_every_item_of_a_batch_is_answered_whatever_its_provider_does(cloud: Cloud) -> None:
    """A rate limit, a quota below max_live, errors of its servers, and sandboxes that vanish."""
    answered: list[str] = []
    busy_until = time.monotonic() + 2.0
    emulator = cloud.emulator
    emulator.fail(cloud.wire.create, status=429, times=10**6, when=lambda: time.monotonic() < busy_until)
    emulator.fail(cloud.wire.create, status=429, times=10**6, when=lambda: len(emulator.live) >= 3)
    emulator.fail(cloud.wire.create, status=500, times=3)
    emulator.fail(cloud.wire.create, status=500, after=True, times=1)

    def vanish(done: int, _: int) -> None:
        if done in (8, 24, 40) and emulator.live:
            emulator.vanish(emulator.live[0].name)

    def reply(prompt: str) -> str:
        answered.append(prompt)
        return "r"

    names = [f"n{number}" for number in range(64)]
    turn = cell("final_answer(context + llm_query('of ' + context))")
    items = over(cloud, lambda messages: turn, reply, options={"max_live": 8}).batch(
        names, concurrency=8, on_progress=vanish
    )
    assert [item.response if item.error is None else item.error for item in items] == [f"{name}r" for name in names]
    # What was asked when its sandbox vanished may have to be asked again; nothing else is.
    assert {*answered} == {f"of {name}" for name in names} and len(answered) <= 64 + 3
    assert len(emulator.recorded(cloud.wire.create)) < 3 * 64, "Prime's SDK asks three times each time"


def test_no_provider_is_asked_before_the_time_that_it_says() -> None:
    quota: SandboxQuota[Any] = SandboxQuota("e2b")
    assert quota.take(8, 1.0) is None
    quota.give_back()
    quota.refused("rate limit", 0.6, time.monotonic())
    began = time.monotonic()
    assert quota.take(8, 0.1, create_seconds=5.0) is None
    assert 0.6 <= time.monotonic() - began < 2.0
    quota.made()
    assert quota.take(8, 0.1) is None, "it gave one, so it is asked for another"


def test_what_takes_the_place_of_another_shortens_no_pause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A provider whose quota is full says so less and less often, however many sandboxes of it end meanwhile."""
    monkeypatch.setattr(_quota, "_FIRST_PAUSE", 0.5)
    quota: SandboxQuota[Any] = SandboxQuota("e2b")
    asked = []
    for _ in range(3):
        assert quota.take(8, 0.1) is None
        quota.made()
    for _ in range(3):
        began = time.monotonic()
        assert quota.take(8, 0.1, create_seconds=20.0) is None, "one more"
        asked.append(time.monotonic() - began)
        quota.give_back()
        quota.refused("full", 0.0, time.monotonic())
        quota.give_back()
        assert quota.take(8, 0.1) is None, "in the place of one that ended"
        quota.made()
    assert asked[0] < 0.2 and 0.4 < asked[1] < asked[2] and asked[2] > 0.9


def test_a_child_does_not_wait_for_the_sandbox_of_its_parent() -> None:
    quota: SandboxQuota[Any] = SandboxQuota("e2b")
    shared = SharedSandboxes(lambda: None)
    root, child = shared.reserve(1), shared.reserve(0)
    assert quota.take(8, 0.1, Use(shared, {}, limits()), below=root.below) is None
    quota.take(8, 0.1)
    quota.give_back()
    quota.refused("the quota is full", 60.0, time.monotonic())
    with pytest.raises(EnvironmentUnavailable, match="e2b gave no sandbox: the quota is full; 1 live already"):
        quota.take(8, 0.1, Use(shared, {}, limits()), below=child.below, create_seconds=0.3)


@pytest.mark.by_turns(2)
def test_a_supervisor_that_does_not_start_is_started_in_a_new_sandbox(cloud: Cloud) -> None:
    cloud.emulator.fail(cloud.wire.stream, cut=10**6, times=cloud.wire.before)
    cloud.emulator.fail(cloud.wire.stream, cut=1)
    (item,) = over(cloud, lambda messages: ANSWER, lambda _: "r").batch(["a"])
    assert item.response == "ar"


@pytest.mark.by_turns(2)
def test_ctrl_c_in_a_batch_leaves_nothing(cloud: Cloud) -> None:
    def reply(_: str) -> str:
        signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        time.sleep(2.0)  # until the main thread has been interrupted
        return "r"

    began = time.monotonic()
    items = over(cloud, lambda messages: ANSWER, reply, options={"max_live": 2}).batch(list("abcd"), concurrency=3)
    assert all(isinstance(item.error, CancellationError) for item in items)
    assert time.monotonic() - began < 20


@pytest.mark.by_turns(2)
def test_a_batch_that_is_cancelled_leaves_nothing_and_nobody_waits_for_a_slot(cloud: Cloud) -> None:
    async def cancelled() -> None:
        rlm = over(cloud, lambda messages: cell("import time\nwhile True: time.sleep(1)"), options={"max_live": 1})
        task = asyncio.create_task(rlm.abatch(["a", "b", "c"], concurrency=3))
        while not cloud.emulator.live:
            await asyncio.sleep(0.02)
        await asyncio.sleep(0.3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - began < 20 and len(cloud.emulator.made) == 1
