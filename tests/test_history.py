"""What the history tells: the changelog, what a release says of itself, and the titles of commits."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
VERSION = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["version"]
KINDS = ["Security", "Removed", "Deprecated", "Added", "Changed", "Fixed"]


def git(*arguments: str) -> str:
    done = subprocess.run(["git", "-C", str(ROOT), *arguments], capture_output=True, text=True, timeout=60)
    return done.stdout if done.returncode == 0 else ""


def released() -> list[str]:
    return re.findall(r"^## \[(\d[^\]]*)\] - \d{4}-\d\d-\d\d$", CHANGELOG, flags=re.MULTILINE)


def test_the_changelog_begins_with_what_no_release_has_yet() -> None:
    headings = re.findall(r"^## (.+)$", CHANGELOG, flags=re.MULTILINE)
    assert headings[0] == "[Unreleased]"
    assert len(headings) - 1 == len(released())
    assert VERSION in released()


def test_the_sections_of_a_version_are_in_one_order() -> None:
    for section in re.split(r"^## ", CHANGELOG, flags=re.MULTILINE)[1:]:
        kinds = re.findall(r"^### (.+)$", section, flags=re.MULTILINE)
        assert kinds == [kind for kind in KINDS if kind in kinds], section.partition("\n")[0]


def test_every_version_has_a_link_to_what_changed() -> None:
    links = dict(re.findall(r"^\[([^\]]+)\]: (\S+)$", CHANGELOG, flags=re.MULTILINE))
    assert list(links) == ["Unreleased", *released()]
    home = "https://github.com/rlm-secure/rlm-secure"
    newest, *others = released()
    assert links["Unreleased"] == f"{home}/compare/v{newest}...HEAD"
    for version, before in zip(released(), others, strict=False):
        assert links[version] == f"{home}/compare/v{before}...v{version}"
    assert links[released()[-1]] == f"{home}/releases/tag/v{released()[-1]}"


def release(tag: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([ROOT / ".ci" / "release", tag], capture_output=True, text=True, timeout=60)


def test_a_release_says_what_its_section_says() -> None:
    done = release(f"v{VERSION}")
    assert (done.returncode, done.stderr) == (0, "")
    said = done.stdout.strip()
    assert said in CHANGELOG
    assert said.startswith("### ") or "\n### " in said
    assert "## [" not in said.replace("### [", "") and "]: http" not in said


@pytest.mark.parametrize("tag", ["v0.0.0", VERSION, "main"])
def test_a_tag_that_is_not_the_version_is_refused(tag: str) -> None:
    done = release(tag)
    assert (done.returncode, done.stdout) == (1, "")
    assert tag in done.stderr and VERSION in done.stderr


def too_long(titles: list[str]) -> list[str]:
    """Titles of more than 72 characters; GitHub writes those of the merges that it tries out."""
    return [title for title in titles if len(title) > 72 and not re.fullmatch(r"Merge \w{40} into \w{40}", title)]


def test_titles_of_commits_are_one_short_line() -> None:
    titles = git("log", "-100", "--format=%s").splitlines()
    if not titles:
        pytest.skip("there is no history here: a source distribution, or a checkout of another user")
    assert too_long(titles) == []


def test_a_title_that_is_too_long_is_found() -> None:
    assert too_long(["a" * 72, "b" * 73, f"Merge {'0' * 40} into {'1' * 40}"]) == ["b" * 73]
