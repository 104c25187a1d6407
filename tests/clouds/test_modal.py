"""What is Modal's own: its settings, its names and images, its tokens, and its event loop at the interpreter's exit."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure.environments.cloud import lease as _lease
from rlm_secure.environments.cloud.provider import LABEL
from rlm_secure.environments.cloud.stream import Loop
from rlm_secure.environments.registry import create_environment
from rlm_secure.errors import CellTimeout, EnvironmentUnavailable
from rlm_secure.guarantees import Level, Wall
from tests.clouds.conftest import Cloud, limits
from tests.clouds.hardening import BASE
from tests.clouds.test_lifecycle import host
from tests.emulators import modal as emulated
from tests.emulators.base import until
from tests.emulators.gvisor import GVisor


@pytest.fixture
def cloud() -> Iterator[Cloud]:
    made = Cloud("modal")
    try:
        yield made
        assert made.emulator.live == []
    finally:
        made.emulator.close()


def no_calls(call: object) -> None:
    return None


# -- where it connects, and as whom ----------------------------------------------------------------------

TOML = """
[evil]
active = true
token_id = "evil"
token_secret = "evil"
server_url = "http://evil.invalid"
[another]
active = true
"""


def _elsewhere(cloud: Cloud, home: Path, **variables: str) -> subprocess.CompletedProcess[str]:
    """A session in a process of its own, because the SDK reads its file when it is imported."""
    script = (
        "import sys, json; from rlm_secure.sandbox import Sandbox\n"
        "with Sandbox(environment='modal', environment_kwargs=json.loads(sys.argv[1])) as s: print(s.run('print(1)').stdout)"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("MODAL_")}
    arguments = [sys.executable, "-c", script, json.dumps(cloud.options)]
    told = environment | variables | {"HOME": str(home)}
    return subprocess.run(arguments, capture_output=True, text=True, timeout=150, env=told)


def test_neither_its_file_nor_a_variable_decides_where_it_connects(cloud: Cloud, tmp_path: Path) -> None:
    (tmp_path / ".modal.toml").write_text(TOML)
    done = _elsewhere(cloud, tmp_path, MODAL_SERVER_URL="http://evil.invalid", MODAL_PROFILE="evil")
    assert done.stdout.strip() == "1", done.stderr
    assert "evil" not in "".join(f"{each.headers} {each.body!r}" for each in cloud.emulator.requests)


def test_its_file_names_no_environment_unseen(cloud: Cloud, tmp_path: Path) -> None:
    (tmp_path / ".modal.toml").write_text('[default]\nenvironment = "evil"\n')
    done = _elsewhere(cloud, tmp_path)
    assert "environment = 'evil' (MODAL_ENVIRONMENT, or " in done.stderr and cloud.emulator.requests == []
    assert _elsewhere(cloud, tmp_path, MODAL_ENVIRONMENT="dev").stdout.strip() == "1"
    (asked,) = cloud.emulator.recorded("AppGetOrCreate$")
    (image,) = cloud.emulator.recorded("ImageGetByTag$")
    assert asked.json["environment_name"] == "dev" and image.json["tag"] == "dev/rlm-secure-sandbox:1"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("sandbox_v2", "0"),
        ("function_runtime", "runc"),
        ("function_runtime_debug", "1"),
        ("worker_id", "wo-1"),
        ("override_headers", "x-modal-token-id:evil"),
        ("image_builder_version", "2023.12"),
    ],
)
def test_a_setting_that_makes_another_sandbox_is_refused_by_name(
    cloud: Cloud, monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    monkeypatch.setenv(f"MODAL_{name.upper()}", value)
    with pytest.raises(EnvironmentUnavailable, match=rf"{name} = .*MODAL_{name.upper()}.*; unset it"):
        cloud.session()
    assert cloud.emulator.requests == []


def test_a_missing_secret_names_its_variable(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MODAL_TOKEN_SECRET", raising=False)
    with pytest.raises(EnvironmentUnavailable, match="set MODAL_TOKEN_SECRET, or pass token_secret"):
        create_environment("modal", token_id="ak-1").open(limits())
    monkeypatch.setenv("MODAL_TOKEN_SECRET", cloud.emulator.secret)
    options = {name: value for name, value in cloud.options.items() if name != "token_secret"}
    with create_environment("modal", **options).open(limits()) as session:
        assert session.alive


# -- what is made ----------------------------------------------------------------------------------------


def test_a_creation_that_is_sent_again_makes_no_second_sandbox(cloud: Cloud, quick: None) -> None:
    cloud.emulator.fail(cloud.wire.create, status=503, after=True)
    with cloud.session():
        names = [each.json["definition"]["name"] for each in cloud.emulator.recorded(cloud.wire.create)]
        # The SDK sends it again, under a name that is taken; so there is another attempt, and the first one's is ended.
        assert names[0] == names[1] != names[2]
        assert [each.request["name"] for each in cloud.emulator.live] == [names[2]]


def test_an_image_may_be_named_by_its_id_or_its_digest(cloud: Cloud) -> None:
    for image, made_from in (("im-abc", "im-abc"), (BASE, "im-built")):
        with cloud.environment(image=image).session(limits()):
            made = cloud.emulator.recorded(cloud.wire.create)[-1]
        assert made.json["definition"]["image_id"] == made_from
    (built,) = cloud.emulator.recorded("ImageGetOrCreate$")
    assert built.json["image"]["dockerfile_commands"] == [f"FROM {BASE}"]


@pytest.mark.parametrize("image", ["somebody/python:3.12", "python@sha256:123", "", "a b", "im-", "im-a:1"])
def test_an_image_is_the_accounts_own_or_named_by_its_digest(image: str) -> None:
    with pytest.raises(ValueError, match="one of your own, as in .*, or named by its digest"):
        create_environment("modal", image=image)


def test_sandboxes_are_found_over_pages(cloud: Cloud) -> None:
    provider = cloud.environment().provider(None)
    loop = Loop("test")
    with contextlib.ExitStack() as sessions:
        for _ in range(2 * emulated._PAGE + 1):
            sessions.enter_context(cloud.session())
        found = loop.call(provider.find({LABEL: "1"}), 30)
        assert sorted(name for name, _ in found) == sorted(each.name for each in cloud.emulator.live)
        assert all(labels[LABEL] == "1" and len(labels) == 3 for _, labels in found)
        # One that ends while they are listed is none that was found.
        cloud.emulator.fail("SandboxTagsGetV2$", status=404)
        assert len(loop.call(provider.find({LABEL: "1"}), 30)) == 2 * emulated._PAGE
    loop.call(provider.close(), 10)
    loop.close()


@pytest.mark.skipif(shutil.which("runsc") is None, reason="needs gVisor's runsc, which .ci/engine installs")
def test_strict_holds_in_a_sandbox_of_gvisor(cloud: Cloud) -> None:
    cloud.emulator.kind = GVisor
    with cloud.session(limits(start_seconds=60.0)) as session:
        assert session.report.details["kernel"] == "4.4.0"
        assert session.report[Wall.SECCOMP].level is session.report[Wall.RLIMITS].level is Level.FULL
        assert session.report[Wall.PROVIDER_NETWORK_BLOCK].level is Level.VENDOR, "nothing was reached from inside"
        session.load_context("context", "deep " * 200_000)
        calls = session.execute("print(len(context), llm_query('x'))", lambda call: "answered")
        assert calls.stdout == "1000000 answered\n"
        assert isinstance(session.execute("import time\nwhile True: time.sleep(1)", no_calls, seconds=1.0).error, CellTimeout)
        assert session.execute("print(len(context))", no_calls).stdout == "1000000\n"


# -- while it runs, and at the end -----------------------------------------------------------------------


def test_a_token_of_a_worker_that_expired_is_replaced(cloud: Cloud) -> None:
    cloud.emulator.token_seconds = 20  # the SDK asks for no other while one is good for half a minute
    with cloud.session() as session:
        session.execute("x = 1", no_calls)
        cloud.emulator.live[0].token = emulated.jwt(3600)
        assert session.execute("print(x)", no_calls).stdout == "1\n"
        assert cloud.emulator.recorded("SandboxGetCommandRouterAccess$")


def test_connections_that_are_closed_are_made_again_and_nothing_is_lost(cloud: Cloud) -> None:
    calls: list[object] = []
    with cloud.session(tools={"tick": ""}) as session:
        for number in range(6):
            cloud.emulator.hang_up()
            result = session.execute(f"tick()\nprint({number})", lambda call: calls.append(call))
            assert result.stdout == f"{number}\n", result.stderr
    assert len(calls) == 6


def test_a_sandbox_is_ended_at_the_exit_when_its_host_must_be_looked_up_once_more(cloud: Cloud) -> None:
    with host(cloud, "wait") as process:
        cloud.emulator.hang_up()
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=90)
        assert cloud.emulator.live == [], errors
        assert errors.count("Traceback") == 1 and errors.strip().endswith("KeyboardInterrupt"), errors


def test_a_supervisor_that_nobody_renews_ends(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_lease, "UNRENEWED_SECONDS", 4)  # a start may stall for a while where much else runs
    with cloud.session():
        (box,) = cloud.emulator.live
        assert box.left() and until(lambda: not box.left(), 20.0), box.commands()
        assert cloud.emulator.live == [box], "so that Modal ends it"
