"""The regression suite of the examples, copied as a user copies it, in a pytest of its own; and its workflow."""

from __future__ import annotations

import shutil
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

import pytest
import yaml

from rlm_secure.cli import main
from tests.examples.programs import EXAMPLES, ROOT, environment

SUITE = EXAMPLES / "ci"
#: One attack of the folder, and one of the shipped ones: all of them are for minutes.
FEW = "not attack_fails or invoice-sent-by-http or connection-by-fast-open"
#: Without the plugins that others install: one of them costs two seconds.
PLUGINS = ("no:cacheprovider", "no:schemathesis", "no:hypothesispytest")


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return Path(shutil.copytree(SUITE, tmp_path / "suite", ignore=shutil.ignore_patterns("__pycache__")))


def outcome(suite: Path, *arguments: str) -> str:
    """The last line of what pytest says."""
    registered = any(each.value == "rlm_secure.testing.plugin" for each in entry_points(group="pytest11"))
    plugins = PLUGINS if registered else (*PLUGINS, "rlm_secure.testing.plugin")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", *(part for each in plugins for part in ("-p", each)), *arguments],
        cwd=suite,
        capture_output=True,
        text=True,
        timeout=250,
        env=environment(),
    )
    return done.stdout.splitlines()[-1] if done.stdout else done.stderr


@pytest.mark.attack
def test_it_passes_with_attacks_in_an_arena(suite: Path) -> None:
    said = outcome(suite, "-k", FEW)
    assert said.startswith("13 passed, "), said  # eleven of cells and the policy, two attacks; none was left out


def test_it_fails_where_the_policy_grants_more(suite: Path) -> None:
    """Otherwise it would guard nothing."""
    policy = suite / "policy.toml"
    text = policy.read_text()
    policy.write_text(text.replace('"re"]', '"re", "statistics"]').replace("cost_usd = 1.0", "cost_usd = 40.0"))
    said = outcome(suite, "-k", "not attack_fails")
    assert said.startswith("2 failed, 9 passed, "), said


def test_its_workflow_runs_the_suite_and_the_action_as_it_is() -> None:
    workflow = yaml.safe_load((SUITE / "workflow.yml").read_text())
    steps = workflow["jobs"]["sandbox"]["steps"]
    assert [step["run"] for step in steps if step.get("working-directory") == "examples/ci"][-1].startswith("pytest")
    action = next(step for step in steps if step.get("uses", "").startswith("rlm-secure/rlm-secure@"))
    assert set(action["with"]) <= set(yaml.safe_load((ROOT / "action.yml").read_text())["inputs"])
    for name in ("policy", "targets"):
        assert (ROOT / action["with"][name]).is_file()


def test_the_audit_of_the_workflow_passes() -> None:
    assert main(["audit", str(SUITE / "policy.toml")]) == 0
