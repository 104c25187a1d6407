"""`rlm-secure sandbox` with a real engine: what it builds is what sessions run in."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from typing import Any

from rlm_secure import Sandbox
from tests.docker.conftest import BASE

NAME = "rlm-secure-command:1"


def command(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "rlm_secure", "sandbox", *arguments], capture_output=True, text=True, timeout=280
    )


def test_what_is_built_is_what_sessions_run_in(image: str, engine: Any) -> None:
    done = command("build", "docker", "--base", BASE, "--name", NAME)
    assert (done.returncode, done.stdout) == (0, f"{NAME}\n"), done.stderr
    try:
        with Sandbox(environment="docker", environment_kwargs={"image": NAME}) as sandbox:
            assert sandbox.run("print(1 + 1)").stdout == "2\n"
    finally:
        with contextlib.suppress(Exception):
            engine.images.remove(NAME)


def test_nothing_of_ours_is_swept_while_we_live(image: str) -> None:
    with Sandbox(environment="docker", environment_kwargs={"image": image}) as sandbox:
        done = command("sweep", "docker")
        assert done.returncode == 0 and done.stdout.strip().isdigit(), done.stderr
        assert sandbox.run("print(3)").stdout == "3\n"


def test_a_base_that_is_not_here_is_named() -> None:
    done = command("build", "docker", "--base", "nobody/nothing:latest")
    assert done.returncode == 2 and "nobody/nothing@sha256:" in done.stderr
