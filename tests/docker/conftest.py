"""Docker tests run against a real engine. In CI its absence is a failure; elsewhere they are left out."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from docker.utils.socket import frames_iter

from rlm_secure.environments.docker import DockerEnvironment, build
from rlm_secure.environments.docker import container as containers
from rlm_secure.environments.owner import owner
from rlm_secure.environments.remote import RemoteSession
from rlm_secure.policy import Policy
from rlm_secure.resources import sandboxes_dir
from tests.broker.support import policy
from tests.emulators.base import until

HERE = Path(__file__).parent
BASE = "rlm-secure-test-base"
IMAGE = "rlm-secure-test:1"
DATA_IMAGE = "rlm-secure-test-data:1"
WHEELS = Path("/var/cache/rlm-secure-tests/wheels")


@pytest.hookimpl(tryfirst=True)  # before marks are selected by
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    ours = [item for item in items if HERE in item.path.parents]
    for item in ours:
        item.add_marker(pytest.mark.docker)
        if item.name.partition("[")[0] not in getattr(item.module, "ALWAYS", {item.name.partition("[")[0]}):
            item.add_marker(pytest.mark.exhaustive)


@pytest.fixture(scope="session")
def engine() -> Iterator[Any]:
    """A client of the engine. Fails the test, with what to do, when there is none."""
    from rlm_secure.environments.docker import engine

    client = engine.connect()
    yield client
    client.close()


@pytest.fixture(scope="session")
def image(engine: Any) -> str:
    """The sandbox image, built by the function that users build it with, on a base of this machine's own."""
    subprocess.run([HERE / "base_image.sh", BASE], check=True)
    build(BASE, IMAGE)
    return IMAGE


@pytest.fixture(scope="session")
def data_image(image: str) -> str:
    """The same with packages, from wheels of PyPI: they are kept, and so is what the engine built from them."""
    pins = sandboxes_dir() / "data" / "requirements.txt"
    WHEELS.mkdir(parents=True, exist_ok=True)
    with (WHEELS / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # several test processes may ask for it at a time
        fetch = [sys.executable, "-m", "pip", "--disable-pip-version-check", "--quiet", "download", "--dest", WHEELS]
        known = WHEELS / "pins"
        if not known.exists() or known.read_bytes() != pins.read_bytes():
            tags = ("manylinux_2_28", "manylinux_2_27", "manylinux_2_24", "manylinux_2_17", "manylinux2014")
            chosen = [word for tag in tags for word in ("--platform", f"{tag}_{os.uname().machine}")]
            chosen += ["--implementation", "cp", "--python-version", "3.11", "--only-binary", ":all:", "--no-deps"]
            subprocess.run([*fetch, *chosen, "--require-hashes", "--requirement", pins], check=True)
            subprocess.run([*fetch, "--no-deps", "pip"], check=True)  # the base has none
            known.write_bytes(pins.read_bytes())
        build(BASE, DATA_IMAGE, packages=True, wheels=WHEELS)
    return DATA_IMAGE


@pytest.fixture(scope="session")
def place(image: str) -> DockerEnvironment:
    return DockerEnvironment(image=image)


@pytest.fixture(scope="module")
def shared(place: DockerEnvironment) -> Iterator[RemoteSession]:
    """One session under the shipped strict policy, with every wall that it requires."""
    with place.session(policy(), tools={"weather": ""}) as session:
        yield session


@pytest.fixture(autouse=True, scope="session")
def nothing_left(engine: Any) -> Iterator[None]:
    """When all is over, no container of this process is."""
    yield
    assert own(engine) == []


def left_over(engine: Any) -> list[str]:
    """The containers of all processes: other tests may be running."""
    return [each["Id"][:12] for each in engine.api.containers(all=True, filters={"label": containers.LABEL})]


def own(engine: Any) -> list[str]:
    """The containers of this process."""
    label = f"{containers.OWNER}={owner()}"
    return [each["Id"][:12] for each in engine.api.containers(all=True, filters={"label": label})]


def inside(session: RemoteSession, *command: str, user: str | None = None) -> tuple[int, str]:
    """Run a command in the session's container as its supervisor's user: an attacker who broke out of the worker.

    Once more if it said nothing: on a busy machine what a short command says can be lost, see python(), which is for
    what may not run twice.
    """
    lease: Any = session._lease
    status, output = 0, b""
    for _ in range(2):
        made = lease._engine.api.exec_create(lease._id, list(command), user=user or f"{lease.details['uid']}")
        output = lease._engine.api.exec_start(made["Id"])
        status = lease._engine.api.exec_inspect(made["Id"])["ExitCode"]
        if status or output:
            break
    return status, output.decode("utf-8", "replace")


#: Waits for a byte, and then runs a program.
_WAITS = "import os, sys\nos.read(0, 1)\nexec(compile(sys.argv[1], '<program>', 'exec'))"


def python(session: RemoteSession, code: str, user: str | None = None) -> str:
    """What a Python program says that runs once in the session's container, as `inside` runs commands.

    It waits until this client reads what it says: docker's drops what comes in one piece with the engine's answer.
    """
    lease: Any = session._lease
    api = lease._engine.api
    command = ["python3", "-I", "-S", "-c", _WAITS, code]
    made = api.exec_create(lease._id, command, user=user or f"{lease.details['uid']}", stdin=True)
    with closing(api.exec_start(made["Id"], socket=True)) as connection:
        connection._sock.sendall(b"\n")
        said = b"".join(piece for _, piece in frames_iter(connection, tty=False)).decode("utf-8", "replace").strip()
    assert until(lambda: not api.exec_inspect(made["Id"])["Running"])
    status = api.exec_inspect(made["Id"])["ExitCode"]
    return said if status == 0 else f"exit {status}: {said[-300:]}"


def wait_for(condition: Any, seconds: float = 10.0) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.05)
    return False


def tightened(runtime: str | None = None, **limits: Any) -> Policy:
    made = policy(**limits)
    if runtime is None:
        return made
    return made.model_copy(update={"isolation": made.isolation.model_copy(update={"docker_runtime": runtime})})
