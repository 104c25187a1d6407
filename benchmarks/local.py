"""The local environment compared with plain `exec`, a plain subprocess and bubblewrap, in one run.

The plain subprocess does what a session does: it imports RestrictedPython, compiles one cell, runs it and answers; once
without, and once with the modules that the policy lets cells import. bubblewrap adds namespaces to the first, without
seccomp or Landlock. If it is not installed, its row is missing.
"""

from __future__ import annotations

import contextlib
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
import RestrictedPython

from benchmarks.runner import Case, benchmark
from rlm_secure import Policy, Sandbox
from rlm_secure.environments.context import share
from rlm_secure.environments.local import pool
from rlm_secure.environments.local.session import LocalSession, open_session
from rlm_secure.environments.local.zygote import Plan
from rlm_secure.guarantees import Wall
from rlm_secure.policy import Gate

CELL = "x = 1 + 1"
MEGABYTES_100 = 100_000_000
GIGABYTE = 1_000_000_000

_PACKAGES = str(Path(RestrictedPython.__file__).parents[1])
_WORKER = (
    f"import sys; sys.path.append({_PACKAGES!r}); from RestrictedPython import compile_restricted, safe_globals; "
    "space = dict(safe_globals); exec(compile_restricted(sys.stdin.read(), '<cell>', 'exec'), space); print(space['x'])"
)


def policy(name: str = "strict", **isolation: Any) -> Policy:
    """The policy `name`, but with limits high enough for the many cells of a benchmark."""
    base = Policy.load(name)
    return base.model_copy(
        update={
            "limits": base.limits.model_copy(update={"cells": 1_000_000, "resumes": 1_000_000}),
            "isolation": base.isolation.model_copy(update=isolation),
        }
    )


COLD = policy(pool=0)


def in_process() -> None:
    """Run the cell as an unprotected REPL does."""
    exec(compile(CELL, "<cell>", "exec"), {})


def subprocess_of_python(modules: Sequence[str] = ()) -> None:
    """Run the cell in a new process with the same compiler and no walls."""
    imports = "".join(f"import {name}; " for name in modules)
    command = [sys.executable, "-I", "-S", "-c", imports + _WORKER]
    subprocess.run(command, input=CELL, text=True, check=True, capture_output=True)


def bubblewrap() -> None:
    """Run the same process in namespaces of its own."""
    command = ["bwrap", "--unshare-all", "--die-with-parent", "--clearenv", "--ro-bind", "/", "/", "--proc", "/proc"]
    subprocess.run(
        [*command, sys.executable, "-I", "-S", "-c", _WORKER], input=CELL, text=True, check=True, capture_output=True
    )


class Sessions:
    """Opens sessions, and closes them later, so that the end of one is not timed with the start of the next."""

    def __init__(
        self, chosen: Policy, plan: Plan | None = None, required: tuple[Wall, ...] | None = None, *, cell: str = CELL
    ) -> None:
        self.policy, self.plan, self.required, self.cell = chosen, plan, required, cell
        self.open: list[LocalSession] = []

    def start(self) -> None:
        session = open_session(self.policy, plan=self.plan, required=self.required)
        if session.execute(self.cell, refuse).error is not None:
            raise AssertionError("the cell did not run")
        self.open.append(session)

    def close(self) -> None:
        while self.open:
            self.open.pop().close()


def repeated(action: Callable[[], object], times: int) -> Callable[[], None]:
    """A function that runs `action` `times` times."""

    def repeat() -> None:
        for _ in range(times):
            action()

    return repeat


def refuse(call: object) -> Any:
    raise AssertionError(f"no cell here calls anything: {call}")


@benchmark("cold-session", "from nothing to the first result; the machine's zygote is running")
def cold_session() -> Iterator[Sequence[Case]]:
    sessions = Sessions(COLD)
    cases = [
        Case("exec in this process", in_process),
        Case("python -I -S subprocess", subprocess_of_python),
        Case("the same with the policy's modules", lambda: subprocess_of_python(COLD.language.modules)),
    ]
    if shutil.which("bwrap"):
        cases.append(Case("bubblewrap + python", bubblewrap))

    def tidy() -> None:
        if len(sessions.open) > 20:
            sessions.close()
            time.sleep(0.1)

    def one_before() -> None:  # this session uses up the process that the zygote has forked in advance
        tidy()
        sessions.start()

    cases.append(Case("session", sessions.start, before=tidy))
    cases.append(Case("session, at once after another", sessions.start, before=one_before))
    yield cases
    sessions.close()


_IN_A_ROW = 50  # sessions of one figure: the kernel tells CPU time in hundredths of a second


def _spent() -> float:
    """CPU seconds of this process and its descendants, including dead ones."""
    own = psutil.Process()
    while True:  # retry if one ends during the sum, as its time would be lost
        with contextlib.suppress(psutil.NoSuchProcess):
            return sum(sum(each.cpu_times()[:4]) for each in (own, *own.children(recursive=True)))


@benchmark(
    "throughput", "sessions opened, used for one cell and closed: how many in a second, where the table says seconds"
)
def throughput() -> Iterator[Sequence[Case]]:
    sessions = Sessions(COLD)
    bare = Sessions(COLD, Plan(namespaces=False, landlock=False, seccomp=False, rlimits=False, mdwe=False), ())

    def rate(clock: Callable[[], float], of: Sessions = sessions) -> Callable[[], float]:
        def measure() -> float:
            began = clock()
            for _ in range(_IN_A_ROW):
                of.start()
                of.close()
            return _IN_A_ROW / (clock() - began)

        return measure

    yield [
        Case("one after another", lambda: None, value=rate(time.perf_counter)),
        Case("for a second of processor time", lambda: None, value=rate(_spent)),
        # The same fork, cell and end without walls: the upper bound of the rate with walls.
        Case("the same, forks without walls", lambda: None, value=rate(_spent, bare)),
    ]


#: Forks as many processes as each line says, each of which runs the cell and ends; tells the CPU seconds of them all.
_FORKS = f"""
import os, resource, sys
sys.path.append({_PACKAGES!r})
import RestrictedPython
code = compile({CELL!r}, '<cell>', 'exec')

def spent():
    return sum(sum(resource.getrusage(each)[:2]) for each in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))

for line in sys.stdin:
    began = spent()
    for _ in range(int(line)):
        if not (pid := os.fork()):
            exec(code, {{}})
            os._exit(0)
        os.waitpid(pid, 0)
    print(spent() - began, flush=True)
"""


@benchmark("session-cpu", "CPU time of a session: its start, one cell and its end, in all processes")
def session_cpu() -> Iterator[Sequence[Case]]:
    imports = "".join(f"import {name}\n" for name in COLD.language.modules)
    command = [sys.executable, "-I", "-S", "-c", imports + _FORKS]
    bare = Sessions(COLD, Plan(namespaces=False, landlock=False, seccomp=False, rlimits=False, mdwe=False), ())

    def used(sessions: Sessions) -> Callable[[], float]:
        def measure() -> float:
            began = _spent()
            for _ in range(_IN_A_ROW):
                sessions.start()
                sessions.close()
            return (_spent() - began) / _IN_A_ROW

        return measure

    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as plain:
        told, tells = plain.stdin, plain.stdout
        assert told is not None and tells is not None

        def forked() -> float:
            print(_IN_A_ROW, file=told, flush=True)
            return float(tells.readline()) / _IN_A_ROW

        yield [
            # What no session can cost less than that is a process of its own, with the modules of cells.
            Case("fork, cell and end of a plain process with the policy's modules", lambda: None, value=forked),
            Case("a session whose process has no walls", lambda: None, value=used(bare)),
            Case("a session", lambda: None, value=used(Sessions(COLD))),
        ]


@benchmark("pooled-session", "from the pool to the first result")
def pooled_session() -> Iterator[Sequence[Case]]:
    size = 16
    sessions = Sessions(policy(pool=size))
    sessions.start()

    def action() -> None:
        # The pool refills in the background; between two requests a deployment finds it full.
        for _ in range(size // 2):
            sessions.start()

    def prepare() -> None:
        sessions.close()
        deadline = time.monotonic() + 2
        while pool.ready() < size and time.monotonic() < deadline:
            time.sleep(0.005)

    used = open_session(COLD)
    yield [
        Case("exec in this process", in_process),
        Case("session from the pool", action, units=size // 2, before=prepare),
        # The first cell of a pooled process finds cold caches, as any cell after a pause: this measures their cost.
        Case(
            "a cell after 20 ms, in a session that is there",
            lambda: used.execute(CELL, refuse),
            before=lambda: time.sleep(0.02),
        ),
    ]
    used.close()
    sessions.close()
    pool.drain()  # else pooled processes count as memory of the sessions that are measured next


@benchmark("warm-cell", "one cell in a session that is there, through the public API")
def warm_cell() -> Iterator[Sequence[Case]]:
    with Sandbox(policy=COLD) as small, Sandbox(policy=COLD, context="x" * GIGABYTE) as large:
        small_run, large_run = small.run, large.run
        in_a_row = 20  # in sequence, like the cells of a session: the first one after other work finds cold caches
        yield [
            Case("exec in this process", repeated(in_process, in_a_row), units=in_a_row),
            Case("Sandbox.run", repeated(lambda: small_run(CELL), in_a_row), units=in_a_row),
            Case("Sandbox.run, 1 GB of context held", repeated(lambda: large_run(CELL), in_a_row), units=in_a_row),
        ]


@benchmark("context-100mb", "100 MB of text into a session")
def large_context() -> Iterator[Sequence[Case]]:
    text = "lorem ipsum\n" * (MEGABYTES_100 // 12)
    shared = share(text, Gate(COLD))
    opened: list[LocalSession] = []

    def fresh() -> None:  # a new session each time: a session keeps the pages of every context that it was given
        close()
        opened.append(open_session(COLD))

    def close() -> None:
        while opened:
            opened.pop().close()

    yield [
        Case("encode and decode in this process", lambda: text.encode().decode()),
        Case("from a Python str", lambda: opened[0].load_context("context", text), before=fresh),
        Case("shared by a second session", lambda: opened[0].load_context("context", shared), before=fresh),
    ]
    close()
    shared.close()


@benchmark(
    "fork", "64 copies of a session with 100 MB of context, each changed; memory in bytes where the table says seconds"
)
def forks() -> Iterator[Sequence[Case]]:
    count = 64
    shared = share("lorem ipsum\n" * (MEGABYTES_100 // 12), Gate(COLD))
    made: list[LocalSession] = []

    def fresh() -> LocalSession:
        session = open_session(COLD)
        session.load_context("context", shared)
        session.execute("lines = context[:1_000_000].split('\\n')", refuse)
        return session

    def close() -> None:
        while made:
            made.pop().close()

    def many(begin: Callable[[], LocalSession], count: int = count) -> Callable[[], None]:
        def action() -> None:
            for number in range(count):
                made.append(begin())
                if made[-1].execute(f"lines[{number}] = len(context)", refuse).error is not None:
                    raise AssertionError("a copy did not run")

        return action

    def each() -> float:
        """Of each session that was made, its part of all memory that processes of this one take."""
        total = 0
        for child in psutil.Process().children(recursive=True):
            with contextlib.suppress(psutil.Error):  # only root may read the memory maps of a session
                total += int(child.memory_full_info().pss)
        return (total - alone) / count

    origin = fresh()
    origin.fork().close()  # the first copy takes two checkpoints
    alone = 0
    alone = int(each() * count)
    sessions, copies = many(fresh), many(origin.fork)
    few_sessions, few_copies = many(fresh, 4), many(origin.fork, 4)
    yield [
        Case("a session with that context in shared memory", sessions, units=count, before=close, small=few_sessions),
        Case("a copy", copies, units=count, before=close, small=few_copies),
        Case("memory of the session (proportional set size)", sessions, before=close, value=each, small=few_sessions),
        Case("memory of the copy", copies, before=close, value=each, small=few_copies),
    ]
    close()
    origin.close()
    shared.close()


@benchmark("session-end", "a session's death, and life after a kill")
def session_end() -> Iterator[Sequence[Case]]:
    opened: list[LocalSession] = []

    def one() -> None:
        opened.append(open_session(COLD))
        opened[-1].execute(CELL, refuse)

    survivor = open_session(COLD)
    survivor.execute("big = list(range(100_000))", refuse)
    survivor.checkpoint()

    def kill() -> None:
        survivor.checkpoint()
        with survivor._lock:  # not while the idle scheduler turns this worker into a checkpoint
            survivor._worker.kill()  # as the OOM killer or a crash would do

    yield [
        Case("exec in this process", in_process),
        Case("kill to gone", lambda: opened.pop().close(), before=one),
        Case("resume after a kill, and the next cell", lambda: resume(survivor), before=kill),
    ]
    survivor.close()


def resume(session: LocalSession) -> None:
    session.execute(CELL, refuse)  # finds the worker dead, and resumes from the checkpoint
    if session.execute("assert big[-1] == 99_999", refuse).error is not None:
        raise AssertionError("the state did not come back")


@benchmark("memory", "private memory of idle sessions, in bytes where the table says seconds")
def memory() -> Iterator[Sequence[Case]]:
    count = 50
    sessions = [open_session(COLD) for _ in range(count)]
    for session in sessions:
        session.execute(CELL, refuse)

    def size(process: psutil.Process, kind: str) -> int:
        try:
            return int(getattr(process.memory_full_info(), kind))
        except psutil.AccessDenied:  # a session is not dumpable: only root may read its memory maps
            return int(process.memory_info().rss)
        except psutil.NoSuchProcess:  # a spare one that has just ended
            return 0

    def each(kind: str) -> Callable[[], float]:
        return lambda: sum(size(child, kind) for child in psutil.Process().children(recursive=True)) / count

    yield [
        Case("one session, its own pages (unique set size; resident without root)", lambda: None, value=each("uss")),
        Case("with its share of the zygote (proportional set size)", lambda: None, value=each("pss")),
    ]
    for session in sessions:
        session.close()
