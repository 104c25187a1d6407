"""Containers killed, paused, starved; engines restarted, missing, forbidden: typed errors, and nothing left."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from rlm_secure import CellCrashed, CellTimeout, EnvironmentUnavailable, SessionEnded
from rlm_secure.broker.transports import uds
from rlm_secure.environments.docker import DockerEnvironment, DockerLease, build, container
from rlm_secure.removal import Scratch, remove
from tests.docker.conftest import HERE, inside, left_over, own, policy, python, tightened, wait_for

REPOSITORY = HERE.parents[1]


@pytest.mark.parametrize("transport", ["unix", "exec"])
def test_a_container_that_is_killed_costs_the_session_a_cell(engine, image, transport) -> None:
    with DockerEnvironment(image=image, transport=transport).session(policy()) as session:
        session.execute("kept = 7", None)
        identity = session._lease._id
        threading.Timer(0.5, lambda: engine.api.kill(identity)).start()
        started = time.monotonic()
        result = session.execute("while True: pass", None)
        assert isinstance(result.error, CellCrashed)
        assert "its container" in str(result.error)
        assert result.resumed and time.monotonic() - started < 20
        assert session.execute("print(kept)", None).stdout == "7\n"
    assert wait_for(lambda: identity[:12] not in left_over(engine))


def test_a_supervisor_that_is_killed_takes_its_container_along(engine, place) -> None:
    with place.session(policy()) as session:
        identity = session._lease._id
        inside(session, "python3", "-c", "import os; os.kill(-1, 9); print('killed')")
        result = session.execute("print(1)", None)
        assert isinstance(result.error, CellCrashed)
        assert wait_for(lambda: identity[:12] not in left_over(engine))


def test_a_worker_that_is_killed_from_beside_is_resumed(place) -> None:
    with place.session(policy()) as session:
        session.execute("kept = 7", None)
        kill = (
            "import os, signal\n"
            "pids = sorted(int(p) for p in os.listdir('/proc') if p.isdigit() and int(p) != os.getpid())\n"
            "workers = [p for p in pids if '\\0zygote\\0' in open(f'/proc/{p}/cmdline').read()][1:]\n"
            "[os.kill(p, signal.SIGKILL) for p in workers]\nprint(len(workers))"
        )
        assert "PermissionError" in python(session, kill), "its supervisor is another user"
        assert python(session, kill, user=f"{session.report.details['worker_uid']}") == "1"
        results = [session.execute("print(kept)", None) for _ in range(2)]
        assert "7\n" in [result.stdout for result in results]


def test_a_paused_container_is_given_up_in_bounded_time(engine, place) -> None:
    with place.session(policy(cell_seconds=1.0, grace_seconds=0.2)) as session:
        identity = session._lease._id
        engine.api.pause(identity)
        started = time.monotonic()
        result = session.execute("print(1)", None)
        assert isinstance(result.error, CellTimeout | CellCrashed)
        assert time.monotonic() - started < 40
        assert identity[:12] not in left_over(engine), "the session goes on in another one"
        assert session.execute("print(2)", None).stdout == "2\n"
    assert wait_for(lambda: identity[:12] not in left_over(engine))


def test_a_container_that_is_paused_for_a_moment_goes_on(engine, place) -> None:
    with place.session(policy()) as session:
        engine.api.pause(session._lease._id)
        threading.Timer(2.0, lambda: engine.api.unpause(session._lease._id)).start()
        assert session.execute("print('awake')", None).stdout == "awake\n"


def test_a_context_beyond_the_container_s_memory_is_a_typed_error(engine, place, monkeypatch) -> None:
    """Room is made for each context; where the engine gives none, the sandbox may run out of memory, and says so."""
    monkeypatch.setattr(DockerLease, "make_room", lambda self, size: None)
    with place.session(policy()) as session:
        with pytest.raises((EnvironmentUnavailable, SessionEnded)):
            session.load_context("context_0", "x" * 900_000_000)
        if session.alive:
            assert session.execute("print(1)", None).stdout == "1\n"


HOST = """
import os, sys, time
from rlm_secure.environments.docker import DockerEnvironment
from rlm_secure.policy import load_policy
session = DockerEnvironment(image=sys.argv[1]).session(load_policy("strict"))
print(session._lease._id, session._lease._unix.directory, flush=True)
if len(sys.argv) > 2:
    session.execute("while True: pass", None)
time.sleep(600)
"""


@contextlib.contextmanager
def host(image: str, *arguments: str) -> Iterator[tuple[subprocess.Popen[str], str, Path]]:
    """Another process with a session of its own."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOST, image, *arguments], stdout=subprocess.PIPE, text=True, cwd=REPOSITORY
    )
    assert process.stdout is not None
    identity, directory = process.stdout.readline().split()
    try:
        yield process, identity, Path(directory).parent
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


@pytest.mark.parametrize("arguments", [(), ("busy",)], ids=["idle", "in a cell"])
def test_a_host_that_is_killed_leaves_no_container(engine, image, arguments) -> None:
    with host(image, *arguments) as (process, identity, directory):
        time.sleep(0.5)
        process.send_signal(signal.SIGKILL)
        process.wait()
        assert wait_for(lambda: identity[:12] not in left_over(engine), 15)
        assert directory.exists()
        assert uds.sweep(older_than_seconds=0) >= 1
        assert not directory.exists()


def test_what_cannot_end_by_itself_is_swept(engine, image) -> None:
    """A paused container does not notice that its host is gone; a live host's container is left alone."""
    environment = DockerEnvironment(image=image)
    with host(image) as (process, identity, _), environment.session(policy()) as mine:
        engine.api.pause(identity)
        process.send_signal(signal.SIGKILL)
        process.wait()
        time.sleep(0.5)
        assert identity[:12] in left_over(engine)
        assert environment.sweep() >= 1
        assert identity[:12] not in left_over(engine)
        assert mine.execute("print('mine')", None).stdout == "mine\n"


def test_a_sweep_ends_nothing_of_another_container_on_this_machine(engine, image) -> None:
    """Two programs in PID namespaces of their own share the machine's boot, and know nothing of each other's pids."""
    options = json.dumps({"image": image})
    program = ["-m", "tests.clouds.abandoned", "docker", options, "sweep"]
    namespace = ["unshare", "--pid", "--fork", "--kill-child", "--mount-proc"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with contextlib.ExitStack() as stack:
        both = [stack.enter_context(subprocess.Popen([*namespace, sys.executable, *program], **pipes)) for _ in "ab"]
        try:
            assert [each.stdout.readline() for each in both] == ["open\n"] * 2
            DockerEnvironment(image=image).sweep()  # other tests may leave it something
            for each in both:
                assert each.communicate("now\n", timeout=60)[0].split()[1:] == ["1"]
        finally:
            for each in both:
                each.kill()


def test_an_ordinary_end_of_the_program_removes_its_container(engine, image) -> None:
    code = HOST.replace("time.sleep(600)", "sys.exit(0)")
    done = subprocess.run(
        [sys.executable, "-c", code, image], capture_output=True, text=True, cwd=REPOSITORY, check=True
    )
    assert done.stdout.split()[0][:12] not in left_over(engine)
    assert not Path(done.stdout.split()[1]).exists()


# -- engines -----------------------------------------------------------------------------------------------------


@contextlib.contextmanager
def private_engine() -> Iterator[tuple[str, list[subprocess.Popen[bytes]], list[str]]]:
    """An engine of our own, which may be restarted without harm to anybody's."""
    folder = Path(tempfile.mkdtemp(prefix="rlm-engine-"))
    url = f"unix://{folder}/socket"
    command = [
        "dockerd", "--iptables=false", "--ip6tables=false", "--bridge=none", f"--host={url}",
        f"--data-root={folder}/data", f"--exec-root={folder}/exec", f"--pidfile={folder}/pid",
    ]  # fmt: skip
    running = [start(command, folder)]
    try:
        yield url, running, command
    finally:
        running[-1].terminate()
        running[-1].wait(timeout=30)
        remove(folder)  # takes off what the engine left mounted


def start(command: list[str], folder: Path) -> subprocess.Popen[bytes]:
    import docker

    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)

    def answers() -> bool:
        try:
            docker.DockerClient(base_url=f"unix://{folder}/socket", version="auto").close()
            return True
        except docker.errors.DockerException:
            return False

    assert wait_for(answers, 60), "the private engine did not start"
    return process


@pytest.mark.root
@pytest.mark.slow
def test_an_engine_that_restarts_ends_sessions_with_a_typed_error_and_serves_new_ones(image) -> None:
    with private_engine() as (url, running, command):
        subprocess.run([HERE / "base_image.sh", "base"], env={**os.environ, "DOCKER_HOST": url}, check=True)
        build("base", "sandbox", base_url=url)
        environment = DockerEnvironment(image="sandbox", base_url=url)
        with environment.session(policy()) as session:
            identity = session._lease._id
            running[-1].terminate()
            running[-1].wait(timeout=60)
            started = time.monotonic()
            result = session.execute("print(1)", None)
            assert isinstance(result.error, CellCrashed)
            assert time.monotonic() - started < 60
            running.append(start(command, Path(url.removeprefix("unix://")).parent))
        with environment.session(policy()) as session:
            assert session.execute("print(2)", None).stdout == "2\n"
            listed = session._lease._engine.api.containers(all=True, filters={"label": container.LABEL})
            assert identity not in [each["Id"] for each in listed]


def test_without_an_engine_the_error_says_what_to_do(tmp_path) -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"no Docker engine answers at .*start one .*or set DOCKER_HOST"):
        DockerEnvironment(base_url=f"unix://{tmp_path}/none").session(policy())


@pytest.mark.root
def test_without_permission_the_error_says_what_to_do(image) -> None:
    code = (
        "import os, sys\nos.setgroups([])\nos.setresgid(65534, 65534, 65534)\nos.setresuid(65534, 65534, 65534)\n"
        "from rlm_secure.environments.docker import engine\n"
        "try: engine.connect()\nexcept Exception as error: print(type(error).__name__, error)"
    )
    code = "import docker, requests, rlm_secure.environments.docker.engine\n" + code
    said = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=REPOSITORY, check=False
    ).stdout
    assert said.startswith("EnvironmentUnavailable this user may not speak to the Docker engine"), said
    assert "group docker" in said


def test_a_missing_image_is_never_pulled_and_the_error_names_the_command(engine) -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"'no-such-image:1' is not on this engine.*sandbox build docker"):
        DockerEnvironment(image="no-such-image:1").session(policy())


def test_a_missing_runtime_is_named_with_those_that_are_there(place) -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"no container runtime 'kata' \(it has .*runc.*\); install it"):
        place.session(tightened("kata"))


def test_an_image_without_python_is_explained(engine, image) -> None:
    folder = Path(tempfile.mkdtemp())
    try:
        subprocess.run(["tar", "-C", folder, "-cf", folder / "empty.tar", "--files-from=/dev/null"], check=True)
        subprocess.run(
            ["docker", "import", folder / "empty.tar", "rlm-secure-test-empty"], check=True, capture_output=True
        )
        with pytest.raises(EnvironmentUnavailable, match=r"python3"):
            DockerEnvironment(image="rlm-secure-test-empty").session(policy())
    finally:
        remove(folder)
        engine.images.remove("rlm-secure-test-empty", force=True)


def test_nothing_is_left_of_a_session_that_did_not_start(engine, monkeypatch) -> None:
    with Scratch(prefix="rlm") as directory:  # tmp_path is too long for a socket
        monkeypatch.setattr(uds, "_runtime_directory", lambda: str(directory))
        before = (own(engine), threading.active_count())
        with pytest.raises(EnvironmentUnavailable):
            DockerEnvironment(image="no-such-image:1").session(policy())
        assert (own(engine), threading.active_count()) == before
        assert os.listdir(directory) == []


def test_a_base_must_be_pinned_or_here() -> None:
    with pytest.raises(EnvironmentUnavailable, match=r"neither on this engine nor named by its digest.*@sha256:"):
        build("python:3.12-slim", "never-built")


def test_a_base_that_cannot_be_had_fails_with_the_engine_s_words() -> None:
    with pytest.raises(EnvironmentUnavailable, match="could not"):
        build("python@sha256:" + "0" * 64, "never-built")


def test_no_descriptor_or_thread_of_the_host_stays_behind(place) -> None:
    with place.session(policy()) as session:
        session.execute("1", None)
    process = psutil.Process()
    before = (process.num_fds(), threading.active_count())
    for _ in range(3):
        with place.session(policy()) as session:
            session.execute("1", None)
    assert (process.num_fds(), threading.active_count()) <= before
