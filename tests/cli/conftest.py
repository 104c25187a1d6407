"""Runs the command line as a user does: in a process of its own, which need not import everything again."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import pytest

from tests.servers import commands

COMMAND = (sys.executable, "-m", "rlm_secure")


@dataclass(frozen=True)
class Done:
    """What a command left: exit code, stdout, stderr."""

    code: int
    out: str
    err: str


Run = Callable[..., Done]


def environment(extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The variables of a test's process, without keys and colour settings."""
    ours = {
        name: value
        for name, value in os.environ.items()
        if not name.endswith("_API_KEY") and name not in {"NO_COLOR", "FORCE_COLOR"}
    }
    return ours | dict(extra or {})


@pytest.fixture
def rlm_secure() -> Run:
    """Run `rlm-secure ARGUMENTS...` and wait for it."""

    def run(*arguments: str, stdin: str = "", env: Mapping[str, str] | None = None, timeout: float = 60) -> Done:
        done = commands.run(
            arguments, stdin=stdin.encode("utf-8", "surrogatepass"), env=environment(env), timeout=timeout
        )
        return Done(done.returncode, done.stdout.decode(), done.stderr.decode())

    return run
