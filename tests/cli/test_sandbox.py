"""`rlm-secure sandbox`: what it needs is said in one sentence when it is missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.conftest import Run

NOWHERE = {"DOCKER_HOST": "unix:///nowhere/docker.sock"}


def test_without_an_engine_building_and_sweeping_say_so(rlm_secure: Run) -> None:
    for verb in (["build", "docker", "--base", f"python@sha256:{'0' * 64}"], ["sweep", "docker"]):
        done = rlm_secure("sandbox", *verb, env=NOWHERE)
        assert (done.code, done.out) == (2, "")
        assert "Docker" in done.err and "Traceback" not in done.err


def test_a_cloud_without_credentials_names_the_variable(rlm_secure: Run) -> None:
    done = rlm_secure("sandbox", "build", "e2b", "--base", f"python@sha256:{'0' * 64}")
    assert done.code == 2 and "E2B_API_KEY" in done.err


def test_a_base_that_can_change_is_refused(rlm_secure: Run) -> None:
    done = rlm_secure("sandbox", "build", "e2b", "--base", "python:3.11", env={"E2B_API_KEY": "e2b_" + "0" * 40})
    assert done.code == 2 and "python@sha256:" in done.err


@pytest.mark.parametrize("arguments", [[], ["build", "local", "--base", "x"], ["build", "docker"], ["sweep"]])
def test_bad_usage(rlm_secure: Run, arguments: list[str]) -> None:
    assert rlm_secure("sandbox", *arguments).code == 2


def test_wheels_are_for_docker_and_for_a_policy_with_packages(rlm_secure: Run, tmp_path: Path) -> None:
    cloud = ("sandbox", "build", "e2b", "--base", f"python@sha256:{'0' * 64}", "--policy", "data")
    done = rlm_secure(*cloud, "--wheels", str(tmp_path))
    assert (done.code, done.out) == (2, "") and "--wheels is for docker" in done.err
    done = rlm_secure("sandbox", "build", "docker", "--base", f"python@sha256:{'0' * 64}", "--policy", "nowhere.toml")
    assert (done.code, done.out) == (2, "") and "nowhere.toml" in done.err
