"""Figures on pages that people wrote are those of benchmarks/RESULTS.md."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, SITE

RESULTS = ROOT / "benchmarks/RESULTS.md"
#: Pages with tables of figures, and how many rows of each name a peer.
PAGES = {"start/choose.md": 22}


def figures(document: Path) -> Iterator[tuple[str, str, str]]:
    """Every figure of the tables whose first column is `peer`: the peer, the column, and the figure without bold."""
    columns: list[str] = []
    for line in document.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip().strip("*") for cell in line.strip("|").split("|")] if line.startswith("|") else []
        if not cells:
            columns = []
        elif cells[0] == "peer":
            columns = cells
        elif columns and not re.fullmatch(r"[-: ]+", cells[0]):
            yield from ((cells[0], column, cell) for column, cell in zip(columns[1:], cells[1:], strict=True))


@pytest.mark.parametrize("page", PAGES)
def test_each_figure_is_one_that_was_measured(page: str) -> None:
    measured = set(figures(RESULTS))
    shown = list(figures(SITE / page))
    assert [each for each in shown if each not in measured] == []
    assert len({(peer, column) for peer, column, _ in shown}) == len(shown)
    assert len(shown) >= PAGES[page] * 4
