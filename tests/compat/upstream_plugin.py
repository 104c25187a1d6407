"""A pytest plugin for upstream's own tests: `rlm` is rlm_secure.compat, and what became of each test is written down.

DockerREPL runs cells in local sessions: what is compared is what a program sees of it, and containers have tests of
their own.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

import rlm_secure.compat

rlm_secure.compat.install(force=True)

from rlm_secure.compat.environments.docker_repl import DockerREPL  # noqa: E402

DockerREPL.environment = "local"
DockerREPL.leading = ()

OUTCOMES: dict[str, str] = {}


def pytest_collectreport(report: pytest.CollectReport) -> None:
    """A file that cannot be read, or that is skipped as a whole."""
    if report.outcome != "passed":
        OUTCOMES[report.nodeid] = report.outcome


def pytest_runtest_logreport(report: pytest.TestReport) -> None:
    """The worst of a test's three phases."""
    if OUTCOMES.get(report.nodeid) != "failed" and (report.when == "call" or report.outcome != "passed"):
        OUTCOMES[report.nodeid] = report.outcome


def pytest_sessionfinish() -> None:
    """Write them where the runner said."""
    Path(os.environ["RLM_SECURE_OUTCOMES"]).write_text(json.dumps(OUTCOMES), encoding="utf-8")
