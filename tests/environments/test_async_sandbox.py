"""The sandbox for event loops: turns, cancellation, tools and output, from several loops and threads."""

from __future__ import annotations

import asyncio
import copy
import pickle
import threading
import time
from typing import Any

import pytest

from rlm_secure import AsyncSandbox, Policy, Sandbox
from rlm_secure.environments.waiting import Remaining
from rlm_secure.errors import CellTimeout, PolicyError, SessionEnded

ENDLESS = "while True: pass"


def test_it_runs_sets_gets_and_resets() -> None:
    async def use() -> None:
        async with AsyncSandbox(context="the context") as sandbox:
            assert (await sandbox.run("len(context)")).value == 11
            await sandbox.set(x=(1, {2}))
            assert await sandbox.get("x") == (1, {2})
            await sandbox.reset()
            assert (await sandbox.run("context")).value == "the context"
            with pytest.raises(KeyError):
                await sandbox.get("x")
            assert sandbox.report
        with pytest.raises(RuntimeError, match="was closed"):
            await sandbox.run("1")

    asyncio.run(use())


def test_it_starts_with_the_first_call_and_says_what_is_wrong_then() -> None:
    async def use() -> None:
        sandbox = AsyncSandbox()
        with pytest.raises(RuntimeError, match="has not been started"):
            _ = sandbox.report
        assert (await sandbox.run("1")).value == 1
        await sandbox.close()
        await sandbox.close()
        with pytest.raises(PolicyError):
            async with AsyncSandbox(policy="no-such-policy"):
                pass

    asyncio.run(use())


def test_a_cell_that_takes_too_long_is_told_the_seconds_that_its_caller_gave() -> None:
    async def use() -> None:
        async with AsyncSandbox() as sandbox:
            for seconds, said in ((0.7, "the 0.7 s that its caller gave it"), (1, "the 1 s that its caller gave it")):
                result = await sandbox.run(ENDLESS, timeout=seconds)
                assert isinstance(result.error, CellTimeout) and said in str(result.error)

    asyncio.run(use())


@pytest.mark.parametrize("again", [copy.copy, copy.deepcopy, lambda seconds: pickle.loads(pickle.dumps(seconds))])
def test_seconds_that_are_left_reach_other_processes(again: Any) -> None:
    seconds = again(Remaining(0.5, 2))
    assert (seconds, seconds.given) == (0.5, 2)


def test_it_has_files() -> None:
    async def use() -> None:
        async with AsyncSandbox("standard") as sandbox:
            await sandbox.put("a.txt", "text")
            assert (await sandbox.run("files['b'] = files['a.txt'] * 2")).files == {"b": b"texttext"}
            assert await sandbox.file_sizes() == {"a.txt": 4, "b": 8}
            await sandbox.remove("a.txt")
            assert await sandbox.read("b") == b"texttext"
            for use in (sandbox.read("a.txt"), sandbox.remove("a.txt")):
                with pytest.raises(KeyError):
                    await use

    asyncio.run(use())


def test_many_sandboxes_and_many_calls_at_once() -> None:
    async def use() -> list[Any]:
        async with AsyncSandbox() as one, AsyncSandbox() as other:
            await asyncio.gather(*(sandbox.run("n = 0") for sandbox in (one, other)))
            await asyncio.gather(*(sandbox.run("n += 1") for sandbox in (one, other) for _ in range(20)))
            return [await one.get("n"), await other.get("n")]

    assert asyncio.run(use()) == [20, 20]


def test_the_loop_goes_on_while_a_cell_runs() -> None:
    async def use() -> int:
        ticks = 0
        async with AsyncSandbox() as sandbox:
            running = asyncio.ensure_future(sandbox.run(ENDLESS, timeout=1))
            while not running.done():
                await asyncio.sleep(0.01)
                ticks += 1
            assert isinstance((await running).error, CellTimeout)
        return ticks

    assert asyncio.run(use()) > 20


def test_cancelling_stops_the_cell_within_its_grace() -> None:
    async def use() -> None:
        async with AsyncSandbox() as sandbox:
            await sandbox.run("kept = 1")
            for wait in (0.0, 0.001, 0.3):
                running = asyncio.ensure_future(sandbox.run(ENDLESS))
                await asyncio.sleep(wait)
                begun = time.monotonic()
                running.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await running
                assert time.monotonic() - begun < 2 * Policy.load("strict").limits.grace_seconds + 1
                assert (await sandbox.run("kept")).value == 1

    asyncio.run(use())


@pytest.mark.parametrize("wait", [0.02, 0.5])
def test_cancelling_more_than_once_stops_the_cell_as_well(wait: float) -> None:
    """As the cancel scopes of some libraries do; here while the session starts, where no cell can be interrupted."""

    async def use() -> None:
        sandbox = AsyncSandbox(context="c" * 20_000_000)
        running = asyncio.ensure_future(sandbox.run(ENDLESS))
        await asyncio.sleep(wait)
        for _ in range(3):
            running.cancel()
            await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await running
        assert (await sandbox.run("1", timeout=10)).check().value == 1
        await sandbox.close()

    asyncio.run(use())


def test_cancelling_a_call_that_waits_stops_no_other() -> None:
    async def use() -> None:
        async with AsyncSandbox() as sandbox:
            first = asyncio.ensure_future(sandbox.run("for n in range(8_000_000): pass\n'done'"))
            await asyncio.sleep(0.05)
            second = asyncio.ensure_future(sandbox.run("changed = 1"))
            await asyncio.sleep(0.05)
            second.cancel()
            with pytest.raises(asyncio.CancelledError):
                await second
            assert (await first).value == "done"
            with pytest.raises(KeyError):
                await sandbox.get("changed")

    asyncio.run(use())


def test_cancelling_a_call_never_stops_the_next(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = AsyncSandbox._stop

    def late(sandbox: AsyncSandbox, call: Any) -> None:
        time.sleep(0.5)  # the interrupt comes when the first cell is over
        call.ended = False
        threading.Timer(0.5, setattr, (call, "ended", True)).start()
        plain(sandbox, call)

    async def use() -> None:
        async with AsyncSandbox() as sandbox:
            code = "import time\nbegun = time.monotonic()\nwhile time.monotonic() < begun + {}: pass\n'done'"
            first = asyncio.ensure_future(sandbox.run(code.format(0.4)))
            await asyncio.sleep(0.02)
            second = asyncio.ensure_future(sandbox.run(code.format(1)))
            monkeypatch.setattr(AsyncSandbox, "_stop", late)
            await asyncio.sleep(0.02)
            first.cancel()
            with pytest.raises(asyncio.CancelledError):
                await first
            assert (await second).check().value == "done"
            monkeypatch.undo()

    asyncio.run(use())


def test_a_timeout_counts_the_wait_for_a_turn() -> None:
    async def use() -> None:
        async with AsyncSandbox() as sandbox:
            first = asyncio.ensure_future(sandbox.run(ENDLESS, timeout=1))
            await asyncio.sleep(0.1)
            second = await sandbox.run("changed = 1", timeout=0.2)
            assert isinstance(second.error, CellTimeout)
            assert "it did not begin" in second.stderr
            await first
            with pytest.raises(KeyError):
                await sandbox.get("changed")

    asyncio.run(use())


def test_async_tools_run_on_the_loop_and_see_their_cancellation() -> None:
    seen: list[Any] = []

    async def double(number: int) -> int:
        """Twice the number."""
        seen.append(asyncio.get_running_loop())
        await asyncio.sleep(0)
        return 2 * number

    async def forever() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def use() -> None:
        async with AsyncSandbox(tools={"double": double, "forever": forever, "plain": lambda: "plain"}) as sandbox:
            assert (await sandbox.run("(double(21), plain())")).value == (42, "plain")
            assert seen == [asyncio.get_running_loop()]
            refused = await sandbox.run("double('x')")
            assert refused.error is not None and "number" in str(refused.error)
            running = asyncio.ensure_future(sandbox.run("forever()"))
            await asyncio.sleep(0.3)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            await asyncio.sleep(0.1)
            assert seen[1:] == ["cancelled"]

    asyncio.run(use())


def test_output_is_told_on_the_loop() -> None:
    async def use() -> None:
        told: list[str] = []
        threads: set[int] = set()

        async def listen(text: str) -> None:
            await asyncio.sleep(0)
            threads.add(threading.get_ident())
            told.append(text)

        async with AsyncSandbox() as sandbox:
            result = await sandbox.run("for n in range(1000): print(n)\n1/0", on_stdout=listen, on_stderr=told.append)
        assert "".join(told) == result.stdout + result.stderr
        assert threads == {threading.get_ident()}

    asyncio.run(use())


@pytest.mark.parametrize("end", ["cancel", "close"])
def test_a_listener_that_never_ends_does_not_outlive_its_call(end: str) -> None:
    async def use() -> None:
        waits = asyncio.Event()

        async def listen(_text: str) -> None:
            waits.set()
            await asyncio.sleep(60)

        sandbox = AsyncSandbox()
        running = asyncio.ensure_future(sandbox.run("print(1, flush=True)\nwhile True: pass", on_stdout=listen))
        await waits.wait()
        begun = time.monotonic()
        if end == "cancel":
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running
            assert (await sandbox.run("1")).value == 1
        else:
            await sandbox.close()
            with pytest.raises((RuntimeError, SessionEnded)):
                await running
        assert time.monotonic() - begun < 2 * Policy.load("strict").limits.grace_seconds + 1
        await sandbox.close()

    asyncio.run(asyncio.wait_for(use(), 30))


def test_what_resets_and_closes_in_threads_leaves_no_session(monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[Any] = []
    sandbox = Sandbox()
    plain = sandbox._open

    def slow() -> Any:
        time.sleep(0.2)
        opened.append(plain())
        return opened[-1]

    monkeypatch.setattr(sandbox, "_open", slow)
    threads = [threading.Thread(target=sandbox.reset) for _ in range(3)]
    for thread in threads:
        thread.start()
    time.sleep(0.1)
    sandbox.close()
    for thread in threads:
        thread.join()
    sandbox.close()
    assert [repl.session.alive for repl in opened] == [False] * 3


def test_one_sandbox_serves_loops_one_after_another_and_at_once() -> None:
    async def where() -> str:
        return threading.current_thread().name

    sandbox = AsyncSandbox(tools={"where": where})
    assert asyncio.run(sandbox.run("n = 0\nwhere()")).value == "MainThread"
    found: list[Any] = []

    def other() -> None:
        found.append(asyncio.run(sandbox.run("n += 1\nwhere()")).value)

    threads = [threading.Thread(target=other, name=f"loop {number}") for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(found) == [f"loop {number}" for number in range(4)]
    assert asyncio.run(sandbox.get("n")) == 4
    asyncio.run(sandbox.close())


def test_closing_stops_a_cell() -> None:
    async def use() -> None:
        sandbox = AsyncSandbox()
        await sandbox.run("1")
        running = asyncio.ensure_future(sandbox.run(ENDLESS))
        await asyncio.sleep(0.2)
        begun = time.monotonic()
        await sandbox.close()
        assert time.monotonic() - begun < 3
        try:
            assert (await running).error is not None
        except SessionEnded:
            pass

    asyncio.run(use())
