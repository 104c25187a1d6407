"""The HTML report in a real browser, from its file: no errors, no requests, accessible, and readable on a phone."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path

import pytest

from rlm_secure.audit import audit
from rlm_secure.audit.finding import NotChecked
from rlm_secure.audit.formats import html, text
from rlm_secure.audit.subject import EnvironmentSubject, Probe
from rlm_secure.guarantees import EnforcementReport, Guarantee, Level, Wall, WallStatus
from rlm_secure.testing.corpus import load
from rlm_secure.testing.verdict import Reach, Result
from tests import browser
from tests.audit.seeded import SEEDS


def environment() -> EnvironmentSubject:
    """An environment with every kind of result, and names as long as they get."""
    results = list(Result)
    probes = tuple(
        Probe(
            each.name,
            each.summary,
            each.guarantee,
            number % 2 == 0,
            results[number % len(results)],
            Wall.SECCOMP if number % len(results) == 0 else None,
            "what was seen, at length: " + "x" * 150,
            0.1,
            list(Reach)[number % 2] if results[number % len(results)] is Result.WON else None,
        )
        for number, each in enumerate(load()[:80])
    )
    walls = tuple(WallStatus(wall, Level.FULL, f"{wall.value} was tried") for wall in Wall)
    return EnvironmentSubject("local", EnforcementReport("local", walls), (), probes, (), 0, 12.0)


def test_what_got_through_is_counted_by_how_far_it_got() -> None:
    of = environment()
    page = html._environment(of)
    head = re.findall(r'<th scope="col"[^>]*>([^<]*)</th>', page)[: 2 + len(html._OUTCOMES)]
    rows = [re.findall(r'<td class="number[^"]*">(\d+)</td>', row) for row in page.split("</tr>")]
    sums = [sum(map(int, column)) for column in zip(*filter(None, rows), strict=True)]
    assert head[2:] == ["stopped", "contained", "reached", "surface", "not checked", "errored"]
    assert sums == [*map(of.count, (Result.STOPPED, Result.CONTAINED)), *map(of.count_reach, Reach), *map(of.count, (Result.NOT_CHECKED, Result.ERRORED))]
    assert sum(sums) == len(of.probes) and min(sums) > 0


def test_what_quick_leaves_out_is_counted_one_by_one(tmp_path: Path) -> None:
    left_out = NotChecked("611 attacks on local", "left out by --quick", 611)
    report = dataclasses.replace(audit([str(tmp_path)]), not_checked=(left_out,))
    assert text.summary(report).split(" · ")[-2] == "611 not checked"


@pytest.mark.slow
def test_the_page_works_in_a_browser(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for number, seed in enumerate(SEEDS):
        folder = tmp_path / f"a-folder-with-a-long-name-{number}"
        folder.mkdir()
        (folder / seed.file).write_text(seed.text, encoding="utf-8")
    report = dataclasses.replace(audit(["."]), environments=(environment(),))
    page = tmp_path / "report.html"
    page.write_text(html.render(report), encoding="utf-8")
    assert all(guarantee.value in page.read_text() for guarantee in Guarantee)
    browser.check(f"{tmp_path.as_uri()}/", [page.name], scripts=False, shots=tmp_path)
