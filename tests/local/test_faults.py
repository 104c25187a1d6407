"""Death is normal: of workers, zygotes and hosts, at any moment; and nothing is left behind."""

from __future__ import annotations

import contextlib
import gc
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import textwrap
import threading
import time
from pathlib import Path

import psutil
import pytest

from rlm_secure import (
    CellCrashed,
    CellError,
    EnforcementError,
    EnvironmentUnavailable,
    RLMSecureError,
    Sandbox,
    SessionEnded,
)
from rlm_secure.environments.local import pool
from rlm_secure.environments.local import zygote as zygotes


def pid_of(box) -> int:
    """The worker's pid in this host's namespace."""
    text = Path(f"/proc/self/fdinfo/{box._repl.session._worker._pidfd}").read_text()
    return next(int(line.split()[1]) for line in text.splitlines() if line.startswith("Pid:"))


def family(pid: int) -> list[psutil.Process]:
    return [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]


def gone(processes: list[psutil.Process], seconds: float) -> bool:
    _, alive = psutil.wait_procs(processes, timeout=seconds)
    return not [process for process in alive if process.status() != psutil.STATUS_ZOMBIE]


def run_host(code: str, **kwargs) -> subprocess.Popen:
    """A host of its own in another process; its first line of output says that it is ready."""
    command = [sys.executable, "-c", textwrap.dedent(code)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **kwargs)


@pytest.mark.parametrize("delay", [0.0, 0.002, 0.01, 0.05])
def test_a_worker_killed_in_the_middle_of_a_cell_is_a_typed_error_and_the_state_comes_back(delay):
    with Sandbox() as box:
        box.run("before = 5")
        pid = pid_of(box)
        threading.Timer(0.1 + delay, os.kill, (pid, signal.SIGKILL)).start()
        result = box.run("while True: pass")
        assert isinstance(result.error, CellCrashed)
        assert "SIGKILL" in str(result.error)
        assert box.run("print(before)").stdout == "5\n"


def test_a_worker_killed_between_cells_is_noticed_and_resumed():
    with Sandbox() as box:
        box.run("before = 5")
        os.kill(pid_of(box), signal.SIGKILL)
        time.sleep(0.05)
        box.run("1")
        assert box.run("print(before)").stdout == "5\n"


def test_a_worker_killed_during_a_host_call_is_a_typed_error():
    def call():
        os.kill(pid_of(box), signal.SIGKILL)
        return 1

    with Sandbox(tools={"call": call}) as box:
        assert isinstance(box.run("call()").error, CellCrashed)
        assert box.run("print(1)").stdout == "1\n"


def test_a_frozen_worker_is_killed_at_its_deadline():
    with Sandbox() as box:
        box.run("before = 1")
        threading.Timer(0.1, os.kill, (pid_of(box), signal.SIGSTOP)).start()
        started = time.monotonic()
        result = box.run("while True: pass", timeout=0.5)
        assert result.error.limit == "limits.cell_seconds"
        assert time.monotonic() - started < 4
        assert box.run("print(before)").stdout == "1\n"


def test_a_killed_zygote_ends_its_sessions_and_the_next_sandbox_starts_a_new_one():
    with Sandbox() as box:
        box.run("1")
        source = zygotes.zygote(zygotes.Plan())
        inner = psutil.Process(source._process.pid).children()[0]
        inner.send_signal(signal.SIGKILL)
        source._process.wait(5)
        result = box.run("while True: pass", timeout=1)
        # The session lost its init with the zygote; a fresh zygote may have replayed it.
        assert result.error is not None
    with Sandbox() as box:
        assert box.run("print(1)").stdout == "1\n"


HOST = """
    import os, sys, time
    from rlm_secure import Sandbox
    boxes = [Sandbox() for _ in range(3)]
    for box in boxes:
        box.run("x = 1")
    {more}
    print("ready", flush=True)
    {then}
"""


@pytest.mark.parametrize(
    "then",
    ["time.sleep(60)", "boxes[0].run('while True: pass')", "boxes[0].run('x = list(range(10**7))\\nwhile True: pass')"],
)
def test_sigkill_of_the_host_leaves_nothing_after_a_second(then):
    host = run_host(HOST.format(more="", then=then))
    assert host.stdout.readline() == "ready\n", host.stderr.read()
    time.sleep(random.uniform(0, 0.2))
    processes = family(host.pid)
    assert len(processes) >= 5
    host.kill()
    host.wait()
    assert gone(processes[1:], 1.0)


def arguments(process: psutil.Process) -> list[str]:
    try:
        return process.cmdline()
    except psutil.ZombieProcess:  # one that was made ready and has ended
        return []


def test_sigkill_of_the_host_leaves_nothing_even_when_a_fork_of_it_lives_on():
    more = "pid = os.fork()\n    if pid == 0:\n        time.sleep(20)\n        os._exit(0)"
    host = run_host(HOST.format(more=more, then="time.sleep(60)"))
    assert host.stdout.readline() == "ready\n", host.stderr.read()
    processes = family(host.pid)
    forked = [process for process in processes[1:] if "-c" in arguments(process)]
    assert len(forked) == 1
    host.kill()
    host.wait()
    rest = [process for process in processes[1:] if process not in forked]
    try:
        assert gone(rest, 1.5)
    finally:
        forked[0].kill()


def test_a_normal_exit_and_ctrl_c_leave_nothing():
    # One long sleep may begin after the signal came, and before Python looked for it.
    wait = "for _ in range(600): time.sleep(0.1)"
    for number in (None, signal.SIGINT, signal.SIGTERM):
        host = run_host(HOST.format(more="", then="pass" if number is None else wait))
        assert host.stdout.readline() == "ready\n", host.stderr.read()
        try:
            processes = family(host.pid)
        except psutil.NoSuchProcess:
            processes = []
        if number is not None:
            host.send_signal(number)
        host.wait(10)
        assert gone(processes[1:], 1.0)


def test_a_session_that_is_collected_while_its_zygote_is_asked_ends():
    class Collects(dict):
        def items(self):
            gc.collect()
            return super().items()

    box = Sandbox()
    first = psutil.Process(pid_of(box))
    box.itself = box
    source = next(iter(zygotes._zygotes.values()))
    gc.disable()
    try:
        del box
        source._ask({"op": "status", "pid": 1, "more": Collects(than="nothing")})
    finally:
        gc.enable()
    assert gone([first], 5.0)


def test_a_forked_child_makes_sandboxes_of_its_own_and_leaves_its_parents_alone():
    code = """
        import os
        from rlm_secure import Sandbox
        box = Sandbox()
        box.run("x = 1")
        print("ready", flush=True)
        pid = os.fork()
        if pid == 0:
            with Sandbox() as own:
                assert own.run("print(2)").stdout == "2\\n"
            del box
            os._exit(0)
        _, status = os.waitpid(pid, 0)
        assert status == 0, status
        assert box.run("print(x)").stdout == "1\\n"
        box.close()
    """
    host = run_host(code)
    _, stderr = host.communicate(timeout=120)
    assert host.returncode == 0, stderr


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_it_works_inside_multiprocessing(method, tmp_path):
    script = tmp_path / "work.py"
    script.write_text(
        textwrap.dedent(
            f"""
            import multiprocessing as mp
            from rlm_secure import Sandbox

            def work(n):
                with Sandbox() as box:
                    return box.run(f"print({{n}} * 2)").stdout

            if __name__ == "__main__":
                with Sandbox() as box:
                    box.run("1")
                    with mp.get_context({method!r}).Pool(2) as workers:
                        assert workers.map(work, [1, 2, 3]) == ["2\\n", "4\\n", "6\\n"]
            """
        )
    )
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr


def test_a_machine_without_user_namespaces_is_refused_in_a_sentence_that_says_what_to_do():
    code = """
        from rlm_secure import EnforcementError, Sandbox
        try:
            Sandbox()
        except EnforcementError as error:
            assert "user-namespace" in error.missing, error.missing
            assert "allow user namespaces on this machine: sudo sysctl -w user.max_user_namespaces=" in str(error), error
            assert "best_effort" in str(error), error
            print("refused")
    """
    inner = f"echo 0 > /proc/sys/user/max_user_namespaces; exec {sys.executable} -c '{textwrap.dedent(code)}'"
    done = subprocess.run(
        ["unshare", "--user", "--map-root-user", "sh", "-c", inner], capture_output=True, text=True, timeout=150
    )
    assert done.stdout == "refused\n", done.stderr


def test_too_few_file_descriptors_are_a_typed_error_and_the_host_recovers():
    code = """
        import resource
        from rlm_secure import RLMSecureError, Sandbox
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
        boxes, failed = [], None
        for _ in range(100):
            try:
                boxes.append(Sandbox())
            except (RLMSecureError, OSError) as error:
                failed = error
                break
        assert failed is not None and len(boxes) > 3, (failed, len(boxes))
        for box in boxes[1:]:
            box.close()
        assert boxes[0].run("print(1)").stdout == "1\\n"
        with Sandbox() as box:
            assert box.run("print(2)").stdout == "2\\n"
        print("ok")
    """
    host = run_host(code)
    stdout, stderr = host.communicate(timeout=120)
    assert stdout == "ok\n", stderr


def test_a_full_tmpdir_does_not_matter(tmp_path):
    code = """
        from rlm_secure import Sandbox
        with Sandbox(context="x" * 10**6) as box:
            print(box.run("print(len(context))").stdout, end="")
    """
    environment = {**os.environ, "TMPDIR": "/nonexistent"}
    host = run_host(code, env=environment)
    stdout, stderr = host.communicate(timeout=120)
    assert stdout == "1000000\n", stderr


def test_a_missing_interpreter_is_a_clear_error(monkeypatch):
    monkeypatch.setattr(sys, "executable", "/nonexistent/python")
    plan = zygotes.Plan(mdwe=False)
    with pytest.raises(EnvironmentUnavailable, match="/nonexistent/python"):
        zygotes.Zygote(plan)


def measure() -> dict[str, int]:
    me = psutil.Process()
    tree = [me, *me.children(recursive=True)]
    return {
        "fds": me.num_fds(),
        "processes": len(tree),
        "threads": me.num_threads(),
        "mounts": len(re.findall(r"(?m)^(?!.*(?:docker|containerd)).+$", Path("/proc/self/mounts").read_text())),
        "files": len(os.listdir("/dev/shm")) + len(list(Path(tempfile.gettempdir()).glob("*rlm_secure*"))),
        "groups": sum(
            name.startswith(f"rlm_secure-{os.getpid()}-")
            for _, groups, _ in os.walk("/sys/fs/cgroup")  # other processes' groups come and go meanwhile
            for name in groups
        ),
    }


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_ten_thousand_sessions_leave_no_growth(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))  # other tests run beside, and have files of their own

    def some(count):
        for _ in range(count):
            with Sandbox() as box:
                box.run("x = 1")
        pool.drain()
        time.sleep(0.5)

    some(200)
    before, memory = measure(), psutil.Process().memory_info().rss
    some(10_000 if os.environ.get("RLM_SECURE_EXHAUSTIVE") == "1" else 1_000)
    for _ in range(20):  # on a busy machine, what was drained or made ready meanwhile takes its time to end
        after, grown = measure(), psutil.Process().memory_info().rss - memory
        if after["processes"] <= before["processes"] + 1:
            break
        pool.drain()
        time.sleep(0.5)
    assert after["fds"] <= before["fds"] + 2
    left = []
    for each in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess):  # it has just ended
            left.append(each.as_dict(["pid", "ppid", "cmdline"]))
    assert after["processes"] <= before["processes"] + 1, left
    # Threads and mounts of earlier tests may go meanwhile; none may come.
    assert after["threads"] <= before["threads"] and after["mounts"] <= before["mounts"]
    assert after["files"] <= before["files"] + 2
    assert after["groups"] <= before["groups"] + 2
    assert grown < 20 << 20


@pytest.mark.root  # a session is not dumpable: its own user may not read its memory map
def test_five_hundred_idle_sessions_fit_in_the_budget():
    boxes = [Sandbox() for _ in range(500)]
    try:
        for box in boxes[::50]:
            assert box.run("print(1)").stdout == "1\n"
        shared = sum(process.memory_full_info().pss for process in psutil.Process().children(recursive=True))
        assert shared < 1.2e9, f"{shared / 500 / 1e6:.2f} MB a session"
    finally:
        for box in boxes:
            box.close()


def test_session_ended_is_what_a_dead_session_says():
    box = Sandbox()
    box.close()
    with pytest.raises(SessionEnded, match="closed"):
        box.run("1")
    box.close()


def test_a_zygote_is_replaced_when_it_is_worn(monkeypatch):
    monkeypatch.setattr(zygotes, "_SESSIONS", 3)
    pool.drain()
    seen = set()
    boxes = []
    for _ in range(6):
        boxes.append(Sandbox())
        seen.add(boxes[-1]._repl.session._process.zygote)
    assert len(seen) >= 2
    for box in boxes:
        assert box.run("print(1)").stdout == "1\n"
        box.close()


def test_enforcement_errors_are_environment_errors():
    assert issubclass(EnforcementError, EnvironmentUnavailable)


@pytest.mark.parametrize("seed", range(12))
def test_a_kill_at_any_moment_is_a_typed_error_and_a_usable_sandbox_afterwards(seed):
    """SIGKILL of the worker, or of the whole zygote, while a context loads, a cell runs or a call is served."""
    chance = random.Random(seed)
    numbers = list(range(200_000))

    def serve():
        time.sleep(0.02)
        return 1

    def strike(pids):
        time.sleep(chance.uniform(0, 0.12))
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass

    with Sandbox(tools={"serve": serve}) as box:
        box.run("before = 1")
        victims = [pid_of(box)]
        source = zygotes.zygote(zygotes.Plan())
        if seed % 3 == 0:  # the zygote's init: every session goes with it
            victims = [psutil.Process(source._process.pid).children()[0].pid]
        thread = threading.Thread(target=strike, args=(victims,))
        thread.start()
        started = time.monotonic()
        try:
            for _ in range(4):
                box._repl.session.load_context("numbers", numbers)
                result = box.run("serve()\nfor i in range(300_000): pass\nserve()")
                assert result.error is None or isinstance(result.error, CellError), result.error
        except RLMSecureError as error:
            assert isinstance(error, (SessionEnded, CellError, EnvironmentUnavailable)), error
        assert time.monotonic() - started < 30
        thread.join()
        if box._repl.session.alive:
            assert box.run("print(before)").stdout == "1\n"
    if seed % 3 == 0:  # it ends with the last of its sessions; one that is about to end is not a fresh one
        source._process.wait(10)
    with Sandbox() as fresh:
        assert fresh.run("print(2)").stdout == "2\n"
