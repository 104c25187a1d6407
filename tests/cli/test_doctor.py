"""`rlm-secure doctor` reports what a session reports, and fails when a required wall is missing."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from rlm_secure import RLM, Sandbox, interpreters
from rlm_secure.cli import doctor, main
from rlm_secure.environments.interface import Environment
from rlm_secure.errors import EnvironmentUnavailable, PriceUnknownError
from rlm_secure.guarantees import EnforcementReport, Guarantee, Level, Wall, WallStatus
from rlm_secure.policy import load_policy
from tests.cli.conftest import Run
from tests.servers.openai_server import OpenAIServer


def test_the_table_names_every_wall_and_guarantee(rlm_secure: Run) -> None:
    done = rlm_secure("doctor")
    assert done.code == 0
    for name in (*load_policy("strict").isolation.local, *Guarantee):
        assert name in done.out
    assert "local: every wall that strict requires holds" in done.out
    assert "\x1b" not in done.out


def test_json_agrees_with_a_session(rlm_secure: Run) -> None:
    done = rlm_secure("doctor", "--json")
    assert done.code == 0
    (found,) = [each for each in json.loads(done.out)["environments"] if each["environment"] == "local"]
    with Sandbox() as sandbox:
        report = sandbox.report.to_dict()
    assert found["guarantees"] == report["guarantees"]
    assert [(w["wall"], w["level"]) for w in found["walls"]] == [(w["wall"], w["level"]) for w in report["walls"]]
    assert found["missing"] == []


@pytest.mark.parametrize(
    ("lm", "level"), [({}, "partial"), ({"cost_usd": 1.0}, "full"), ({"cost_usd": 1.0, "unpriced": True}, "partial")]
)
def test_spend_is_bounded_as_far_as_a_completion_says(
    rlm_secure: Run, tmp_path: Path, lm: dict[str, object], level: str
) -> None:
    policy = tmp_path / "own.toml"
    lines = [f"{key} = {json.dumps(value)}" for key, value in lm.items()]
    policy.write_text("\n".join(['name = "own"', "[lm]", *lines]))
    done = rlm_secure("doctor", "--json", "--policy", str(policy))
    (found,) = [each for each in json.loads(done.out)["environments"] if each["environment"] == "local"]
    with OpenAIServer(reply="FINAL(x)") as server:
        backend = {"api_key": "k", "model_name": "unheard-of", "base_url": server.base_url}
        run = RLM(backend="openai", backend_kwargs=backend, policy=policy)
        if level == "full":
            with pytest.raises(PriceUnknownError):
                run.completion("c")
        else:
            assert [each.message[:8] for each in run.completion("c").notices] == ["partial:"]
    assert found["guarantees"]["bounded-spend"] == level


class Weak(Environment):
    """An environment without walls, or none at all."""

    name = "local"

    def __init__(self, problem: str = "") -> None:
        self.problem = problem

    def open(self, policy, **_):  # type: ignore[no-untyped-def]
        if self.problem:
            raise EnvironmentUnavailable(self.problem)
        assert policy.isolation.required("local") == ()
        return Opened()


class Opened:
    report = EnforcementReport("local", (WallStatus(Wall.SECCOMP, Level.NONE, "the kernel said no \x1b[31m"),))

    def __enter__(self) -> Opened:
        return self

    def __exit__(self, *_: object) -> None: ...


def test_a_missing_wall_is_shown_and_fails(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("rlm_secure.environments.registry.create_environment", lambda name: Weak())
    assert main(["doctor", "--environment", "local"]) == 1
    out = capsys.readouterr().out
    assert "the kernel said no \\x1b[31m" in out
    assert "missing and required by strict: language" in out


def test_an_environment_that_is_not_there_fails_with_its_reason(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("rlm_secure.environments.registry.create_environment", lambda name: Weak("there is no kernel; install one"))
    assert main(["doctor", "--environment", "local"]) == 1
    assert "local: not available: there is no kernel; install one" in capsys.readouterr().out
    assert main(["doctor", "--environment", "local", "--json"]) == 1
    (found,) = json.loads(capsys.readouterr().out)["environments"]
    assert found == {
        "environment": "local",
        "available": False,
        "reason": "not available: there is no kernel; install one",
    }


def test_an_environment_that_nobody_asked_for_may_be_absent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from rlm_secure.environments.registry import create_environment

    monkeypatch.setattr(
        "rlm_secure.environments.registry.create_environment", lambda name: create_environment(name) if name == "local" else Weak("no engine")
    )
    assert main(["doctor"]) == 0
    out = capsys.readouterr().out
    assert "local: every wall that strict requires holds" in out
    assert "docker: not available: no engine" in out
    monkeypatch.setattr("rlm_secure.environments.registry.create_environment", lambda name: Weak("no engine"))
    assert main(["doctor"]) == 1


def test_a_cloud_is_tried_only_when_it_is_asked_for(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    tried = []
    monkeypatch.setattr("rlm_secure.environments.registry.create_environment", lambda name: tried.append(name) or Weak("no account"))
    assert main(["doctor"]) == 1
    assert set(tried) == set(doctor.HERE)
    assert "e2b: not tried, since it would start a sandbox of your account" in capsys.readouterr().out
    assert main(["doctor", "--environment", "e2b"]) == 1
    assert tried[-1] == "e2b"


class Old(Weak):
    """An environment whose cells run in a Python of another version."""

    def __init__(self, python: str) -> None:
        self.python = python

    def open(self, policy, **_):  # type: ignore[no-untyped-def]
        opened = Opened()
        opened.report = EnforcementReport("local", (), {"python": self.python})  # type: ignore[misc]
        return opened


@pytest.mark.parametrize(
    ("python", "better", "issues"),
    [
        ("3.11.7", "3.13.12", ["gh-120384", "gh-120298", "gh-133767 (CVE-2025-4516)", "gh-140551", "gh-141805"]),
        ("3.11.14", "3.13.12", ["gh-120384", "gh-120298", "gh-140551", "gh-141805"]),
        ("3.12.5", "3.13.12", ["gh-133767 (CVE-2025-4516)", "gh-140551", "gh-141805"]),
        ("3.13.0+", "3.13.12", ["gh-133767 (CVE-2025-4516)", "gh-140551", "gh-141805"]),
        ("3.11.15", "3.13.12", ["gh-140551", "gh-141805"]),
        ("3.12.11", "3.13.12", ["gh-140551", "gh-141805"]),
        ("3.13.4", "3.13.12", ["gh-140551", "gh-141805"]),
        ("3.13.10", "3.13.12", ["gh-141805"]),
        ("3.13.12", "", []),
        ("3.\x1b[31m", "", []),
        ("", "", []),
    ],
)
def test_a_python_with_known_memory_bugs_is_named_with_the_one_to_take(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], python: str, better: str, issues: list[str]
) -> None:
    monkeypatch.setattr("rlm_secure.environments.registry.create_environment", lambda name: Old(python))
    main(["doctor", "--environment", "local", "--json"])
    (found,) = json.loads(capsys.readouterr().out)["environments"]
    assert found["python_bugs"] == issues
    main(["doctor", "--environment", "local"])
    said = " ".join(capsys.readouterr().out.split())
    assert ("known memory bugs" in said) == bool(issues)
    assert not better or f"take Python {better} or newer" in said


def test_every_bug_names_a_release_of_every_supported_python() -> None:
    for bug in interpreters.MEMORY_BUGS:
        assert set(bug.fixed) == {11, 12, 13}
    assert interpreters.without_them("3.13.0") == "3.13.12"


def test_the_version_is_that_of_the_python_that_cells_run_in(rlm_secure: Run) -> None:
    done = rlm_secure("doctor", "--json")
    (found,) = [each for each in json.loads(done.out)["environments"] if each["environment"] == "local"]
    expected = [bug.issue for bug in interpreters.memory_bugs(sys.version.split()[0])]
    assert found["python_bugs"] == expected


def test_an_unknown_environment_cannot_run(rlm_secure: Run) -> None:
    done = rlm_secure("doctor", "--environment", "basement")
    assert (done.code, done.out) == (2, "")
    assert "basement" in done.err


def test_the_examination_is_the_session_that_was_opened() -> None:
    found = doctor._examine("local", load_policy("strict"))
    assert found.sound
    assert not isinstance(found.outcome, str)
    assert found.outcome[Wall.SECCOMP].level is Level.FULL
