"""Ctrl-C ends each command soon, with 130, one line and no process left; SIGTERM the same, with 143.

Each case waits until the command is where it is to be caught: a module is imported, a line is out, a call is made.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from rlm_secure import __main__ as start
from tests.cli.conftest import environment
from tests.cli.test_exec import busy

#: Seconds that an end may take. It takes a tenth of one; the machine has other tests to run.
SOON = 2.0
LOOP = ("exec", "-c", "while True: pass")


@contextlib.contextmanager
def started(*arguments: str, python: tuple[str, ...] = (), **env: str) -> Iterator[subprocess.Popen[bytes]]:
    """`rlm-secure ARGUMENTS...` in a session of its own, as a terminal has it."""
    process = subprocess.Popen(
        [sys.executable, *python, "-m", "rlm_secure", *arguments],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        start_new_session=True,
        env=environment({"OPENAI_API_KEY": "none", **env}),
    )
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def ended(
    process: subprocess.Popen[bytes], number: signal.Signals = signal.SIGINT, *, group: bool = True, brief: bool = False
) -> list[str]:
    """The lines on stderr after the signal. Fails where it takes long, has another code, or leaves a process.

    A `brief` command may have done its work by then: an interpreter that is ending dies by the signal, which a shell
    tells as the same code.
    """
    children = psutil.Process(process.pid).children(recursive=True)
    began = time.monotonic()
    (os.killpg if group else os.kill)(process.pid, number)
    _, said = process.communicate(timeout=90)
    seconds = time.monotonic() - began
    _, left = psutil.wait_procs(children, timeout=5)
    # Who has ended stays a zombie in a container whose first process does not wait for orphans.
    alive = [each for each in left if each.is_running() and each.status() != psutil.STATUS_ZOMBIE]
    lines = [line for line in said.decode().splitlines() if not line.startswith("import time:")]
    assert process.returncode == 128 + number or (brief and process.returncode == -number), lines
    assert alive == [], lines
    assert seconds < SOON
    return lines


def imported(process: subprocess.Popen[bytes], module: str) -> None:
    """Wait until a process that was started with `-X importtime` has imported the module."""
    assert process.stderr is not None
    line = re.compile(rb"\|\s+" + re.escape(module.encode()) + rb"$")
    while read := process.stderr.readline():
        if line.search(read.rstrip()):
            return
    pytest.fail(f"{module} was never imported")


@pytest.fixture
def silent() -> Iterator[tuple[int, Callable[[], None]]]:
    """A port at which a server takes connections and never answers, and a function that waits for the first."""
    taken = threading.Event()
    kept: list[socket.socket] = []

    def take(server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while True:
                kept.append(server.accept()[0])
                if kept[-1].recv(1):
                    taken.set()

    with socket.create_server(("127.0.0.1", 0)) as server:
        threading.Thread(target=take, args=(server,), daemon=True).start()

        def wait() -> None:
            assert taken.wait(30)

        yield server.getsockname()[1], wait
        server.shutdown(socket.SHUT_RDWR)
    for each in kept:
        each.close()


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (("doctor",), "argparse"),
        (("doctor",), "rlm_secure.cli.terminal"),
        (LOOP, "subprocess"),  # what starts the process of its session
        (LOOP, "rlm_secure.environments.local.launch"),
    ],
)
def test_while_the_command_line_itself_is_imported(arguments: tuple[str, ...], module: str) -> None:
    with started(*arguments, python=("-X", "importtime")) as process:
        imported(process, module)
        # A loaded machine may have begun the command when the signal comes.
        assert ended(process) in ([], ["interrupted"])


@pytest.mark.parametrize(
    ("arguments", "module"),
    [
        (LOOP, "rlm_secure.cli.transfer"),
        (LOOP, "rlm_secure.policy"),
        (("run", "?", "--backend", "scripted", "--backend-arg", "turns=[]"), "rlm_secure.rlm.completion"),
        (("doctor", "--environment", "local"), "rlm_secure.environments.local.zygote"),
        (("audit", "--quick"), "rlm_secure.testing.arena"),
        (("demo",), "rlm_secure.rlm.completion"),
        (("policy", "check", "strict"), "rlm_secure.policy.model"),
        (("log", "view", "none.jsonl"), "rlm_secure.logger.audit_key"),
        (("arena", "--", "true"), "rlm_secure.testing.arena"),
    ],
    ids=lambda value: value[0] if isinstance(value, tuple) else "",
)
def test_while_a_command_starts(arguments: tuple[str, ...], module: str) -> None:
    with started(*arguments, python=("-X", "importtime")) as process:
        imported(process, module)
        assert ended(process, brief=arguments[0] in ("policy", "log")) in ([], ["interrupted"])


@pytest.mark.parametrize(
    ("number", "group"),
    [
        pytest.param(signal.SIGINT, True, id="ctrl-c"),
        pytest.param(signal.SIGTERM, False, id="kill"),
        pytest.param(signal.SIGINT, False, id="kill -INT", marks=pytest.mark.exhaustive),
        pytest.param(signal.SIGTERM, True, id="terminal", marks=pytest.mark.exhaustive),
    ],
)
def test_while_a_cell_loops(number: signal.Signals, group: bool) -> None:
    with started(*LOOP) as process:
        while not busy(psutil.Process(process.pid).children(recursive=True)):
            assert process.poll() is None
        assert ended(process, number, group=group) == ["interrupted"]


def test_while_a_model_does_not_answer(silent: tuple[int, Callable[[], None]]) -> None:
    port, asked = silent
    with started("run", "?", "--model", "m", "--base-url", f"http://127.0.0.1:{port}/v1") as process:
        asked()
        assert ended(process) == ["interrupted"]


def test_while_a_docker_engine_does_not_answer(silent: tuple[int, Callable[[], None]]) -> None:
    port, asked = silent
    command = ("sandbox", "build", "docker", "--base", "python")
    with started(*command, DOCKER_HOST=f"tcp://127.0.0.1:{port}") as process:
        asked()
        assert ended(process) == ["interrupted"]


def test_while_the_demo_answers_its_question() -> None:
    with started("demo") as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith(b"context:")
        assert ended(process) == ["interrupted"]


def test_while_an_audit_attacks() -> None:
    with started("audit", "--quick") as process:
        while len(psutil.Process(process.pid).children(recursive=True)) < 3:
            assert process.poll() is None
            time.sleep(0.02)
        assert ended(process) == ["interrupted"]


def test_an_interrupt_inside_exec_is_not_remembered_by_python() -> None:
    """Python ends by SIGINT itself, not with our code, where a KeyboardInterrupt left exec() of a text."""
    program = (
        "import rlm_secure.cli, rlm_secure.__main__ as start\n"
        "def run():\n    try:\n        exec('raise KeyboardInterrupt')\n    except KeyboardInterrupt:\n        return 130\n"
        "rlm_secure.cli.main = run\nraise SystemExit(start.main())"
    )
    assert subprocess.run([sys.executable, "-c", program]).returncode == 130


HALF_MADE = """
import sys, rlm_secure.cli.explain, rlm_secure.__main__ as start

class HalfMade:
    def __init__(self):
        raise KeyboardInterrupt

    def __del__(self):
        self.closed

def command(_):
    half_made = HalfMade()

rlm_secure.cli.explain.run = command
sys.argv[1:] = ["explain", "refusal"]
raise SystemExit(start.main())
"""


def test_what_an_interrupt_left_half_made_complains_to_nobody() -> None:
    done = subprocess.run([sys.executable, "-c", HALF_MADE], capture_output=True, text=True, timeout=150)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")


LOST = """
import os, signal, sys, time, rlm_secure.cli.explain, rlm_secure.__main__ as start

class Finalizer:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(1)  # the exception is raised in here, and dropped

def command(_):
    try:
        Finalizer()
        time.sleep(30)
    finally:
        time.sleep(0.5)  # longer than an interrupt may take to leave a trace, and not interrupted again
        print("closed", flush=True)

sys.unraisablehook = lambda _: None
rlm_secure.cli.explain.run = command
sys.exit(start.main())
"""


def test_an_interrupt_that_python_drops_is_raised_again_and_once() -> None:
    began = time.monotonic()
    done = subprocess.run([sys.executable, "-c", LOST, "explain", "x"], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "closed\n", "interrupted\n")
    assert time.monotonic() - began < 15


IN_A_CLASS = """
import signal, sys
import rlm_secure.__main__ as start
import rlm_secure.cli.explain

class Named:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGINT)

def command(_):
    type("Owner", (), {"each": Named()})

rlm_secure.cli.explain.run = command
sys.exit(start.main())
"""
IN_A_LIBRARY = IN_A_CLASS.replace(
    """    type("Owner", (), {"each": Named()})
""",
    """    try:
        signal.raise_signal(signal.SIGINT)
    except BaseException as error:
        raise TypeError("no such type") from error
""",
)


def test_an_interrupt_that_python_turns_into_another_error_is_one() -> None:
    """In a `__set_name__`, 3.11 makes it a RuntimeError: every class of an Enum that is imported has one."""
    done = subprocess.run([sys.executable, "-c", IN_A_CLASS, "explain", "x"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    done = subprocess.run([sys.executable, "-c", IN_A_LIBRARY, "explain", "x"], capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (130, "interrupted\n")
    failing = IN_A_LIBRARY.replace(" from error", "")  # as a cleanup that fails: it is told
    other = IN_A_CLASS.replace("signal.raise_signal(signal.SIGINT)", "raise KeyError")
    for program in (failing, other):
        done = subprocess.run([sys.executable, "-c", program, "explain", "x"], capture_output=True, text=True)
        assert done.returncode == 1 and "Traceback" in done.stderr


def test_signals_that_were_ignored_stay_ignored() -> None:
    """As a shell starts what it puts in the background, and nohup."""
    program = (
        "import signal, json, rlm_secure.cli.explain, rlm_secure.__main__ as start\n"
        "def command(_):\n    print(json.dumps(signal.getsignal(signal.SIGINT) is signal.SIG_IGN))\n    return 0\n"
        "rlm_secure.cli.explain.run = command\nraise SystemExit(start.main())"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, "explain", "x"],
        capture_output=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN),
    )
    assert json.loads(done.stdout) is True, done.stderr


def test_the_command_of_the_package_is_that_start() -> None:
    settings = Path(__file__).parents[2] / "pyproject.toml"
    assert f'rlm-secure = "{start.__name__}:main"' in settings.read_text()
