"""The local environment beside plain Python: a cold session, a warm cell, a large context."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence

from benchmarks.runner import Case, benchmark
from rlm_secure import Sandbox

CELL = "x = 1 + 1"
MEGABYTES_100 = 100_000_000


def in_process() -> None:
    """What an unprotected REPL does with a cell."""
    exec(compile(CELL, "<cell>", "exec"), {})


def subprocess_of_python() -> None:
    """What the simplest separate process costs."""
    subprocess.run([sys.executable, "-I", "-S", "-c", CELL], check=True)


def sandbox(context: object = None) -> None:
    """A session from nothing to its first result, and its end."""
    with Sandbox(context=context) as started:
        started.run(CELL).check()


@benchmark("cold-session", "from nothing to the first result, and the end")
def cold_session() -> Iterator[Sequence[Case]]:
    yield [
        Case("exec in this process", in_process),
        Case("python -I -S subprocess", subprocess_of_python),
        Case("Sandbox", sandbox),
    ]


@benchmark("warm-cell", "one cell in a session that is already there")
def warm_cell() -> Iterator[Sequence[Case]]:
    with Sandbox() as small, Sandbox(context="x" * MEGABYTES_100) as large:
        small_run, large_run = small.run, large.run
        yield [
            Case("exec in this process", in_process),
            Case("Sandbox.run", lambda: small_run(CELL)),
            Case("Sandbox.run, 100 MB of context held", lambda: large_run(CELL)),
        ]


@benchmark("context-100mb", "100 MB of text into a session, and its first cell")
def large_context() -> Iterator[Sequence[Case]]:
    text = "lorem ipsum\n" * (MEGABYTES_100 // 12)

    def copied() -> None:
        exec(compile("n = len(context)", "<cell>", "exec"), {"context": text.encode().decode()})

    yield [
        Case("encode, decode, exec in this process", copied),
        Case("Sandbox(context=text)", lambda: sandbox(text)),
    ]
