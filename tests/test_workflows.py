"""The workflows of GitHub: pinned, without rights that they do not need, and running commands that are there."""

from __future__ import annotations

import os
import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FOLDER = ROOT / ".github" / "workflows"
if not FOLDER.is_dir():
    pytest.skip("a source distribution has no workflows", allow_module_level=True)

WORKFLOWS = sorted(path.name for path in FOLDER.iterdir())
#: What a job may be granted, with the workflow and the job that need it. Everything else is read access to the contents.
GRANTED = {
    ("audit.yml", "itself", "security-events"),
    ("publish.yml", "pypi", "id-token"),
    ("publish.yml", "pypi", "attestations"),
    ("publish.yml", "site", "pages"),
    ("publish.yml", "site", "id-token"),
    ("publish.yml", "release", "contents"),
}
#: Programs of the runner's image that a command may begin with.
PROGRAMS = {"base64", "echo", "gh", "sudo"}

every_workflow = pytest.mark.parametrize("name", WORKFLOWS)


def read(name: str) -> dict[str, Any]:
    """A workflow; its key `on` is true here, as YAML 1.1 has it."""
    return yaml.safe_load((FOLDER / name).read_text(encoding="utf-8"))


def jobs(name: str) -> dict[str, dict[str, Any]]:
    return read(name)["jobs"]


def steps(name: str) -> Iterator[dict[str, Any]]:
    for job in jobs(name).values():
        yield from job.get("steps", ())


def lines_with_uses(text: str) -> list[str]:
    return re.findall(r"^\s*(?:- )?uses: (.+)$", text, flags=re.MULTILINE)


def test_there_is_one_for_each_thing() -> None:
    assert WORKFLOWS == ["audit.yml", "build.yml", "ci.yml", "nightly.yml", "publish.yml"]


@pytest.mark.parametrize("path", [*(f".github/workflows/{name}" for name in WORKFLOWS), "action.yml"])
def test_every_action_is_pinned_by_its_commit_and_says_the_version(path: str) -> None:
    found = lines_with_uses((ROOT / path).read_text(encoding="utf-8"))
    assert found
    for each in found:
        if each.startswith("./"):  # of this commit
            assert (ROOT / each.split()[0]).exists()
        else:
            assert re.fullmatch(r"[\w-]+/[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", each), each


def test_an_action_has_one_version_everywhere() -> None:
    texts = [path.read_text(encoding="utf-8") for path in (*FOLDER.iterdir(), ROOT / "action.yml")]
    versions: dict[str, set[str]] = {}
    for each in (found for text in texts for found in lines_with_uses(text) if not found.startswith("./")):
        action, _, version = each.partition("@")
        versions.setdefault("/".join(action.split("/")[:2]), set()).add(version)
    assert len(versions) > 5
    assert {action: found for action, found in versions.items() if len(found) > 1} == {}


@every_workflow
def test_nothing_is_granted_but_what_a_job_needs(name: str) -> None:
    assert read(name)["permissions"] == {}
    granted = set()
    for job, content in jobs(name).items():
        for scope, access in content.get("permissions", {}).items():
            if (scope, access) != ("contents", "read"):
                assert access == "write"
                granted.add((name, job, scope))
    assert granted == {each for each in GRANTED if each[0] == name}


def test_a_job_with_an_identity_waits_for_approval_and_runs_no_command() -> None:
    found = 0
    for name in WORKFLOWS:
        for job in jobs(name).values():
            if "id-token" in job.get("permissions", {}):
                found += 1
                assert job["environment"]["name"] in ("pypi", "github-pages")
                assert [step for step in job["steps"] if "run" in step or "checkout" in step["uses"]] == []
    assert found == 2


@every_workflow
def test_no_checkout_leaves_its_credentials_behind(name: str) -> None:
    for step in steps(name):
        if step.get("uses", "").startswith("actions/checkout@"):
            assert step["with"]["persist-credentials"] is False


@every_workflow
def test_every_job_ends_and_no_two_runs_do_the_same_work(name: str) -> None:
    assert set(read(name)["concurrency"]) == {"group", "cancel-in-progress"}
    for job in jobs(name).values():
        assert "timeout-minutes" in job or job["uses"].startswith("./.github/workflows/")
        assert job.get("runs-on", "ubuntu-24.04") == "ubuntu-24.04"


@every_workflow
def test_no_expression_is_text_of_a_script(name: str) -> None:
    assert [step["run"] for step in steps(name) if "${{" in step.get("run", "")] == []


def begins(script: str) -> Iterator[list[str]]:
    """The simple commands of a script: what stands between the words of the shell."""
    for part in re.split(r"[;\n|]|&&", script):
        words = shlex.split(part.strip(), comments=True)
        while words and words[0] in ("do", "then", "if", "else"):
            words = words[1:]
        if words and words[0] not in ("for", "done", "fi"):
            yield words


def makes() -> set[str]:
    rules = re.findall(r"^([a-z][\w -]*):(?!=)", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE)
    return {target for rule in rules for target in rule.split()}


def unknown(script: str) -> list[str]:
    """What a script runs and nobody has."""
    missing = []
    for words in begins(script):
        program = words[0]
        if program == "make":
            missing += [f"make {word}" for word in words[1:] if "=" not in word and word not in makes()]
        elif program.startswith(".ci/"):
            missing += [] if os.access(ROOT / program, os.X_OK) else [program]
        elif program not in PROGRAMS:
            missing.append(program)
    return missing


@every_workflow
def test_every_command_is_there(name: str) -> None:
    assert [each for step in steps(name) for each in unknown(step.get("run", ""))] == []


def test_a_command_that_is_not_there_is_found() -> None:
    script = "make fuzz FUZZ=a; make nothing\n.ci/none\nfor each in a/*; do echo $each; curl x; done\n.ci/run"
    assert unknown(script) == ["make nothing", ".ci/none", "curl"]


def test_the_wheel_and_the_tag_of_a_release_are_of_one_version() -> None:
    publish = read("publish.yml")
    assert publish[True] == {"push": {"tags": ["v*"]}}
    assert publish["jobs"]["build"]["needs"] == "check"
    assert publish["jobs"]["pypi"]["needs"] == "build"
    assert any(".ci/release" in step.get("run", "") for step in publish["jobs"]["check"]["steps"])


def test_artifacts_that_are_fetched_were_uploaded() -> None:
    uploaded = {
        step["with"]["name"]
        for name in ("build.yml", "publish.yml")
        for step in steps(name)
        if step.get("uses", "").startswith("actions/upload-artifact@")
    }
    fetched = {
        each
        for step in steps("publish.yml")
        if step.get("uses", "").startswith("actions/download-artifact@")
        for each in (step["with"].get("name") or step["with"]["pattern"]).strip("{}").split(",")
    }
    assert fetched == uploaded == {"dist", "sbom", "notes"}


def test_the_audit_of_this_repository_asks_for_inputs_that_the_action_has() -> None:
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    (step,) = (step for step in steps("audit.yml") if step.get("uses") == "./")
    given = step["with"]
    assert set(given) <= set(action["inputs"])
    assert [each for each in given["targets"].split() if each != "packages" and not (ROOT / each).is_dir()] == []
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    assert given["install"].strip(".[]") in extras
