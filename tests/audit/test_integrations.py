"""The command line, the pre-commit hooks and the Action: their own commands, run."""

from __future__ import annotations

import json
import os
import re
import shlex
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from rlm_secure.audit.read.yaml_document import read_yaml
from rlm_secure.cli import audit as command

ROOT = Path(__file__).parents[2]
BIN = Path(sys.executable).parent


def run(*arguments: str, cwd: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    path = f"{BIN}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT), **(env or {})}
    return subprocess.run(arguments, capture_output=True, text=True, timeout=280, cwd=cwd, env=environment)


def rlm_secure(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return run(sys.executable, "-m", "rlm_secure", *arguments, cwd=cwd)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A folder with a bad policy and a good one."""
    (tmp_path / "bad.toml").write_text("[data]\nlog_context = true\n")
    (tmp_path / "good.toml").write_text('extends = "strict"\n')
    for path in tmp_path.iterdir():
        path.chmod(0o644)
    return tmp_path


def test_exit_codes_are_those_of_the_library() -> None:
    from rlm_secure import audit

    ours = (command.CLEAN, command.FOUND, command.COULD_NOT_RUN, command.NOTHING_AUDITED)
    assert ours == (audit.CLEAN, audit.FOUND, audit.COULD_NOT_RUN, audit.NOTHING_AUDITED) == (0, 1, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["good.toml"], 0),
        (["bad.toml"], 1),
        (["bad.toml", "--fail-on", "critical"], 0),
        (["good.toml", "--fail-on", "info"], 1),
        (["nowhere.toml"], 2),
        (["good.toml", "--policy", "nowhere"], 2),
        (["--env", "nowhere"], 2),
        (["good.toml", "--format", "nothing"], 2),
        (["good.toml", "--baseline", "bad.toml"], 2),
        (["good.toml", "-o", "no/such/folder"], 2),
        (["empty"], 3),
    ],
)
def test_exit_codes(arguments: list[str], code: int, folder: Path) -> None:
    (folder / "empty").mkdir()
    done = rlm_secure("audit", *arguments, cwd=folder)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr


def test_the_report_is_on_stdout_and_the_talk_on_stderr(folder: Path) -> None:
    text = rlm_secure("audit", "bad.toml", cwd=folder)
    assert "context-logged\n  --> bad.toml:2:1\n" in text.stdout
    assert re.search(r"\d+ checks passed · \d+ findings \(1 high, .*\) · 0 not checked · ", text.stdout)
    assert (text.stderr, "\x1b" in text.stdout) == ("", False)
    machine = rlm_secure("audit", "bad.toml", "--format", "json", cwd=folder)
    assert json.loads(machine.stdout)["exit_code"] == 1
    assert "checks passed" in machine.stderr


def test_a_report_goes_to_a_file_and_a_baseline_ends_old_findings(folder: Path) -> None:
    first = rlm_secure(
        "audit", "bad.toml", "--format", "html", "-o", "a.html", "--write-baseline", "b.json", cwd=folder
    )
    assert (first.returncode, first.stdout) == (1, "")
    assert (folder / "a.html").read_text().startswith("<!doctype html>")
    second = rlm_secure("audit", "bad.toml", "--baseline", "b.json", cwd=folder)
    assert second.returncode == 0
    assert "ignored" in second.stdout


def test_every_rule_is_listed_and_explained(tmp_path: Path) -> None:
    rules = json.loads(rlm_secure("audit", "--list-rules", "--format", "json", cwd=tmp_path).stdout)["rules"]
    assert len(rules) >= 40
    listed = rlm_secure("audit", "--list-rules", cwd=tmp_path).stdout.splitlines()
    assert [line.split()[0] for line in listed] == [rule["id"] for rule in rules]
    page = rlm_secure("explain", "image-unpinned", cwd=tmp_path)
    assert (page.returncode, page.stderr) == (0, "")
    assert page.stdout.startswith("# image-unpinned\n\nA base image is named by a tag.\n")
    assert json.loads(rlm_secure("explain", "image-unpinned", "--json", cwd=tmp_path).stdout)["bad"].startswith("FROM")
    unknown = rlm_secure("explain", "image-unpined", cwd=tmp_path)
    assert (unknown.returncode, unknown.stdout) == (2, "")
    assert "did you mean image-unpinned?" in unknown.stderr


def test_the_policy_verbs(folder: Path) -> None:
    assert rlm_secure("policy", "init", "new.toml", cwd=folder).returncode == 0
    assert (folder / "new.toml").read_text() == (ROOT / "policies/TEMPLATE.toml").read_text()
    assert stat.S_IMODE((folder / "new.toml").stat().st_mode) & 0o022 == 0
    assert rlm_secure("policy", "init", "good.toml", cwd=folder).returncode == 2
    assert (folder / "good.toml").read_text() == 'extends = "strict"\n'
    (folder / "wrong.toml").write_text("[limits]\ncells = 0\nmemory = 1\n")
    check = rlm_secure("policy", "check", "good.toml", "wrong.toml", cwd=folder)
    assert check.returncode == 1
    assert [line.partition(": ")[0] for line in check.stdout.splitlines()] == [
        "good.toml",
        "wrong.toml:2:1",
        "wrong.toml:3:1",
    ]
    show = rlm_secure("policy", "show", "bad.toml", cwd=folder)
    assert "log_context = true  # bad.toml:2" in show.stdout
    diff = rlm_secure("policy", "diff", "strict", "bad.toml", cwd=folder)
    assert (diff.returncode, diff.stdout) == (1, "! data.log_context: false -> true  (weaker)\n")
    same = rlm_secure("policy", "diff", "strict", "good.toml", cwd=folder)
    assert (same.returncode, same.stdout) == (0, "")
    schema = rlm_secure("policy", "schema", cwd=folder)
    assert json.loads(schema.stdout) == json.loads((ROOT / "policies/policy.schema.json").read_text())


def hooks() -> dict[str, dict[str, str]]:
    document = read_yaml((ROOT / ".pre-commit-hooks.yaml").read_text(), "hooks")
    return {hook["id"]: hook for hook in document.value}


def as_hook(hook: dict[str, str], names: list[str], cwd: Path) -> int:
    """What pre-commit does: the entry, with the names that the patterns let through."""
    chosen = [
        name for name in names if re.search(hook["files"], name) and not re.search(hook.get("exclude", "^$"), name)
    ]
    program, *arguments = shlex.split(hook["entry"])
    assert program == "rlm-secure"
    return rlm_secure(*arguments, *chosen, cwd=cwd).returncode if chosen else 0


def test_the_audit_hook_stops_bad_files_and_lets_good_ones_pass(folder: Path) -> None:
    hook = hooks()["rlm-secure-audit"]
    (folder / "ok.py").write_text("print(1)\n")
    (folder / "pyproject.toml").write_text("[project]\n")
    (folder / "notes.md").write_text("no code\n")
    (folder / "data.json").write_text("{}")
    assert as_hook(hook, ["good.toml", "ok.py", "pyproject.toml", "notes.md"], folder) == 0
    assert as_hook(hook, ["good.toml", "bad.toml"], folder) == 1


def test_the_policy_hook(tmp_path: Path) -> None:
    hook = hooks()["rlm-secure-policy"]
    (tmp_path / "policy.toml").write_text("[limits]\ncells = 0\n")
    (tmp_path / "my-policy.toml").write_text("[limits]\ncells = 9\n")
    assert as_hook(hook, ["policy.toml"], tmp_path) == 1
    assert as_hook(hook, ["my-policy.toml", "other.toml"], tmp_path) == 0


@pytest.mark.parametrize(("target", "code"), [("good.toml", 0), ("bad.toml", 0), ("nowhere.toml", 2)])
def test_the_action_writes_sarif_and_keeps_the_exit_code(target: str, code: int, folder: Path) -> None:
    action = read_yaml((ROOT / "action.yml").read_text(), "action").value
    steps = {step["name"]: step for step in action["runs"]["steps"]}
    assert action["runs"]["using"] == "composite"
    audit = steps["Audit"]
    values = {name: str(each.get("default", "")) for name, each in action["inputs"].items()} | {"targets": target}
    env = {name: values[re.fullmatch(r"\$\{\{ inputs\.([a-z-]+) \}\}", text)[1]] for name, text in audit["env"].items()}
    env["GITHUB_OUTPUT"] = str(folder / "output")
    done = run("bash", "-e", "-o", "pipefail", "-c", audit["run"], cwd=folder, env=env)
    assert done.returncode == code, done.stderr
    outputs = dict(line.split("=") for line in (folder / "output").read_text().splitlines())
    assert outputs["exit-code"] == {"good.toml": "0", "bad.toml": "1", "nowhere.toml": "2"}[target]
    if code == 0:
        assert json.loads((folder / outputs["sarif"]).read_text())["version"] == "2.1.0"
    result = run("bash", "-e", "-c", steps["Result"]["run"], cwd=folder, env={"CODE": outputs["exit-code"]})
    assert result.returncode == int(outputs["exit-code"])


def test_no_input_of_the_action_is_text_of_a_script() -> None:
    action = read_yaml((ROOT / "action.yml").read_text(), "action").value
    assert [step["name"] for step in action["runs"]["steps"] if "${{" in step.get("run", "")] == []
