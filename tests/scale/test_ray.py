"""Batches on a real local Ray with two nodes: the same results, one ledger, and nothing lost with a node."""

from __future__ import annotations

import asyncio
import logging
import os
import runpy
import signal
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from functools import partial
from ipaddress import ip_address
from pathlib import Path
from typing import Any

import psutil
import pytest
import ray
from ray.cluster_utils import Cluster

from rlm_secure import (
    RLM,
    AuditLog,
    AuditLogError,
    CallLimitExceededError,
    ContextError,
    EnforcementError,
    ModelCalled,
    Policy,
    RLMLogger,
    TimeoutExceededError,
    Violation,
    Wall,
)
from rlm_secure.logger import read_trajectory, verify
from rlm_secure.rlm.assembly import new_tree
from rlm_secure.rlm.batch import Batch, Item
from rlm_secure.rlm.budget import Spent
from rlm_secure.rlm.tree import Tree
from rlm_secure.scale import ray as engine
from rlm_secure.scale.connection import on_loopback
from rlm_secure.scale.contexts import SharedContexts
from tests.emulators.base import until
from tests.examples.programs import EXAMPLES, promised
from tests.loops import Heard, cell, limited, scripted
from tests.scale import broken
from tests.scale.calls import hang, lines, replies, reply_after, reply_on, reply_or_hang, reply_or_never, together

ASKS = cell("final_answer(llm_query(context))")
KEY = "sk-of-the-account-47110815"


@pytest.fixture(scope="module")
def cluster() -> Iterator[Cluster]:
    """Two nodes with one processor each; the first is that of the driver."""
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    quick = {"health_check_period_ms": 500, "health_check_failure_threshold": 3, "health_check_initial_delay_ms": 0}
    # What scales a cluster, and what shows its logs, are a process each that imports all of Ray, and no test asks them.
    alone = {"include_dashboard": False, "include_log_monitor": False, "no_monitor": True}
    head = {"num_cpus": 1, "_system_config": quick, **alone}
    with on_loopback():
        made = started(head)
        yield made
        ray.shutdown()
        made.shutdown()


def started(head: dict[str, Any], attempts: int = 3) -> Cluster:
    """A cluster of two nodes. A node of Ray ends by itself where its agents take more than 15 s to start."""
    made = Cluster()
    try:
        made.add_node(**head)
        made.add_node(num_cpus=1)
        made.connect()
        made.wait_for_nodes()
    except Exception:
        made.shutdown()
        if attempts == 1:
            raise
        return started(head, attempts - 1)
    return made


def nodes_of(path: Path) -> list[str]:
    """The node of each note."""
    return [line.split(" ", 1)[0] for line in path.read_text().splitlines()] if path.exists() else []


def tree_of(rlm: RLM) -> Tree:
    """The tree of a batch of `rlm`."""
    return new_tree(
        rlm.policy,
        max_budget=rlm.max_budget,
        max_tokens=rlm.max_tokens,
        max_timeout=rlm.max_timeout,
        listeners=(),
        prices=rlm.prices,
        windows=rlm.windows,
        whose=rlm,
    )


def spent(rlm: RLM, prompts: list[Any], **kwargs: Any) -> tuple[list[Item], Spent]:
    """The items of a batch on the cluster, and what its ledger says."""
    with tree_of(rlm) as tree:
        batch = Batch(tree, prompts, **kwargs)
        engine.run(rlm, batch)
        return batch.results(), tree.ledger.spent


def test_a_node_that_is_killed_loses_no_answer_and_no_call_is_counted_twice(cluster: Cluster, tmp_path: Path) -> None:
    doomed = cluster.add_node(num_cpus=1)
    cluster.wait_for_nodes()
    path = str(tmp_path / "calls")
    name = doomed.node_id
    rlm = scripted([ASKS], partial(reply_or_hang, path, name, 3), policy=limited(calls=200, concurrency=6))

    def kill() -> None:
        while len(lines(path, name, "hangs")) < 2:
            time.sleep(0.02)
        time.sleep(0.5)  # by now the driver knows of both calls
        cluster.remove_node(doomed, allow_graceful=False)

    killer = threading.Thread(target=kill)
    killer.start()
    seen: list[int] = []
    prompts = [f"prompt {number}" for number in range(64)]
    items, used = spent(rlm, prompts, concurrency=6, on_item=lambda item: seen.append(item.index))
    killer.join()
    assert [item.response for item in items] == [prompt.upper() for prompt in prompts]
    assert Counter(seen) == Counter(range(64))
    hung = lines(path, name, "hangs")
    asked = Counter(lines(path))
    assert asked == Counter(prompts) + Counter(hung)  # what was answered before the end did not run again
    assert used.calls == 64 + len(hung) + sum(asked.values())  # each a turn and a call of its cell


def test_nodes_that_come_late_get_work_and_the_limits_hold(cluster: Cluster, tmp_path: Path) -> None:
    path = tmp_path / "calls"
    turns = [cell("while not (said := llm_query(context)): pass\nfinal_answer(said)")]
    rlm = scripted(turns, partial(reply_on, str(path), 3, 40), policy=limited(calls=5000, concurrency=3))
    prompts = [f"prompt {number}" for number in range(40)]
    with ThreadPoolExecutor(1) as beside:  # a node is added in the main thread
        batch = beside.submit(rlm.batch, prompts, engine="ray", concurrency=4)
        until(lambda: len(set(nodes_of(path))) == 2)
        late = cluster.add_node(num_cpus=1)
        items = batch.result(90)
    cluster.remove_node(late)
    assert [item.response for item in items] == [prompt.upper() for prompt in prompts]
    assert lines(path, late.node_id)
    assert together(path, late.node_id) == 1
    assert together(path) == 3


def test_all_nodes_together_never_exceed_the_allowance(cluster: Cluster, tmp_path: Path) -> None:
    rlm = scripted([ASKS], replies(tmp_path / "calls"), policy=limited(calls=21))
    items, used = spent(rlm, [f"prompt {number}" for number in range(21)], concurrency=4)
    answered = [item for item in items if item.completion is not None and not item.response.startswith("Error")]
    assert used.calls == 21
    assert len(lines(tmp_path / "calls")) == len(answered) in (9, 10)  # two calls each; others had only their first
    assert any(isinstance(item.error, CallLimitExceededError) and item.error.calls == 21 for item in items)


def test_refused_calls_are_counted_on_all_nodes_together(cluster: Cluster, tmp_path: Path) -> None:
    code = """
if context == "then":
    llm_query("after the first")
while True:
    llm_query("q", model="of nobody")
    if context == "then":
        llm_query("slowly")
"""
    heard = Heard()
    calls, first = str(tmp_path / "calls"), tmp_path / "first"
    rlm = scripted(
        [cell(code), "FINAL(x)"], partial(reply_after, calls, str(first)), delay=0.1, policy=limited(refusals=40), on_event=heard
    )
    items = rlm.batch(["first", "then"], engine="ray", concurrency=2, on_item=lambda item: first.touch())
    assert [item.response for item in items] == ["x", "x"]
    assert len(set(nodes_of(Path(calls)))) == 1
    assert 41 < len(heard.of(Violation)) < 80  # each node alone would have let 41 pass


def test_results_are_those_of_threads_and_records_are_the_caller_s(cluster: Cluster, tmp_path: Path) -> None:
    heard = Heard()
    begun: list[tuple[int, int]] = []
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "a.txt").write_text("of a file")
    prompts = ["one", {"two": 2}, folder, tmp_path / "none", "x" * 200_000, ["six"]]
    wide = {"text": "\u20ac" * 70_000, "more": [1, None]}
    prompts += [prompts[4], wide, wide]
    turns = [cell("final_answer(f'{type(context).__name__} {len(context)} ' + llm_query('q'))")]
    made = {
        "turns": turns,
        "replies": "r",
        "on_event": heard,
        "on_iteration_start": lambda *numbers: begun.append(numbers),
        "audit": AuditLog(tmp_path / "audit.jsonl", key=b"k" * 32),
        "logger": RLMLogger(tmp_path / "logs"),
        "backend_kwargs": {"api_key": KEY},
        "verbose": True,
    }
    rlm = scripted(**made)
    items = rlm.batch(prompts, "the question", engine="ray")
    told, chain, logs = len(heard.of(ModelCalled)), verify(tmp_path / "audit.jsonl", key=b"k" * 32), tmp_path / "logs"
    assert (told, len(begun), chain.lines) == (16, 8, 16)  # eight runs, each with two calls, a session and its end
    files = sorted(logs.iterdir())
    assert len(files) == 8
    assert all(file.stat().st_mode & 0o777 == 0o600 for file in files)
    assert [sum(line["type"] == "iteration" for line in read_trajectory(file)) for file in files] == [1] * 8
    plain = scripted(turns, "r", logger=RLMLogger()).batch(prompts, "the question")
    assert [type(item.error) for item in items] == [type(item.error) for item in plain]
    assert isinstance(items[3].error, ContextError)
    for one, other in zip(items, plain, strict=True):
        if one.completion is not None:
            assert (one.index, one.response) == (other.index, other.response)
            assert one.completion.prompt == other.completion.prompt
            assert one.completion.usage_summary == other.completion.usage_summary
            assert one.completion.metadata["iterations"][0]["response"] == turns[0]
    no_key_in_files(cluster)


def test_ctrl_c_ends_what_runs_on_the_nodes_and_leaves_no_log_there(cluster: Cluster, tmp_path: Path) -> None:
    kept = tmp_path / "kept"

    def left() -> list[str]:
        return [line for line in lines(kept, kind="folder") if Path(line).exists()]

    def interrupt() -> None:
        if until(lambda: len(left()) == 2):
            os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    rlm = scripted([ASKS], partial(hang, str(kept)), logger=RLMLogger(tmp_path / "logs"))
    with pytest.raises(KeyboardInterrupt):
        rlm.batch(["a", "b"], engine="ray", concurrency=2)
    assert len(lines(kept, kind="folder")) == 2
    assert until(lambda: not left()), left()


def test_contexts_that_are_made_when_they_are_read_are_not_taken_for_one_another(cluster: Cluster) -> None:
    class Made(Sequence[str]):
        def __getitem__(self, index: Any) -> str:
            return chr(97 + index) * 100_000

        def __len__(self) -> int:
            return 60

    rlm = scripted([])
    with tree_of(rlm) as tree:
        batch = Batch(tree, Made())
        contexts = SharedContexts(ray, rlm, batch)
        for index in range(60):
            prompt = batch.prompts[index]  # the one before lives until here, so this one is elsewhere
            assert contexts.stored(index, prompt) is None


def test_a_shared_context_that_is_asked_of_a_model_is_there_as_it_is(cluster: Cluster) -> None:
    items = scripted([], str.upper, max_depth=0).batch(["\u00e4" * 70_000] * 2, engine="ray", concurrency=1)
    assert [item.response for item in items] == ["\u00c4" * 70_000] * 2


def no_key_in_files(cluster: Cluster) -> None:
    """Ray's own files of the session: logs, records and sockets' places. The key travelled, and is in none of them."""
    session = Path(cluster.head_node.get_session_dir_path())
    read = [file for file in session.rglob("*") if file.is_file()]
    assert len(read) > 10
    assert [file for file in read if KEY.encode() in file.read_bytes()] == []


def test_what_was_answered_is_not_asked_again(cluster: Cluster, tmp_path: Path) -> None:
    progress: list[tuple[int, int]] = []
    rlm = scripted([ASKS], replies(tmp_path / "calls"), backend_kwargs={"api_key": KEY})
    first = rlm.batch(["a", "b", "c"], engine="ray", concurrency=1)
    kept = [first[0], Item(1, error=ValueError("it failed")), first[2]]
    again = rlm.batch(["a", "b", "c"], engine="ray", resume=kept, on_progress=lambda *now: progress.append(now))
    assert [item.response for item in again] == ["A", "B", "C"]
    assert lines(tmp_path / "calls").count("b") == 2
    assert len(lines(tmp_path / "calls")) == 4
    assert progress == [(3, 3)]
    assert rlm.batch(["a"], engine="ray", resume=first[:1]) == first[:1]


def test_what_cannot_be_audited_does_not_go_on(cluster: Cluster, tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl")
    rlm = scripted([ASKS], replies(tmp_path / "calls", 0.5), audit=log)
    opened = lambda item: log.path.chmod(0o644)  # noqa: E731  from now on it is nobody's to write
    items = rlm.batch([f"prompt {number}" for number in range(4)], engine="ray", concurrency=1, on_item=opened)
    failed = [item.error for item in items if item.completion is None]
    assert [type(error) for error in failed] == [AuditLogError] * 3
    assert "make it yours alone" in str(failed[2])
    assert len(lines(tmp_path / "calls")) < 4


def test_a_node_that_is_out_of_order_takes_no_answer_with_it(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    doomed = cluster.worker_nodes.copy().pop().node_id
    monkeypatch.setattr(engine, "_Actor", broken.OutOfOrder)
    monkeypatch.setattr(engine, "_LOST", 15.0)
    monkeypatch.setattr(engine, "_ATTEMPTS", 2 * len(broken.HOW))  # an actor after the other, each with its own fault
    logged = {"logger": RLMLogger(tmp_path / "logs"), "audit": AuditLog(tmp_path / "audit.jsonl")}
    replies = partial(broken.reply_out_of_order, str(tmp_path / "calls"), doomed)
    rlm = scripted([ASKS], replies, policy=limited(calls=400), max_timeout=400.0, **logged)
    prompts = [f"prompt {number}" for number in range(8)]
    items, used = spent(rlm, prompts, concurrency=2)
    assert [item.response for item in items] == [prompt.upper() for prompt in prompts]
    assert used.calls >= 16
    assert broken.seen(str(tmp_path / "calls")) == list(broken.HOW)
    lost = [record.message for record in caplog.records if "is lost" in record.message]
    assert [("out of order" in each, "not answered" in each) for each in lost] == [
        (how != "a process that is stopped", how == "a process that is stopped") for how in broken.HOW
    ]


def test_a_callback_may_take_longer_than_a_node_waits_for_its_driver(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(engine, "_Actor", broken.Impatient)
    monkeypatch.setattr(engine, "_ALIVE", 0.3)
    seen: list[int] = []

    def slow(item: Item) -> None:
        seen.append(item.index)
        time.sleep(9.0 if len(seen) == 1 else 0.0)

    items = scripted([ASKS], "r").batch(["a", "b", "c", "d"], engine="ray", concurrency=2, on_item=slow)
    assert [item.response for item in items] == ["r"] * 4


def test_a_deadline_and_a_cancellation_reach_every_node(cluster: Cluster) -> None:
    spins = scripted(lambda messages: cell("while True: pass"), max_timeout=3.0)
    spins.backend_kwargs["turns"] = [cell("while True: pass")] * 30
    began = time.monotonic()
    items = spins.batch(["p"] * 4, engine="ray", concurrency=2)
    assert time.monotonic() - began < 12
    assert {type(item.error) for item in items} == {TimeoutExceededError}

    async def cancelled() -> None:
        spins.max_timeout = None
        task = asyncio.create_task(spins.abatch(["p"] * 2, engine="ray", concurrency=1))
        await asyncio.sleep(3)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    began = time.monotonic()
    asyncio.run(cancelled())
    assert time.monotonic() - began < 12


def actors() -> list[psutil.Process]:
    """The processes of actors that live."""
    return [each for each in psutil.process_iter(["cmdline"]) if "ray::_Actor" in " ".join(each.info["cmdline"] or ())]


def test_items_come_as_they_are_done_and_leaving_them_ends_the_actors(cluster: Cluster, tmp_path: Path) -> None:
    rlm = scripted([ASKS], partial(reply_or_never, str(tmp_path / "calls")))
    prompts = ["never a", "now a", "now b", "never b", "now c", "now d"]
    began = time.monotonic()
    with closing(rlm.batch_as_completed(prompts, engine="ray", concurrency=3)) as items:
        seen = [next(items).response, next(items).response]
        until(lambda: len(actors()) == 2)
    assert time.monotonic() - began < 20
    assert set(seen) <= {"NOW A", "NOW B", "NOW C", "NOW D"}
    until(lambda: not actors())


def test_a_node_without_the_walls_gets_no_prompt(
    cluster: Cluster, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "pyseccomp.py").write_text("raise ImportError('there is no libseccomp here')\n")
    bare = cluster.add_node(num_cpus=1, env_vars={"PYTHONPATH": str(tmp_path)})
    cluster.wait_for_nodes()
    examined, ended = tmp_path / "examined", threading.Event()

    def look() -> None:  # the others wait for it: without that they may have answered all before it is examined
        while "gets no prompt" not in caplog.text and not ended.wait(0.05):
            pass
        examined.touch()

    threading.Thread(target=look, daemon=True).start()
    try:
        rlm = scripted([ASKS], partial(reply_after, str(tmp_path / "calls"), str(examined)))
        with caplog.at_level(logging.WARNING, "rlm_secure"):
            items = rlm.batch(["a", "b", "c", "d", "e", "f"], engine="ray", concurrency=6)
        assert [item.response for item in items] == ["A", "B", "C", "D", "E", "F"]
        assert lines(tmp_path / "calls", bare.node_id) == []
        assert f"({bare.node_id[:8]}) gets no prompt: cannot run it: EnvironmentUnavailable: the seccomp wall" in caplog.text
    finally:
        ended.set()
        cluster.remove_node(bare)


def test_where_no_node_has_the_walls_the_error_names_nodes_and_walls(cluster: Cluster) -> None:
    rlm = scripted([ASKS], "r", policy=Policy(isolation={"local": (Wall.SECCOMP, Wall.PROVIDER_VM)}))
    with pytest.raises(EnforcementError, match=r"\([0-9a-f]{8}\) lacks what the policy requires: provider-vm$") as error:
        rlm.batch(["a", "b"], engine="ray", concurrency=1)
    assert error.value.missing == ("provider-vm",)


def test_what_cannot_be_on_several_machines_is_said(cluster: Cluster) -> None:
    rlm = scripted([ASKS], "r", custom_tools={"f": lambda: 1})
    with pytest.raises(TypeError, match=r"^RLM cannot be pickled: its custom_tools\['f'\] is "):
        rlm.batch(["a"], engine="ray")


def test_a_ray_that_is_started_here_listens_on_the_loopback_alone(cluster: Cluster) -> None:
    heads = [psutil.Process(process.pid) for _, process in cluster.head_node.live_processes()]
    family = [each for head in heads for each in (head, *head.children(recursive=True))]
    listening = []
    for process in family:
        with suppress(psutil.NoSuchProcess):  # some of them only start others
            listening += [each.laddr.ip for each in process.net_connections("tcp") if each.status == "LISTEN"]
    assert len(listening) > 3
    assert {ip_address(each.removeprefix("::ffff:")).is_loopback for each in listening} == {True}


def test_the_example_prints_on_ray_what_it_prints_in_threads(
    cluster: Cluster, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.setattr(sys, "argv", ["batch.py", "--engine", "ray"])
    runpy.run_path(str(EXAMPLES / "batch.py"), run_name="__main__")
    assert capsys.readouterr().out == promised(EXAMPLES / "batch.py")


def test_an_engine_that_is_not_known_is_named() -> None:
    with pytest.raises(ValueError, match="there is no engine 'dask'; there are threads, ray"):
        scripted([ASKS]).batch(["a"], engine="dask")
