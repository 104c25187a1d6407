"""From the start of a program to its first result, beside the interpreter alone and a plain child process.

Every case is a process of its own, with a warm file cache. The CPU rows count all its processes, those that prepare
the next sessions included, where the table says seconds.
"""

from __future__ import annotations

import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence

from benchmarks.runner import Case, benchmark
from rlm_secure import Policy

CELL = "1 + 1"
_CHILD = f"print(eval(compile({CELL!r}, '<cell>', 'eval')), flush=True)"
_MODULES = ", ".join((*Policy.load("strict").language.modules, "RestrictedPython"))


def _child(program: str) -> str:
    return f"import subprocess, sys; subprocess.run([sys.executable, '-I', '-c', {program!r}], check=True)"


_LIBRARY = f"""
from rlm_secure import Sandbox
with Sandbox() as sandbox:
    print(sandbox.run({CELL!r}).text, flush=True)
"""
# The command without its policy's walls, its command line and its messages: what is left is two interpreters, the
# imports of both, and a session.
_BARE = f"""
from rlm_secure.environments.local import launch
launch.ahead()
from rlm_secure.environments.local.session import open_session
from rlm_secure.environments.local.zygote import Plan
from rlm_secure.policy import shipped
plan = Plan(namespaces=False, landlock=False, seccomp=False, rlimits=False, mdwe=False)
session = open_session(shipped.policy("strict"), plan=plan, required=())
print(session.execute("print({CELL})", print).stdout, end="", flush=True)
session.close()
"""
PROGRAMS = {
    "python -c pass": ["-c", "pass"],
    "python -I -S -c pass": ["-I", "-S", "-c", "pass"],
    # What a program does with the interpreter alone: start another one that compiles and runs the cell.
    "a plain child process": ["-c", _child(_CHILD)],
    # The least that a first session waits for: a process that has imported the modules of its cells, and its compiler.
    "a plain child process with the policy's modules": ["-c", _child(f"import {_MODULES}; {_CHILD}")],
    "a session whose process has no walls": ["-c", _BARE],
    "import rlm_secure": ["-c", "import rlm_secure"],
    "Sandbox().run": ["-c", _LIBRARY],
    "rlm-secure exec -c": ["-m", "rlm_secure", "exec", "-c", CELL],
}
#: Those that write no result.
SILENT = ("python -c pass", "python -I -S -c pass", "import rlm_secure")


def started(arguments: Sequence[str]) -> Callable[[], None]:
    """Run a program to its end."""

    def action() -> None:
        subprocess.run([sys.executable, *arguments], check=True, capture_output=True)

    return action


def answered(name: str, arguments: Sequence[str]) -> Case:
    """The time until a program writes its first line. It ends untimed."""
    took = 0.0

    def action() -> None:
        nonlocal took
        began = time.perf_counter()
        with subprocess.Popen([sys.executable, *arguments], stdout=subprocess.PIPE) as process:
            assert process.stdout and process.stdout.readline() == b"2\n"
            took = time.perf_counter() - began
        assert process.returncode == 0

    return Case(name, action, value=lambda: took)


def processor(arguments: Sequence[str]) -> Case:
    """The CPU time of a program and its children."""
    used = 0.0
    program = started(arguments)

    def spent() -> float:
        usage = resource.getrusage(resource.RUSAGE_CHILDREN)
        return usage.ru_utime + usage.ru_stime

    def action() -> None:
        nonlocal used
        before = spent()
        program()
        used = spent() - before

    return Case("", action, value=lambda: used)


@benchmark("start", "from the start of a program to its end, with one result")
def start() -> Iterator[Sequence[Case]]:
    """The wall time of each program."""
    yield [Case(name, started(arguments)) for name, arguments in PROGRAMS.items()]


@benchmark("first-result", "from the start of a program to its first result")
def first_result() -> Iterator[Sequence[Case]]:
    """The wall time of each program that has one."""
    yield [answered(name, arguments) for name, arguments in PROGRAMS.items() if name not in SILENT]


@benchmark("start-cpu", "the same in CPU time, of all its processes")
def start_cpu() -> Iterator[Sequence[Case]]:
    """The CPU time of each program."""
    yield [
        Case(name, measured.action, value=measured.value)
        for name, measured in ((name, processor(arguments)) for name, arguments in PROGRAMS.items())
    ]
