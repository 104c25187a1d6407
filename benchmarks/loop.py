"""The overhead of the walls on a model call from a cell; and sub-calls and children compared with upstream's."""

from __future__ import annotations

import asyncio
import functools
import os
import subprocess
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path

from benchmarks._peer import MODEL_SECONDS, ROOT, WORKLOADS, fake_client, prepare
from benchmarks.runner import Case, benchmark
from rlm_secure import RLM, Sandbox
from rlm_secure.broker.protocol import Call
from rlm_secure.clients.base import BaseLM
from rlm_secure.environments import get_environment
from rlm_secure.policy import Policy
from rlm_secure.rlm.budget import Allowance, Ledger
from rlm_secure.rlm.handler import LMHandler
from rlm_secure.rlm.loops import take
from rlm_secure.rlm.tree import Tree

CALLS = 100
CELL = f"for _ in range({CALLS}):\n    llm_query('a question')"

UPSTREAM = "rlms==0.1.3"
#: Upstream is installed here when it is first measured; RLMS_PYTHON may name an interpreter that already has it.
UPSTREAM_VENV = Path(__file__).parent.parent / "build" / "rlms-venv"


def answer(_: Call) -> str:
    """A model that takes no time."""
    return "an answer"


@benchmark("llm-query", "one llm_query of a cell, answered by a model that takes no time")
def llm_query() -> Iterator[Sequence[Case]]:
    plain: dict[str, Callable[[str], str]] = {"llm_query": lambda _: "an answer"}
    with get_environment("local", {"calls": answer}) as repl:
        yield [
            Case("exec in this process", lambda: exec(compile(CELL, "<cell>", "exec"), plain), CALLS),
            Case("a cell in a local session", lambda: repl.execute_code(CELL).check(), CALLS),
        ]


@benchmark("llm-batch-64", f"a run with 64 llm_query_batched prompts, {MODEL_SECONDS * 1000:.0f} ms each")
def llm_batch() -> Iterator[Sequence[Case]]:
    rounds = -(-64 // Policy().lm.concurrency)
    with upstream("batch") as peer:
        yield [
            Case("ideal: 16 at a time", lambda: time.sleep(rounds * MODEL_SECONDS)),
            Case("rlm_secure", prepare("rlm_secure", "batch")),
            Case("upstream (rlms)", peer),
        ]


@benchmark(
    "children-16", f"a run with 16 children at once, each with a sandbox and a {MODEL_SECONDS * 1000:.0f} ms call"
)
def children() -> Iterator[Sequence[Case]]:
    with upstream("children") as peer:
        yield [
            Case("one after another", lambda: time.sleep(16 * MODEL_SECONDS)),
            Case("rlm_secure", prepare("rlm_secure", "children")),
            Case("upstream (rlms), without sandboxes", peer),
        ]


@benchmark("run", "a whole run of one turn and one cell, with a model that takes no time")
def run() -> Iterator[Sequence[Case]]:
    with upstream("turn") as peer:
        yield [
            Case("rlm_secure", prepare("rlm_secure", "turn")),
            Case("upstream (rlms), without a sandbox", peer),
        ]


#: Sessions and runs of one figure of CPU time: the kernel tells that of ended processes in hundredths of a second.
UNITS = 40
PROMPT, ANSWERING = "x", "x = 1\nanswer['content'] = 'a'\nanswer['ready'] = True\n"


def session() -> None:
    """A session with the context and the cell of `one_turn`."""
    with Sandbox(context=PROMPT) as sandbox:
        sandbox.run(ANSWERING)


def one_turn() -> None:
    """A run of one turn and one cell."""
    RLM(backend="scripted", backend_kwargs={"turns": [f"```repl\n{ANSWERING}```"]}).completion(PROMPT, ROOT)


def cpu_seconds() -> float:
    """CPU seconds of this process and of everything below it, with what has ended."""
    total, below = time.process_time(), [*children_of("self")]
    while below:
        pid = below.pop()
        with suppress(OSError):
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
            total += sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")
            below += children_of(pid)
    return total


def children_of(pid: str) -> list[str]:
    """The pids of the children of a process."""
    with suppress(OSError):
        return [each for file in Path(f"/proc/{pid}/task").glob("*/children") for each in file.read_text().split()]
    return []


def cpu_case(name: str, action: Callable[[], object], units: int, clock: Callable[[], float]) -> Case:
    """A case whose figure is what `clock` tells of `units` calls of `action`, for one of them."""
    taken = 0.0

    def measured(calls: int = units) -> None:
        nonlocal taken
        before = clock()
        for _ in range(calls):
            action()
        taken = clock() - before

    return Case(name, measured, units, value=lambda: taken, small=lambda: measured(2))


async def reply() -> str:
    """A model that takes no time, on an event loop."""
    return "an answer"


@benchmark("run-cpu", "CPU time of a run of one turn and one cell, beside that of a session with its context and cell")
def run_cpu() -> Iterator[Sequence[Case]]:
    loop = take("benchmark")

    def called() -> None:
        asyncio.run_coroutine_threadsafe(reply(), loop.events).result()
        session()

    yield [
        cpu_case("a session, with its worker", session, UNITS, cpu_seconds),
        cpu_case("a session and a call, with its worker", called, UNITS, cpu_seconds),
        cpu_case("a run, with its worker", one_turn, UNITS, cpu_seconds),
        cpu_case("a session, in this process", session, UNITS, time.process_time),
        cpu_case("a run, in this process", one_turn, UNITS, time.process_time),
    ]
    loop.end()


@benchmark("run-wall", "a whole run of one turn and one cell, beside a session with its context and cell")
def run_wall() -> Iterator[Sequence[Case]]:
    yield [Case("a session", session), Case("a run", one_turn)]


@benchmark("children-16-cpu", "CPU time of a run with 16 children at once, beside that of 16 sessions at once")
def children_cpu() -> Iterator[Sequence[Case]]:
    def sessions() -> None:
        with ThreadPoolExecutor(16) as threads:
            list(threads.map(lambda _: session(), range(16)))

    children = prepare("rlm_secure", "children")
    yield [
        cpu_case("16 sessions, with their workers", sessions, 4, cpu_seconds),
        cpu_case("16 children, with their workers", children, 4, cpu_seconds),
    ]


def batch_at(prompts: int, concurrency: int) -> Iterator[Sequence[Case]]:
    """A batch of calls of MODEL_SECONDS each, beside the time that they take at least, and beside asyncio.gather."""
    client: BaseLM = fake_client("rlm_secure", "")()
    policy = Policy.model_validate({"name": "benchmark", "lm": {"concurrency": concurrency}})

    async def gathered() -> None:
        slots = asyncio.Semaphore(concurrency)

        async def one() -> None:
            async with slots:
                await client.acompletion("q")

        await asyncio.gather(*(one() for _ in range(prompts)))

    def batch() -> None:
        tree = Tree(Ledger(Allowance.of(policy)), concurrency=concurrency, children=1, policy=policy)
        with tree, LMHandler(client, tree=tree) as handler:
            answers = handler.complete_all(["q"] * prompts)
        assert [each.response for each in answers] == ["reply"] * prompts

    ideal = -(-prompts // concurrency) * MODEL_SECONDS
    yield [
        Case("ideal", lambda: time.sleep(ideal)),
        Case("asyncio.gather", lambda: asyncio.run(gathered())),
        Case("rlm_secure", batch),
    ]


for _prompts, _concurrency in ((16, 1), (64, 4), (64, 16), (64, 64)):
    benchmark(
        f"batch-{_prompts}-at-{_concurrency}",
        f"{_prompts} calls of {MODEL_SECONDS * 1000:.0f} ms each, {_concurrency} at a time",
    )(functools.partial(batch_at, _prompts, _concurrency))


@contextmanager
def upstream(workload: str) -> Iterator[Callable[[], None]]:
    """A function that runs the workload once in upstream's interpreter."""
    assert workload in WORKLOADS
    peer = subprocess.Popen(
        [str(upstream_python()), str(Path(__file__).with_name("_peer.py")), "rlm"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert peer.stdin is not None
    assert peer.stdout is not None
    stdin, stdout = peer.stdin, peer.stdout

    def once() -> None:
        print(workload, file=stdin, flush=True)
        if not stdout.readline():
            raise RuntimeError("upstream's process ended; run benchmarks/_peer.py with its interpreter to see why")

    try:
        yield once
    finally:
        stdin.close()
        peer.wait(10)
        stdout.close()


def upstream_python() -> Path:
    """An interpreter with upstream's package, in a venv of its own because its dependencies differ from ours."""
    given = os.environ.get("RLMS_PYTHON")
    if given:
        return Path(given)
    python = UPSTREAM_VENV / "bin" / "python"
    if not (UPSTREAM_VENV / "complete").exists():
        venv.create(UPSTREAM_VENV, with_pip=False, clear=True)
        install = Path(__file__).parents[1] / ".ci" / "install"
        # 2 and not sys.stderr: if that is captured, it has no file descriptor.
        subprocess.run([install, UPSTREAM_VENV, UPSTREAM], check=True, stdout=2)
        (UPSTREAM_VENV / "complete").touch()
    return python
