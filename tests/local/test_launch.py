"""The process that is started ahead: for one session, by its own program alone, and never left behind."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

pytestmark = pytest.mark.timeout(300)

BEGIN = """
import json, os, sys, time
import psutil
before = {*sys.modules}  # a program that measures the tests has modules of its own
from rlm_secure import Sandbox, errors
from rlm_secure.environments.local import launch
def children():
    return sorted(each.pid for each in psutil.Process().children())
"""


def told(code: str) -> object:
    """What a program of its own prints, as JSON; nothing of it is left."""
    done = subprocess.run([sys.executable, "-c", BEGIN + code], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def gone(pid: int) -> bool:
    """Whether a process ends within a minute, which a loaded machine may need for its imports."""
    until = time.monotonic() + 60
    while time.monotonic() < until:
        if not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE:
            return True
        time.sleep(0.05)
    return False


def test_the_first_session_has_the_process_that_was_started_ahead() -> None:
    assert told("""
launch.ahead()
(first,) = children()
launch.ahead()
assert children() == [first]
with Sandbox() as sandbox:
    text = sandbox.run("6 * 7").text
    assert children() == [first]
with Sandbox() as sandbox:
    launch.ahead()
    assert children() == [first]
print(json.dumps(text))
""") == "42"


def test_it_is_started_before_what_talks_to_it_is_imported() -> None:
    assert told("""
seen = []
real = launch.ahead
def ahead():
    real()
    late = ("rlm_secure.environments.re", "rlm_secure.policy.", "pydantic", "tomllib")
    seen.append([name for name in sys.modules if name.startswith(late) and name not in before])
launch.ahead = ahead
with Sandbox() as sandbox:
    seen.append(sandbox.run("6 * 7").text)
print(json.dumps([seen[0], seen[-1]]))
""") == [[], "42"]


def test_what_it_waits_for_is_imported_first_and_nothing_else() -> None:
    program = """
import sys
before = {*sys.modules}  # a program that measures the tests has modules of its own
from rlm_secure import Sandbox
from rlm_secure.environments.local import launch
from rlm_secure.resources import policy_names
policy_names()
launch.ahead()
late = "logging hashlib pathlib platform urllib dataclasses ctypes json".split()
print([name for name in late if name in sys.modules and name not in before])
"""
    keeps = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    for _ in range(2):  # the first start after a change writes the archive, and imports more for that
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=200, env=keeps)
    assert (done.stdout, done.stderr) == ("[]\n", "")


def test_the_next_session_s_process_is_forked_after_the_one_that_a_caller_waits_for() -> None:
    assert told("""
from rlm_secure.environments.local import pool
real, seen = pool.fork_worker, []
def fork_worker(spec, *, warm=False):
    seen.append([warm, pool._pool._thread is not None])
    return real(spec, warm=warm)
pool.fork_worker = fork_worker
with Sandbox() as sandbox:
    while len(seen) < 2:
        time.sleep(0.01)
print(json.dumps(seen[:2]))
""") == [[False, False], [True, True]]


def test_ctrl_c_after_a_session_s_process_was_forked_ends_it() -> None:
    assert told("""
from rlm_secure.environments.local import pool
real, made = pool.fork_worker, []
def fork_worker(spec):
    made.append(real(spec))
    return made[-1]
def refill(self):
    raise KeyboardInterrupt
pool.fork_worker, pool._Pool.refill = fork_worker, refill
try:
    Sandbox()
except KeyboardInterrupt:
    (worker,) = made
    print(json.dumps(worker.process.alive()))
""") is False


@pytest.mark.parametrize(
    ("opened", "error"),
    [
        ("Sandbox({'isolation': {'environments': ['docker']}})", "Refused"),
        ("Sandbox('strickt')", "PolicyError"),
        ("Sandbox(environment='docker', environment_kwargs={'nothing': 1})", "TypeError"),
        ("Sandbox(environment='nowhere')", "Refused ValueError"),
        ("Sandbox('/no/such/policy.toml')", "PolicyError"),
    ],
)
def test_none_is_started_where_no_local_session_may_be(opened: str, error: str) -> None:
    kind, started = told(f"""
import subprocess
count = []
real = subprocess.Popen
subprocess.Popen = lambda *args, **kwargs: count.append(1) or real(*args, **kwargs)
try:
    {opened}
except Exception as error:
    print(json.dumps([type(error).__name__, len(count)]))
""")  # type: ignore[misc]
    assert kind in error.split()
    assert started == 0


@pytest.mark.parametrize(
    "given",
    [
        "context=__import__('pathlib').Path('/nowhere/at/all')",
        "environment_kwargs={'nothing': 1}",
        "tools={'print': print}",
    ],
)
def test_a_start_that_fails_leaves_none_behind(given: str) -> None:
    assert told(f"""
before = len(os.listdir("/proc/self/fd"))
try:
    Sandbox({given})
except (errors.ContextError, TypeError, ValueError):
    left = children(), len(os.listdir("/proc/self/fd")) - before
with Sandbox() as sandbox:
    text = sandbox.run("6 * 7").text
print(json.dumps([*left, text]))
""") == [[], 0, "42"]


def test_one_that_died_is_replaced() -> None:
    assert told("""
import signal
launch.ahead()
os.kill(children()[0], signal.SIGKILL)
with Sandbox() as sandbox:
    print(json.dumps(sandbox.run("6 * 7").text))
""") == "42"


def test_what_prevents_the_start_is_said_where_the_session_is_opened() -> None:
    assert "No such file" in str(told("""
real, sys.executable = sys.executable, "/nowhere/python"
try:
    Sandbox()
except errors.EnvironmentUnavailable as error:
    said = str(error)
sys.executable = real
with Sandbox() as sandbox:
    assert sandbox.run("6 * 7").text == "42"
print(json.dumps(said))
"""))


def test_a_fork_of_the_host_has_its_own() -> None:
    assert told("""
launch.ahead()
(parents,) = children()
reader, writer = os.pipe()
pid = os.fork()
if pid == 0:
    with Sandbox() as sandbox:
        os.write(writer, f"{sandbox.run('6 * 7').text} {parents in children()}".encode())
    os._exit(0)
os.waitpid(pid, 0)
theirs = os.read(reader, 99).decode()
with Sandbox() as sandbox:
    print(json.dumps([theirs, sandbox.run("6 * 7").text, children() == [parents]]))
""") == ["42 False", "42", True]


def test_a_fork_in_the_middle_of_a_start_does_not_keep_it() -> None:
    code = f"""{BEGIN}
import subprocess, threading
begun, real = threading.Event(), subprocess.Popen
def popen(*args, **kwargs):
    made = real(*args, **kwargs)
    print(made.pid, flush=True)
    begun.set()
    time.sleep(1)
    return made
subprocess.Popen = popen
threading.Thread(target=launch.ahead, daemon=True).start()
begun.wait()
child = os.fork()
if child == 0:
    os.close(1)
    time.sleep(100)
    os._exit(0)
print(child, flush=True)
os._exit(0)
"""
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=200)
    pid, child = map(int, done.stdout.split())
    try:
        assert gone(pid)
        assert psutil.pid_exists(child)
    finally:
        psutil.Process(child).kill()


def test_a_fork_goes_on_where_the_start_itself_waits_for_it() -> None:
    """As a handler of logging that opens a session: logging's lock, which a fork takes, is held meanwhile."""
    assert told("""
import threading
begun, forked = threading.Event(), threading.Event()
def starts():
    with launch._starting:
        begun.set()
        forked.wait()
threading.Thread(target=starts, daemon=True).start()
begun.wait()
pid = os.fork()
if pid == 0:
    with Sandbox() as sandbox:
        os._exit(int(sandbox.run("6 * 7").text))
forked.set()
with Sandbox() as sandbox:
    print(json.dumps([os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), sandbox.run("6 * 7").text]))
""") == [42, "42"]


def test_a_session_starts_where_a_fork_waits_for_what_it_has() -> None:
    assert told("""
import logging, threading
logging._acquireLock()
forking = threading.Thread(target=lambda: os.fork() or os._exit(0))
forking.start()
time.sleep(0.5)
with Sandbox() as sandbox:
    print(json.dumps(sandbox.run("6 * 7").text))
logging._releaseLock()
forking.join()
""") == "42"


def test_once_one_was_started_a_session_waits_for_no_fork() -> None:
    assert told("""
import threading
with Sandbox():
    pass
begun = threading.Event()
def holds():
    with launch._starting:
        begun.set()
        time.sleep(600)
threading.Thread(target=holds, daemon=True).start()
begun.wait()
launch.ahead()
print(json.dumps(True))
sys.stdout.flush()
os._exit(0)
""") is True


@pytest.mark.parametrize("end", ["sys.exit()", "os._exit(0)", "os.kill(os.getpid(), 9)"])
def test_one_that_nobody_took_ends_with_its_program(end: str) -> None:
    code = f"{BEGIN}\nlaunch.ahead()\nprint(*children(), flush=True)\n{end}\n"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=200)
    assert gone(int(done.stdout))


COMMAND = """
import json, subprocess, sys
from rlm_secure import __main__ as program
started = []
real = subprocess.Popen
def popen(*args, **kwargs):
    started.append([name for name in sys.modules if name.startswith("rlm_secure.cli") or name == "argparse"])
    return real(*args, **kwargs)
subprocess.Popen = popen
"""


def command(*arguments: str) -> tuple[object, list[list[str]]]:
    """The exit code of a command line, and the modules of it that were there at the start of each process."""
    code = f"""{COMMAND}
sys.argv = ["rlm-secure", *{arguments!r}]
try:
    code = program.main()
except SystemExit as error:
    code = error.code
print(json.dumps([code, started]))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=200)
    last = done.stdout.splitlines()[-1]
    return tuple(json.loads(last))  # type: ignore[return-value]


def test_a_command_starts_it_before_it_imports_its_parser() -> None:
    assert command("exec", "-c", "6 * 7") == (0, [[]])


@pytest.mark.parametrize("opened", ["Sandbox(policy)", "Sandbox(tables)", "command(policy)"])
def test_one_is_started_before_a_policy_of_ones_own_is_checked(opened: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text('extends = "standard"\n[limits]\ncell_seconds = 5.0\n')
    assert told(f"""
import subprocess
from rlm_secure import __main__ as program
policy = {str(tmp_path / "own.toml")!r}
tables = {{"limits": {{"cell_seconds": 5.0}}}}
started = []
real = subprocess.Popen
def popen(*args, **kwargs):
    started.append("pydantic" in sys.modules)
    return real(*args, **kwargs)
subprocess.Popen = popen
def command(policy):
    sys.argv = ["rlm-secure", "exec", "-c", "x = 1", "--policy", policy]
    program.main()
made = {opened}
print(json.dumps(started))
made and made.close()
""") == [False]


@pytest.mark.parametrize("wrong", ["cell_seconds = -1.0", "cell_seconds = 5.0"])
def test_a_command_that_reads_something_wrong_leaves_none_behind(wrong: str, tmp_path: Path) -> None:
    (tmp_path / "own.toml").write_text(f"[limits]\n{wrong}\n")
    assert told(f"""
from rlm_secure import __main__ as program
arguments = ["-c", "x = 1", "--policy", {str(tmp_path / "own.toml")!r}, "--context", "/no/such/file"]
sys.argv = ["rlm-secure", "exec", *arguments]
real, started = launch.ahead, []
launch.ahead = lambda: (real(), started.extend(children()))
try:
    code = program.main()
except SystemExit as error:
    code = error.code
print(json.dumps([code, len(started), children()]))
""") == [2, 1, []]


def test_a_command_line_that_is_none_leaves_nothing_behind() -> None:
    code = f"{BEGIN}from rlm_secure import __main__ as program\nsys.argv = ['rlm-secure', 'exec', '--no']\n"
    code += "try:\n    program.main()\nexcept SystemExit:\n    pass\n"
    code += "(pid,) = children()\nprint(pid, flush=True)\n"
    done = subprocess.run([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, timeout=200)
    assert not psutil.pid_exists(int(done.stdout))


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (("exec", "--help"), 0),
        (("exec", "-c", "1", "--environment", "nowhere"), 2),
        (("exec", "-c", "1", "--environment=nowhere"), 2),
        (("exec", "-c", "1", "--policy", "/no/such/policy.toml"), 2),
        (("log", "/no/such/file"), 2),
        ((), 2),
    ],
)
def test_a_command_that_may_want_no_local_session_starts_none(arguments: tuple[str, ...], code: int) -> None:
    assert command(*arguments) == (code, [])


def test_who_waited_while_another_thread_started_one_starts_none() -> None:
    assert told("""
import threading
with launch._starting:
    waits = threading.Thread(target=launch.ahead)
    waits.start()
    time.sleep(0.3)
    launch._any = True
waits.join()
print(json.dumps(children()))
""") == []
