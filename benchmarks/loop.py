"""The overhead of the walls on a model call from a cell; and sub-calls and children compared with upstream's."""

from __future__ import annotations

import os
import subprocess
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from benchmarks._peer import MODEL_SECONDS, WORKLOADS, prepare
from benchmarks.runner import Case, benchmark
from rlm_secure.broker.protocol import Call
from rlm_secure.environments import get_environment
from rlm_secure.policy import Policy

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
