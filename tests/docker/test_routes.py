"""Engines that see other files than this process: the bundle goes in by the engine's API, requests by its exec stream.

The engine is the real one. The client lives in a mount namespace of its own, where the directory of its sockets is a
file system that the engine does not have: as with a remote DOCKER_HOST, in a CI job that is itself a container, or with
an engine in a virtual machine.
"""

from __future__ import annotations

import contextlib
import io
import json
import os
import socket
import subprocess
import sys
import tarfile
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from rlm_secure import EnvironmentUnavailable
from rlm_secure.environments import docker as environment
from rlm_secure.environments.docker import DockerEnvironment, container, routes
from rlm_secure.environments.docker import engine as engines
from rlm_secure.environments.docker.routes import KnownRoutes, NotThere, Route
from rlm_secure.guarantees import Wall
from rlm_secure.policy import load_policy
from tests.docker.conftest import left_over, own, policy, python, tightened, wait_for

ROOT = Path(__file__).parents[2]
NEAR, NEAR_DIALLED, FAR = Route("mount", "unix"), Route("mount", "exec"), Route("engine", "exec")

#: A host whose sockets are in sys.argv[2]; it says what came of `sys.argv[3]` sessions, the first with a context.
HOST = """
import json, sys
from rlm_secure.environments.docker import DockerEnvironment
from rlm_secure.policy import load_policy
from rlm_secure import errors
{first}
said = []
try:
    for number in range(int(sys.argv[2])):
        with DockerEnvironment(image=sys.argv[1], transport="{transport}").session(load_policy("strict")) as session:
            session.load_context("context_0", "ab" * 3_000_000)
            out = session.execute("print(len(context_0), llm_query('x'))", lambda call: "answered").stdout
            stopped = session.execute("while True: pass", None, seconds=0.3).error
            details = session.report.details
            said.append([out, type(stopped).__name__, details["bundle"], details["transport"],
                         session.report.missing(load_policy("strict").isolation.required("docker"))])
except errors.EnvironmentUnavailable as error:
    said.append(str(error))
print(json.dumps(said))
"""
WORKS = ["6000000 answered\n", "CellTimeout"]


def elsewhere(
    image: str, folder: Path, *, sessions: int = 1, transport: str = "auto", first: str = "", **env: str
) -> list[Any]:
    """What a host says whose `folder` is empty and its own; the engine sees what is there outside."""
    source = HOST.format(first=first, transport=transport)
    done = subprocess.run(
        ["unshare", "--mount", "--propagation", "private", "bash", "-c", f'mount -t tmpfs none {folder} && exec "$@"', "-",
         sys.executable, "-c", source, image, str(sessions)],
        cwd=ROOT, env={**os.environ, "RLM_SECURE_SOCKETS": str(folder), **env}, capture_output=True, text=True, timeout=150,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-2000:]
    found: list[Any] = json.loads(done.stdout.splitlines()[-1])
    return found


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "sockets"
    made.mkdir()
    return made


@pytest.mark.root
def test_an_engine_that_does_not_see_our_files_gets_the_bundle_and_carries_the_requests(image, folder) -> None:
    assert elsewhere(image, folder, sessions=2) == [[*WORKS, "engine", "exec", []]] * 2


@pytest.mark.root
def test_the_exec_stream_needs_no_file_that_the_engine_sees(image, folder) -> None:
    assert elsewhere(image, folder, transport="exec") == [[*WORKS, "engine", "exec", []]]


@pytest.mark.root
def test_a_socket_that_is_asked_for_is_not_replaced(image, folder) -> None:
    (said,) = elsewhere(image, folder, transport="unix")
    assert said.startswith("the Docker engine does not see this host's files: ")
    assert said.endswith("use the transport 'exec'")


FIXED = "import tempfile, os\ntempfile.mkdtemp = lambda **_: (os.mkdir('{0}/fixed'), '{0}/fixed')[1]"


@pytest.mark.root
@pytest.mark.parametrize("bundle", [True, False], ids=["without the socket", "with nothing"])
def test_an_engine_that_has_a_directory_of_that_name_is_told_from_one_that_sees_ours(image, folder, bundle) -> None:
    theirs = folder / "fixed" / "d"
    theirs.mkdir(parents=True)
    if bundle:
        (theirs / container.BUNDLE).write_bytes(environment.bundle().data)
    said = elsewhere(image, folder, first=FIXED.format(folder))
    assert said == [[*WORKS, "engine", "exec", []]]


@pytest.mark.root
def test_an_engine_by_tcp(image, folder) -> None:
    with forwarded() as url:
        assert elsewhere(image, folder, DOCKER_HOST=url) == [[*WORKS, "engine", "exec", []]]


def test_an_engine_by_tcp_on_this_machine_is_near(image) -> None:
    with forwarded() as url, DockerEnvironment(image=image, base_url=url).session(policy()) as session:
        assert (session.report.details["bundle"], session.report.details["engine"]) == ("mount", "tcp")
        assert session.execute("print(1)", None).stdout == "1\n"


@contextlib.contextmanager
def forwarded() -> Iterator[str]:
    """The engine's socket, behind a TCP port of the loopback device."""

    def pump(source: socket.socket, sink: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                sink.sendall(data)
            sink.shutdown(socket.SHUT_WR)

    def serve() -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = listener.accept()
                engine = socket.socket(socket.AF_UNIX)
                engine.connect("/var/run/docker.sock")
                for pair in ((client, engine), (engine, client)):
                    threading.Thread(target=pump, args=pair, daemon=True).start()

    with socket.create_server(("127.0.0.1", 0)) as listener:
        threading.Thread(target=serve, daemon=True).start()
        yield f"tcp://127.0.0.1:{listener.getsockname()[1]}"
        with contextlib.suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def only_far(monkeypatch) -> None:
    """No way is open but the engine's API."""
    monkeypatch.setattr(routes, "possible", lambda *_: (FAR,))
    monkeypatch.setattr(environment, "_routes", KnownRoutes())


@pytest.fixture
def far(image, only_far) -> Iterator[Any]:
    with DockerEnvironment(image=image).session(policy()) as session:
        yield session


def test_the_bundle_that_the_engine_took_is_the_one_that_is_reported_and_nobody_can_change_it(engine, far) -> None:
    found = engine.api.inspect_container(far._lease._id)
    (mount,) = found["Mounts"]
    assert (mount["Type"], mount["Destination"]) == ("volume", "/rlm")
    assert found["HostConfig"]["ReadonlyRootfs"] is True
    assert far._lease._unix is None
    read = "import hashlib; print(hashlib.sha256(open('/rlm/guest.zip', 'rb').read()).hexdigest())"
    assert python(far, read) == __import__("hashlib").sha256(environment.bundle().data).hexdigest()
    for attempt in (
        "open('/rlm/guest.zip', 'ab')", "open('/rlm/more', 'wb')", "__import__('os').unlink('/rlm/guest.zip')",
        "__import__('os').chmod('/rlm/guest.zip', 0o777)", "__import__('os').rename('/rlm/guest.zip', '/rlm/other')",
    ):  # fmt: skip
        said = python(far, attempt)
        assert "PermissionError" in said or "Read-only" in said, (attempt, said)
    stat = "import os; about = os.stat('/rlm/guest.zip'); print(oct(about.st_mode), about.st_uid, about.st_gid)"
    assert python(far, stat) == "0o100444 0 0"
    assert far.report.missing(load_policy("strict").isolation.required("docker")) == ()
    assert far.report[Wall.CONTAINER].enforced


def test_the_volume_goes_with_the_container(engine, image, only_far) -> None:
    with DockerEnvironment(image=image).session(policy()) as session:
        (mount,) = engine.api.inspect_container(session._lease._id)["Mounts"]
        engine.volumes.get(mount["Name"])
    names = {each.name for each in engine.volumes.list()}
    assert mount["Name"] not in names
    assert own(engine) == []


KILLED = """
import sys, time
from rlm_secure.environments.docker import DockerEnvironment, routes
from rlm_secure.policy import load_policy
routes.possible = lambda *_: (routes.Route("engine", "exec"),)
session = DockerEnvironment(image=sys.argv[1]).session(load_policy("strict"))
print(session._lease._id, flush=True)
time.sleep(600)
"""


def test_a_host_that_is_killed_leaves_neither_container_nor_volume(engine, image) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", KILLED, image], stdout=subprocess.PIPE, text=True, cwd=ROOT
    ) as process:
        assert process.stdout is not None
        identity = process.stdout.readline().strip()
        (mount,) = engine.api.inspect_container(identity)["Mounts"]
        process.kill()
    assert wait_for(lambda: identity[:12] not in left_over(engine), 15)
    assert wait_for(lambda: mount["Name"] not in {each.name for each in engine.volumes.list()}, 5)


def test_a_way_that_led_in_is_tried_first_the_next_time() -> None:
    memory = KnownRoutes()
    assert memory.ordered("one", "runc", "auto") == (NEAR, FAR)
    memory.keep("one", "runc", "auto", FAR)
    memory.keep("", "runc", "auto", FAR)
    assert memory.ordered("one", "runc", "auto") == (FAR, NEAR)
    assert memory.ordered("other", "runc", "auto") == (NEAR, FAR)
    assert memory.ordered("", "runc", "auto") == (NEAR, FAR)
    assert memory.ordered("one", "runsc", "auto") == (NEAR_DIALLED, FAR)
    assert memory.ordered("one", "runc", "unix") == (NEAR,)
    assert memory.ordered("one", "runsc", "exec") == (NEAR_DIALLED, FAR)


def test_an_engine_that_takes_no_bundle_is_a_typed_error_and_leaves_nothing(
    engine, image, only_far, monkeypatch
) -> None:
    monkeypatch.setattr(container, "archive", lambda *_: b"no archive")
    before = own(engine)
    with pytest.raises(EnvironmentUnavailable, match="could not take the bundle"):
        DockerEnvironment(image=image).session(policy())
    assert own(engine) == before


def test_what_an_engine_says_of_other_things_is_no_reason_to_try_another_way(image) -> None:
    with pytest.raises(EnvironmentUnavailable) as raised:
        DockerEnvironment(image=image, base_url="unix:///nowhere").session(policy())
    assert not isinstance(raised.value, NotThere)


@pytest.mark.parametrize(
    ("url", "by", "warned"),
    [
        ("http+docker://localhost", "socket", False), ("http+docker://ssh", "ssh", False),
        ("https://10.0.0.7:2376", "tls", False), ("http://127.0.0.1:2375", "tcp", False),
        ("http://localhost:2375", "tcp", False), ("http://10.0.0.7:2375", "tcp", True),
    ],
)  # fmt: skip
def test_an_engine_that_is_reached_without_tls_is_warned_of(url, by, warned, caplog) -> None:
    client = SimpleNamespace(api=SimpleNamespace(base_url=url))
    assert engines.carrier(client) == by
    assert ("10.0.0.7:2375 is reached without TLS" in caplog.text) is warned


def test_a_session_under_gvisor_whose_bundle_the_engine_took(image, only_far) -> None:
    with DockerEnvironment(image=image).session(tightened("runsc", start_seconds=120.0)) as session:
        assert (session.report.details["bundle"], session.report.details["transport"]) == ("engine", "exec")
        assert session.report[Wall.CONTAINER].enforced
        assert session.execute("print(6 * 7)", None).stdout == "42\n"


def test_the_archive_holds_one_file_of_root() -> None:
    with tarfile.open(fileobj=io.BytesIO(routes.archive("guest.zip", b"data"))) as tar:
        (entry,) = tar.getmembers()
        assert (entry.name, entry.mode, entry.uid, entry.gid, entry.isfile()) == ("guest.zip", 0o444, 0, 0, True)
        assert tar.extractfile(entry).read() == b"data"
