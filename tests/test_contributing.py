"""What people meet who report or change something: forms, the ways to report in private, and commands that are there."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[1]
FORMS = ROOT / ".github" / "ISSUE_TEMPLATE"
PRIVATE = "https://github.com/rlm-secure/rlm-secure/security/advisories/new"
if not FORMS.is_dir():
    pytest.skip("a source distribution has no forms", allow_module_level=True)

every_form = pytest.mark.parametrize("name", ["bug", "escape-not-here", "false-positive", "feature"])


def form(name: str) -> dict[str, Any]:
    return yaml.safe_load((FORMS / f"{name}.yml").read_text(encoding="utf-8"))


def test_there_is_no_other_form() -> None:
    assert sorted(path.stem for path in FORMS.iterdir()) == ["bug", "config", "escape-not-here", "false-positive", "feature"]
    assert form("config")["blank_issues_enabled"] is False
    assert form("config")["contact_links"][0]["url"] == PRIVATE


@every_form
def test_a_form_has_what_github_asks_of_one(name: str) -> None:
    content = form(name)
    assert set(content) <= {"name", "description", "title", "labels", "body"}
    assert content["name"] and content["description"]
    asked = [each for each in content["body"] if each["type"] != "markdown"]
    assert asked
    assert {each["type"] for each in asked} <= {"input", "textarea", "dropdown", "checkboxes"}
    assert len({each["id"] for each in asked}) == len(asked)
    assert all(re.fullmatch(r"[\w-]+", each["id"]) and each["attributes"]["label"] for each in asked)


@pytest.mark.parametrize("name", ["bug", "escape-not-here", "false-positive"])
def test_a_form_says_where_a_bypass_belongs(name: str) -> None:
    said = form(name)["body"][0]
    assert said["type"] == "markdown"
    assert PRIVATE in said["attributes"]["value"]


@pytest.mark.parametrize("name", ["SECURITY.md", "CODE_OF_CONDUCT.md"])
def test_who_reports_finds_the_private_way(name: str) -> None:
    assert PRIVATE in (ROOT / ".github" / name).read_text(encoding="utf-8")


def test_what_is_critical_are_claims() -> None:
    claims = set(re.findall(r"^\| `([a-z-]+)` \|", (ROOT / "threat-model.md").read_text(encoding="utf-8"), flags=re.MULTILINE))
    named = re.search(r"^\| critical \|.*$", (ROOT / ".github/SECURITY.md").read_text(encoding="utf-8"), flags=re.MULTILINE)
    critical = set(re.findall(r"`([a-z-]+)`", named[0]))
    assert len(critical) > 4
    assert critical <= claims  # any other one is high


def test_the_commands_of_contributing_are_there() -> None:
    text = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = set(re.findall(r"^([a-z-]+)(?= |:)[^=\n]*:", (ROOT / "Makefile").read_text(encoding="utf-8"), flags=re.MULTILINE))
    made = set(re.findall(r"\bmake ([a-z-]+)", "\n".join(re.findall(r"^    .+|`[^`\n]+`", text, flags=re.MULTILINE))))
    assert len(made) > 4
    assert made - targets - {"docs-serve"} == set()
    run = set(re.findall(r"\.ci/[\w-]+", text))
    assert len(run) > 4
    assert [each for each in run if not os.access(ROOT / each, os.X_OK)] == []
    tests = re.findall(r"^    \.venv/bin/python -m (?:tests|pytest) ((?:tests/\S+ ?)+)", text, flags=re.MULTILINE)
    assert len(tests) > 4
    assert [each for line in tests for each in line.split() if not (ROOT / each).exists()] == []
