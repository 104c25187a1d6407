"""Every path of this repository that a document or a docstring names is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: Where a path of the repository begins; what begins elsewhere is the reader's own file.
TOPS = sorted(path.name for path in ROOT.iterdir() if path.is_dir() and not path.name.startswith(".")) + [".ci", ".github"]
#: Made by running something, and never part of the repository.
MADE = ("build/", "dist/", "fuzz-findings/")
#: What names files of elsewhere, and why.
OTHERS = {"CHANGELOG.md": "tells of what was", "docs/pages/migration/differences.md": "names upstream's own tests"}
DOCUMENTS = [
    path
    for path in (*ROOT.glob("*.md"), *(found for top in TOPS for found in (ROOT / top).rglob("*.md")))
    if path.relative_to(ROOT).as_posix() not in OTHERS and "build" not in path.parts
]
PATH = re.compile(rf"(?<![\w./<-])(?:{'|'.join(map(re.escape, TOPS))})/[\w./*-]*")


def named(text: str) -> set[str]:
    """The paths that are between backticks, without the test, the line or the part of a file that follows."""
    quoted = re.findall(r"`([^`\n]+)`", text)
    return {path.rstrip(".") for each in quoted for path in PATH.findall(each) if not path.startswith(MADE)}


def absent(paths: set[str]) -> list[str]:
    return sorted(path for path in paths if not (any(ROOT.glob(path)) if "*" in path else (ROOT / path).exists()))


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_documents_name_what_is_there(document):
    assert absent(named(document.read_text(encoding="utf-8"))) == []


def test_code_and_settings_name_tests_that_are_there():
    sources = [*ROOT.glob("rlm_secure/**/*.py"), *ROOT.glob("tests/**/*.py"), *ROOT.glob("benchmarks/**/*.py")]
    sources += [ROOT / "pyproject.toml", ROOT / "Makefile", *(ROOT / ".ci").iterdir(), *ROOT.glob(".github/**/*.yml")]
    paths = {
        path
        for source in sources
        if source != Path(__file__) and not source.is_relative_to(ROOT / "tests/compat")
        for path in re.findall(r"(?<![\w./])tests/[\w/]+\.(?:py|sh|md)\b", source.read_text(encoding="utf-8"))
    }
    assert len(paths) > 20
    assert absent(paths) == []


def test_a_path_that_is_not_there_is_found():
    text = "`tests/never.py::test_it` and `rlm_secure/guest/*.py`, `benchmarks/none/`, `docs/mkdocs.yml`; tests/prose.py"
    assert absent(named(text)) == ["benchmarks/none/", "tests/never.py"]
    assert named("`https://example.com/tests/x.py` `my/tests/x.py` `build/junit.xml`") == set()
