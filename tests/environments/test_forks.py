"""A session belongs to the process that made it: a fork is told so, always, and does the parent's session no harm."""

from __future__ import annotations

import asyncio
import atexit
import gc
import json
import multiprocessing
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from typing import Any

import pytest

from rlm_secure import Sandbox, WrongProcess
from rlm_secure.environments.local import pool
from tests.broker import support
from tests.loops import cell, scripted

pytestmark = pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork.*:DeprecationWarning")

#: A child that waits for something that does not come is ended after so long, and the test fails.
CHILD_SECONDS = 30


def forked(work: Callable[[], Any]) -> Any:
    """What `work()` returns in a fork of this process, as JSON."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(reading)
            signal.alarm(CHILD_SECONDS)
            with os.fdopen(writing, "w") as file:
                json.dump(work(), file)
            status = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(status)
    os.close(writing)
    with os.fdopen(reading) as file:
        said = file.read()
    assert os.waitpid(pid, 0)[1] == 0
    return json.loads(said)


def outcome(use: Callable[[], Any]) -> str:
    """The name of what `use` raises."""
    try:
        return f"returned {use()!r}"
    except BaseException as error:
        return type(error).__name__


def uses(thing: Any) -> dict[str, Callable[[], Any]]:
    """Every public method and property of an object, and its `with` block. Who is checked first needs no arguments."""
    kind = type(thing)
    names = [name for name in dir(kind) if not name.startswith("_") or name in ("__enter__",)]
    found: dict[str, Callable[[], Any]] = {}
    for name in names:
        member = getattr(kind, name)
        if isinstance(member, property):
            found[name] = lambda name=name: getattr(thing, name)
        elif callable(member):
            found[name] = lambda name=name: getattr(thing, name)()
    return found | {"__exit__": lambda: thing.__exit__(None, None, None)}


def refusals(*things: Any) -> dict[str, str]:
    """What every use of every thing ends with, where it is not WrongProcess."""
    ended = {f"{type(thing).__name__}.{name}": outcome(use) for thing in things for name, use in uses(thing).items()}
    assert len(ended) > 4 * len(things)
    return {name: how for name, how in ended.items() if how != "WrongProcess"}


def test_every_use_of_a_sandbox_in_a_fork_is_an_error() -> None:
    with Sandbox(context="c") as box:
        box.run("x = 1")
        repl, session = box._repl, box._repl.session
        assert forked(lambda: refusals(box, repl, session)) == {}
        assert box.run("print(x)").stdout == "1\n"


def test_every_use_of_a_remote_session_in_a_fork_is_an_error() -> None:
    with support.session() as session:
        session.execute("x = 1", lambda _call: None)
        assert forked(lambda: refusals(session)) == {}
        assert session.execute("print(x)", lambda _call: None).stdout == "1\n"


def test_results_of_two_processes_are_never_mixed() -> None:
    def many(box: Sandbox, name: str) -> list[str]:
        said = []
        for number in range(100):
            try:
                said.append(box.run(f"print('{name}', {number})").stdout)
            except WrongProcess:
                said.append("WrongProcess")
            except Exception as error:
                said.append(repr(error))
        return said

    with Sandbox() as box:
        box.run("1")
        reading, writing = os.pipe()
        pid = os.fork()
        if pid == 0:
            signal.alarm(CHILD_SECONDS)
            os.write(writing, json.dumps(many(box, "child")).encode())
            os._exit(0)
        os.close(writing)
        parents = many(box, "parent")
        with os.fdopen(reading) as file:
            in_child = json.loads(file.read() or "null")
        os.waitpid(pid, 0)
    assert parents == [f"parent {number}\n" for number in range(100)]
    assert in_child == ["WrongProcess"] * 100


def _of_a_worker(number: int) -> str:
    return outcome(lambda: _shared[0].run(f"print({number})"))


_shared: list[Sandbox] = []


def test_workers_of_multiprocessing_are_told_so() -> None:
    with Sandbox() as box:
        box.run("x = 5")
        _shared.append(box)
        try:
            with multiprocessing.get_context("fork").Pool(2) as workers:
                assert workers.map_async(_of_a_worker, range(20)).get(CHILD_SECONDS) == ["WrongProcess"] * 20
        finally:
            _shared.clear()
        assert box.run("print(x)").stdout == "5\n"


def test_a_fork_has_sandboxes_of_its_own() -> None:
    with Sandbox() as box:
        box.run("x = 'parent'")
        deadline = time.monotonic() + 10
        while not pool.ready() and time.monotonic() < deadline:
            time.sleep(0.01)
        spares = pool.ready()
        assert spares

        def own() -> list[Any]:
            counted = pool.ready()
            with Sandbox() as mine:
                return [counted, mine.run("x = 'child'\nprint(x)").stdout]

        assert forked(own) == [0, "child\n"]
        assert pool.ready() >= spares
        assert box.run("print(x)").stdout == "parent\n"
        with Sandbox() as again:
            assert again.run("print(2)").stdout == "2\n"


def drop(thing: Any) -> None:
    if isinstance(thing, Sandbox):
        vars(thing._repl).pop("_session")  # the last reference in this process
    else:
        thing.__del__()
    gc.collect()
    sys.exit(7)


@pytest.mark.parametrize("end", [drop, lambda _: sys.exit(7)], ids=["garbage", "exit"])
@pytest.mark.parametrize("kind", ["local", "broker"])
def test_a_fork_that_merely_ends_does_no_harm(kind: str, end: Callable[[Any], None]) -> None:
    """It leaves the block with its exit on the way, collects its garbage, and runs what runs at an exit."""
    with Sandbox() if kind == "local" else support.session() as thing:
        run: Any = thing.run if kind == "local" else lambda code: thing.execute(code, lambda _call: None)
        run("x = 6")
        ended = ends_in_a_fork(thing, end)
        assert ended == 7
        assert run("print(x)").stdout == "6\n"


def ends_in_a_fork(thing: Any, end: Callable[[Any], None]) -> int:
    """The exit status of a fork that calls `end` in a block of `thing`, which was entered before the fork."""
    pid = os.fork()
    if pid:
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    signal.alarm(CHILD_SECONDS)
    status = 1
    try:
        try:
            end(thing)
        except SystemExit as leaving:
            kind = type(thing)
            if kind.__exit__(thing, SystemExit, leaving, None):
                status = 2
            else:
                raise
    except SystemExit as leaving:
        status = int(str(leaving.code))
        atexit._run_exitfuncs()
    finally:
        os._exit(status)


def test_a_fork_in_the_middle_of_a_cell_is_told_so_and_waits_for_nobody() -> None:
    inside, go = threading.Event(), threading.Event()

    def tool() -> int:
        inside.set()
        go.wait(20)
        return 1

    with Sandbox(tools={"tool": tool}) as box:
        session = box._repl.session
        said: list[str] = []
        running = threading.Thread(target=lambda: said.append(box.run("print(tool())").stdout))
        running.start()
        assert inside.wait(10)
        # The lock of the session is held by a thread that the fork does not have.
        assert forked(lambda: refusals(box, session)) == {}
        go.set()
        running.join(10)
        assert said == ["1\n"]


def test_a_tool_that_forks_cannot_use_the_session_there() -> None:
    made: list[Sandbox] = []

    def tool() -> Any:
        return forked(lambda: outcome(lambda: made[0].run("1")))

    with Sandbox(tools={"tool": tool}) as box:
        made.append(box)
        assert box.run("print(tool())").stdout == "WrongProcess\n"


def test_an_event_loop_in_a_fork_is_told_so() -> None:
    with Sandbox() as box:
        box.run("1")
        assert forked(lambda: outcome(lambda: asyncio.run(asyncio.to_thread(box.run, "1")))) == "WrongProcess"
        assert box.run("print(1)").stdout == "1\n"


def test_a_persistent_run_belongs_to_its_process_and_any_other_run_to_nobody() -> None:
    turn = cell("final_answer(context)")
    with scripted([turn] * 4, persistent=True) as rlm:
        assert rlm.completion("one").response == "one"
        assert forked(lambda: [outcome(lambda: rlm.completion("two")), outcome(rlm.close)]) == ["WrongProcess"] * 2
        assert rlm.completion("three").response == "one", "the first context of the session"
    plain = scripted([turn] * 4)
    assert plain.completion("one").response == "one"
    assert forked(lambda: plain.completion("two").response) == "two"
    assert plain.completion("three").response == "three"


def test_a_stream_that_is_read_in_a_fork_is_an_error_there() -> None:
    stream = scripted([cell("final_answer(1)")]).stream("c")
    next(stream)
    assert forked(lambda: outcome(lambda: list(stream))) == "WrongProcess"
    assert type(list(stream)[-1]).__name__ == "RunCompleted"


def test_leaving_a_block_in_a_fork_is_an_error_unless_another_is_on_its_way() -> None:
    with Sandbox() as box:

        def leave(error: BaseException | None) -> str:
            def block() -> None:
                with box:
                    if error is not None:
                        raise error

            return outcome(block)

        assert forked(lambda: leave(None)) == "WrongProcess"

        def inside() -> str:
            def block() -> None:
                try:
                    raise KeyError("mine")
                except KeyError as error:
                    if not box.__exit__(type(error), error, error.__traceback__):
                        raise

            return outcome(block)

        assert forked(inside) == "KeyError"
        assert box.run("print(1)").stdout == "1\n"
