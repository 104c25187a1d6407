"""The first screen: README.md is short, its numbers are those that were measured, and its links lead somewhere from anywhere."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import yaml

from rlm_secure.registry import ENVIRONMENTS
from tests.docs.blocks import ROOT, SITE, read

README = ROOT / "README.md"
TEXT = README.read_text(encoding="utf-8")
REPOSITORY = re.compile(r"https://(?:github|raw\.githubusercontent)\.com/rlm-secure/rlm-secure/(?:(?:blob|tree)/)?main/(.+)")
HOME = "https://rlm-secure.github.io/rlm-secure/"
MEASURED = (ROOT / "benchmarks/RESULTS.md").read_text(encoding="utf-8")


def nav() -> list[str]:
    """Every page of the site, in its order."""

    def pages(item: object) -> list[str]:
        if isinstance(item, str):
            return [item]
        parts = item if isinstance(item, list) else list(item.values()) if isinstance(item, dict) else []
        return [page for part in parts for page in pages(part)]

    return pages(yaml.safe_load((ROOT / "docs/mkdocs.yml").read_text("utf-8"))["nav"])


def rows(text: str, first: str) -> list[dict[str, str]]:
    """A table, by the first cell of its head."""
    lines = text[text.index(f"| {first} |") :].split("\n\n")[0].splitlines()
    head, _, *body = ([cell.strip() for cell in line.strip("|").split("|")] for line in lines)
    return [dict(zip(head, row, strict=True)) for row in body]


def section(title: str) -> str:
    return MEASURED.split(f"\n## {title}\n")[1].split("\n## ")[0]


def test_the_first_program_has_ten_lines_and_a_denial_is_shown() -> None:
    blocks = read(README)
    program = next(block for block in blocks if block.language == "python")
    assert len([line for line in program.text.splitlines() if line.strip()]) <= 10
    assert any("open(" in command for block in blocks for command, _ in block.commands())


def test_the_comparison_is_what_was_measured() -> None:
    speed, walls, python = (
        {row["peer"]: row for row in rows(section(title), "peer")}
        for title in ("Speed and memory", "Containment", "Compatibility")
    )
    shown = {row.pop("sandbox"): row for row in rows(TEXT, "sandbox")}
    assert list(shown) == list(walls) and len(shown) > 8
    for peer, row in shown.items():
        expected = {name: walls[peer][name] for name in ("escaped", "hung", "unlimited", "spoofed")}
        expected |= {"Python that runs, of 42": python[peer]["run"], "cold, ms": speed[peer]["cold, ms"]}
        expected |= {"warm cell, ms": speed[peer]["warm, ms"], "100 MB context, ms": speed[peer]["context, ms"]}
        assert (peer, row) == (peer, expected)
    assert "42 pieces of ordinary Python" in section("Compatibility") and section("Containment").lstrip().startswith("74 probes")


def test_links_lead_somewhere_from_any_site() -> None:
    links = re.findall(r"\]\(([^)\s]+)\)", TEXT)
    pages = nav()
    assert len(links) > 30
    assert [link for link in links if not link.startswith("https://")] == []
    for link in links:
        if there := REPOSITORY.fullmatch(link):
            assert (ROOT / there[1]).exists(), link
        elif link.startswith(HOME):
            page = link.removeprefix(HOME).partition("#")[0].strip("/")
            assert {f"{page}.md", f"{page}/index.md".lstrip("/")} & set(pages), link


def test_every_room_of_the_site_has_a_feature() -> None:
    named = {link.split("/")[0] for link in re.findall(re.escape(HOME) + r"([\w/-]+)", TEXT)}
    assert {page.split("/")[0] for page in nav() if "/" in page} - named == {"reference"}


def test_every_environment_and_every_extra_has_its_place() -> None:
    pages = nav()
    assert [name for name in ENVIRONMENTS if f"environments/{name}.md" not in pages] == []
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    install = (SITE / "start/install.md").read_text("utf-8")
    assert {row["extra"].strip("`") for row in rows(install, "extra")} == set(project["optional-dependencies"])


def test_every_page_is_in_the_navigation() -> None:
    assert {path.relative_to(SITE).as_posix() for path in SITE.rglob("*.md")} <= set(nav())


def test_a_wrong_number_is_caught() -> None:
    assert rows("| a | b |\n| --- | --- |\n| 1 | 2 |\n\nx", "a") == [{"a": "1", "b": "2"}]
    assert Path(README).stat().st_size < 16_000, "one screen, and what is below it"
