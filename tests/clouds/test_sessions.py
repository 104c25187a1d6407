"""Everything a session promises, in each provider's sandbox: through the real SDK, over the exec stream and the ingress."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from rlm_secure.broker.signed import Around
from rlm_secure.cli import demo
from rlm_secure.environments.cloud.lease import CloudLease
from rlm_secure.errors import CellTimeout, EnforcementError, EnvironmentUnavailable
from rlm_secure.guarantees import Level, Wall, WallStatus
from rlm_secure.logger import RLMLogger
from rlm_secure.policy import load_policy
from rlm_secure.policy.model import BestEffort
from tests.clouds.conftest import Cloud, limits
from tests.environments.test_values import values_files_and_output
from tests.loops import cell, scripted

pytestmark = pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning")


def test_the_demo_task_has_the_right_answer(way: Cloud) -> None:
    sources = demo.read_sources(Path(asyncio.__file__).parent)
    turns = [turn.replace("ASK", json.dumps(demo.ASK)) for turn in demo.TURNS]
    rlm = scripted(turns, demo.reader, policy=way.policy(), environment=way.name, environment_kwargs=way.options)
    assert rlm.completion(sources, demo.QUESTION).response == demo.plain_answer(sources.values())


@pytest.mark.by_turns(2)
def test_a_sandbox_has_tools_a_context_and_a_memory(way: Cloud) -> None:
    with way.sandbox(context={"k": ["v" * 10]}, tools={"double": lambda x: 2 * x}) as sandbox:
        assert sandbox.run("print(double(21), context['k'], len(context_0))").check().stdout == "42 ['vvvvvvvvvv'] 1\n"
        assert sandbox.run("kept = [1]").error is None
        assert sandbox.run("kept.append(2); print(kept)").stdout == "[1, 2]\n"
        assert "open" in sandbox.run("open('/etc/passwd')").stderr


@pytest.mark.by_turns(2)
def test_values_files_and_output_cross_as_they_do_locally(way: Cloud) -> None:
    with way.sandbox(policy=way.policy(files=9)) as sandbox:
        values_files_and_output(sandbox)


@pytest.mark.by_turns(2)
def test_a_run_queries_recurses_and_answers(way: Cloud) -> None:
    rlm = scripted(
        [cell("parts = rlm_query_batched(['a', 'b'])\nfinal_answer([context, llm_query('q'), parts])")],
        "reply",
        child_turns=[cell("final_answer(double(context))")],
        max_depth=2,
        custom_tools={"double": lambda text: 2 * text},
        policy=way.policy(),
        environment=way.name,
        environment_kwargs=way.options,
        logger=RLMLogger(),
    )
    completion = rlm.completion("the context", "the question")
    assert completion.response == str(["the context", "reply", ["aa", "bb"]])
    assert len(way.emulator.made) in (2, 3), "the second child may come after the first"


@pytest.mark.by_turns(2)
def test_variables_last_between_completions(way: Cloud) -> None:
    programs = iter([cell("kept = 'k'\nfinal_answer(1)"), cell("final_answer([kept, context_0, context_1])")])
    turns = lambda messages: next(programs)  # noqa: E731
    with scripted(
        turns, persistent=True, policy=way.policy(), environment=way.name, environment_kwargs=way.options
    ) as rlm:
        rlm.completion("one")
        assert rlm.completion("two").response == str(["k", "one", "two"])
    assert len(way.emulator.made) == 1


@pytest.mark.by_turns(2)
def test_a_cell_that_does_not_end_is_stopped_and_the_session_goes_on(way: Cloud) -> None:
    with way.sandbox() as sandbox:
        sandbox.run("x = 1")
        began = time.monotonic()
        result = sandbox.run("while True: pass", timeout=0.5)
        assert isinstance(result.error, CellTimeout) and time.monotonic() - began < 5
        assert sandbox.run("print(x)").stdout == "1\n"


@pytest.mark.by_turns(1)
def test_a_cell_that_always_has_something_to_say_is_stopped_as_well(cloud: Cloud) -> None:
    with cloud.session(limits(cell_seconds=1), tools={"tick": ""}) as session:
        session.execute("x = 1", lambda call: None)
        began = time.monotonic()
        result = session.execute("while True: tick()", lambda call: None)
        assert isinstance(result.error, CellTimeout) and time.monotonic() - began < 4
        assert session.execute("print(x)", lambda call: None).stdout == "1\n"


@pytest.mark.by_turns(2)
def test_a_worker_that_is_killed_is_replaced_with_what_it_knew(way: Cloud) -> None:
    with way.session(way.policy(memory_bytes=96 << 20, cell_seconds=1)) as session:
        session.load_context("context", "c" * 1000)
        session.execute("x = len(context)", lambda call: None)
        # A sum in C hears no interrupt: the supervisor kills its worker.
        result = session.execute("sum(range(10**12))", lambda call: None)
        assert isinstance(result.error, CellTimeout) and result.resumed
        assert session.execute("print(x, context[:2])", lambda call: None).stdout == "1000 cc\n"


def test_memory_is_bounded(cloud: Cloud) -> None:
    with cloud.session(limits(memory_bytes=96 << 20)) as session:
        result = session.execute("x = bytearray(10**9)", lambda call: None)
        assert "MemoryError" in result.stderr
        assert session.execute("print(1)", lambda call: None).stdout == "1\n"


@pytest.mark.slow
@pytest.mark.by_turns(3)
def test_a_hundred_megabytes_of_context_arrive_as_they_were(way: Cloud) -> None:
    unit = "0123456789abcdef\u00e9\n"
    text = unit * (100_000_000 // len(unit))
    with way.sandbox(context=text) as sandbox:
        cell = f"print(len(context), context == {unit!r} * {len(text) // len(unit)})"
        assert sandbox.run(cell).stdout == f"{len(text)} True\n"


def test_a_context_that_does_not_fit_is_refused_by_name(cloud: Cloud) -> None:
    cloud.emulator.memory_mb = 1024
    cloud.emulator.memory = 1
    with (
        cloud.session(limits(memory_bytes=700 << 20)) as session,
        pytest.raises(EnvironmentUnavailable, match=f"does not fit: this {cloud.name} sandbox has 71303168 bytes left"),
    ):
        session.load_context("context", "x" * (80 << 20))


@pytest.mark.parametrize("cloud", ["modal"], indirect=True)  # its sandboxes are of the size that is asked for
def test_a_sandbox_has_room_for_the_context_that_it_is_made_for(cloud: Cloud) -> None:
    policy = limits(memory_bytes=700 << 20)
    with cloud.sandbox(policy=policy, context="x" * (80 << 20)) as sandbox:
        assert sandbox.run("print(len(context))").check().stdout == f"{80 << 20}\n"
        assert sandbox.report.details["memory_mib"] == 2048
    with cloud.sandbox(policy=policy) as sandbox:
        assert sandbox.report.details["memory_mib"] == 1024


@pytest.mark.parametrize("cloud", ["e2b"], indirect=True)  # a template has its own size
def test_a_context_that_cannot_fit_is_refused_before_anything_is_sent(cloud: Cloud) -> None:
    cloud.emulator.memory_mb = 1024
    with pytest.raises(EnvironmentUnavailable, match="a context, with which there are 83886080 bytes .* does not fit"):
        cloud.sandbox(policy=limits(memory_bytes=700 << 20), context="x" * (80 << 20))
    assert cloud.emulator.recorded(cloud.wire.upload) == [] and cloud.emulator.live == []


def test_a_sandbox_that_is_too_small_is_refused_and_ended(cloud: Cloud) -> None:
    # Some are of the size that is asked for.
    options = {"modal": {"memory_mib": 1024}, "kubernetes": {"memory_gib": 1}}.get(cloud.name, {})
    with pytest.raises(EnvironmentUnavailable, match="too small for limits.memory_bytes"):
        cloud.emulator.memory_mb = cloud.emulator.memory = 1
        cloud.environment(**options).session(limits(memory_bytes=2048 << 20)).close()


def test_the_report_says_what_was_tried_and_what_is_the_providers_word(cloud: Cloud) -> None:
    with cloud.session() as session:
        report = session.report
    assert report.environment == cloud.name
    assert report.missing(load_policy("strict").isolation.required(cloud.name)) == ()
    assert report[Wall.SECCOMP].level is Level.FULL and "SIGSYS" in report[Wall.SECCOMP].evidence
    # A pod has the kernel of its node, where it names no runtime class.
    assert report[Wall.PROVIDER_VM].level is (Level.NONE if cloud.name == "kubernetes" else Level.VENDOR)
    network = report[Wall.PROVIDER_NETWORK_BLOCK]
    assert network.level is Level.VENDOR
    assert "tried from inside: 169.254.169.254:80: ENETUNREACH, 1.1.1.1:53: ENETUNREACH" in network.evidence
    assert report.details["transport"] == "exec" and len(report.details["bundle_sha256"]) == 64


@pytest.fixture
def reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """Something outside the sandbox answers it, although its provider was told to block its network."""
    walls = CloudLease.walls

    def found(self: CloudLease, around: Around) -> Iterator[WallStatus]:
        return walls(self, replace(around, connect={"169.254.169.254:80": "won", "1.1.1.1:53": "won"}))

    monkeypatch.setattr(CloudLease, "walls", found)


@pytest.mark.by_turns(1)
def test_a_network_block_that_is_seen_to_fail_refuses_the_session(cloud: Cloud, reached: None) -> None:
    policy = limits()
    listed = policy.isolation.model_copy(update={"best_effort": ()})
    with pytest.raises(EnforcementError, match=r"provider-network-block .*tried from inside: .*1\.1\.1\.1:53: won"):
        cloud.session(policy.model_copy(update={"isolation": listed}))
    assert cloud.emulator.live == [] and len(cloud.emulator.made) == 1


@pytest.mark.by_turns(1)
def test_a_network_that_a_policy_accepts_is_warned_of(
    cloud: Cloud, reached: None, caplog: pytest.LogCaptureFixture
) -> None:
    policy = limits()
    accepted = (BestEffort(wall=Wall.PROVIDER_NETWORK_BLOCK, reason="the account has no way to block it"),)
    isolation = policy.isolation.model_copy(update={"best_effort": accepted})
    with caplog.at_level("WARNING"), cloud.session(policy.model_copy(update={"isolation": isolation})) as session:
        assert session.report[Wall.PROVIDER_NETWORK_BLOCK].level is Level.NONE
    (said,) = [record.message for record in caplog.records if record.name == "rlm_secure.broker"]
    assert f"this {cloud.name} sandbox has a network, which the policy accepts" in said and "1.1.1.1:53: won" in said


def test_a_policy_may_demand_more_than_the_provider_gives(cloud: Cloud) -> None:
    loaded = load_policy("strict")
    walls = (*getattr(loaded.isolation, cloud.name), Wall.PROVIDER_VM)
    isolation = loaded.isolation.model_copy(update={cloud.name: walls})
    with pytest.raises(EnforcementError, match="provider-vm") as raised:
        cloud.session(loaded.model_copy(update={"isolation": isolation}))
    assert raised.value.missing == ("provider-vm",)


def test_a_full_house_is_said(cloud: Cloud) -> None:
    policy = limits(start_seconds=5)
    environment = cloud.environment(max_live=1)
    with environment.session(policy):
        quick = limits(start_seconds=0.2)
        with pytest.raises(EnvironmentUnavailable, match=r"live already \(max_live = 1\)"):
            environment.session(quick)
