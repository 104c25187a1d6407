"""`make live` itself, against the emulators: the script must work on the day that somebody has an account."""

from __future__ import annotations

import re

import pytest

from benchmarks import live
from rlm_secure.resources import sandboxes_dir
from tests.clouds.conftest import BUILDERS, Cloud
from tests.clouds.test_lifecycle import VARIABLES

pytestmark = [
    pytest.mark.filterwarnings("ignore:Polling-only mode:DeprecationWarning"),
    pytest.mark.timeout(300),
    pytest.mark.parametrize("cloud", BUILDERS, indirect=True),  # the others' arena has no engine
    pytest.mark.slow,
]


def test_a_live_run_reports_every_step(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(live, "_ATTACKS", 1)
    report = live.run(cloud.name, cloud.options)
    assert {name: step for name, step in report["steps"].items() if not step["ok"]} == {}
    assert len(report["steps"]) == 10
    page = (sandboxes_dir() / cloud.name / "README.md").read_text(encoding="utf-8")
    named = set(re.findall(r"\| `([^`]+)` \|", page))
    assert named and named <= {*report["steps"], "a sandbox that nobody renews ends"}
    assert report["enforcement"]["environment"] == cloud.name


def test_a_run_without_an_account_says_what_is_missing(cloud: Cloud, monkeypatch: pytest.MonkeyPatch) -> None:
    options = {name: value for name, value in cloud.options.items() if name != cloud.wire.key}
    monkeypatch.delenv(VARIABLES[cloud.name], raising=False)
    report = live.run(cloud.name, options)
    (step,) = report["steps"].values()
    assert not step["ok"] and "needs an API key" in step["said"]
