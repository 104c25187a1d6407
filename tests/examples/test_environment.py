"""The environment of the examples: really installed, found by its name, and held to its walls.

`sh -c` stands in for `ssh HOST`: what is sent, the supervisor, the worker and the walls are the same.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure import EnvironmentUnavailable, Refused, Sandbox
from rlm_secure.cli import main
from rlm_secure.environments.cloud.provider import ATTEMPT, LABEL, OWNER
from rlm_secure.guarantees import Guarantee, Level
from tests.examples.programs import EXAMPLES

FOLDER = EXAMPLES / "environment"
POLICY = str(FOLDER / "policy.toml")
HERE = {"reach": ["sh", "-c"]}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the package in it, built and installed by pip, without asking any index."""
    target = tmp_path_factory.mktemp("site")
    options = ["--no-deps", "--no-build-isolation", "--no-index", "--quiet", "--disable-pip-version-check", "--no-compile"]
    subprocess.run([sys.executable, "-m", "pip", "install", *options, "--target", target, FOLDER], check=True, timeout=200)
    return target


@pytest.fixture(autouse=True)
def found(installed: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.syspath_prepend(installed)
    yield
    sys.modules.pop("rlm_secure_ssh", None)


def folders() -> set[str]:
    return {name for name in os.listdir("/tmp") if name.startswith("rlm-secure-ssh-")}


def test_a_session_runs_there_behind_the_walls_and_leaves_nothing() -> None:
    before = folders()
    with Sandbox(POLICY, context="a b c", environment="ssh", environment_kwargs=HERE) as sandbox:
        assert sandbox.run("words = context.split()\nlen(words)").check().value == 3
        assert "removed-builtin" in sandbox.run("open('/etc/passwd')").stderr
        assert sandbox.get("words") == ["a", "b", "c"]
        assert len(folders() - before) == 1
        for guarantee in (Guarantee.NO_NETWORK, Guarantee.NO_HOST_FILES, Guarantee.NO_SECRETS):
            assert sandbox.report.guarantee(guarantee) is Level.FULL
    assert folders() == before


def test_a_policy_that_does_not_name_it_refuses_it() -> None:
    with pytest.raises(Refused, match="does not allow the environment"):
        Sandbox("strict", environment="ssh", environment_kwargs=HERE)


def test_without_a_machine_it_says_what_to_set(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.delenv("RLM_SECURE_SSH_HOST", raising=False)
    assert main(["exec", "--policy", POLICY, "--environment", "ssh", "-c", "1"]) == 2
    assert "set RLM_SECURE_SSH_HOST, or pass host" in capsys.readouterr().err


def test_a_machine_that_lets_nobody_in_is_said_with_its_words() -> None:
    refuses = {"reach": ["sh", "-c", "echo Permission denied >&2; exit 254"]}
    with pytest.raises(EnvironmentUnavailable, match="ssh gave no sandbox: Failed: status 254: Permission denied"):
        Sandbox(POLICY, environment="ssh", environment_kwargs=refuses)


def test_what_a_dead_program_left_is_swept_by_its_label_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import rlm_secure_ssh  # type: ignore[import-not-found]

    monkeypatch.setattr(rlm_secure_ssh, "FOLDER", f"{tmp_path}/rlm-secure-ssh-")
    for attempt, labels in {"a": {LABEL: "1"}, "b": {"of": "another program"}}.items():
        folder = tmp_path / f"rlm-secure-ssh-{attempt}"
        folder.mkdir()
        (folder / "labels").write_text(json.dumps({ATTEMPT: attempt, OWNER: gone(), **labels}) + "\n")
    assert rlm_secure_ssh.SSHEnvironment(reach=["sh", "-c"]).sweep() == 1
    assert [path.name for path in tmp_path.iterdir()] == ["rlm-secure-ssh-b"]


def gone() -> str:
    """The owner's label of a process that has ended."""
    code = "from rlm_secure.environments.owner import owner; print(owner())"
    return subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
