"""The glossary has every guarantee, wall and level that a report names, and each other word with a link."""

from __future__ import annotations

import re

import pytest

from rlm_secure import Guarantee, Level, Wall
from tests.docs.blocks import SITE

PAGE = (SITE / "start/glossary.md").read_text(encoding="utf-8")
#: Of each section, its rows: a word, and what it means.
SECTIONS = {
    part.partition("\n")[0]: [row for row in re.findall(r"^\| (.+?) \| (.+) \|$", part, re.MULTILINE)[1:] if row[0] != "---"]
    for part in PAGE.split("\n## ")[1:]
}


@pytest.mark.parametrize(("section", "kind"), [("Guarantees", Guarantee), ("Walls", Wall), ("Levels", Level)])
def test_what_a_report_names_is_there_in_its_order(section: str, kind: type[Guarantee] | type[Wall] | type[Level]) -> None:
    assert [word for word, _ in SECTIONS[section]] == [f"`{each.value}`" for each in kind]


@pytest.mark.parametrize("section", ["Running code", "Runs and agents", "Attacks and audits"])
def test_words_are_in_order_and_each_has_a_link(section: str) -> None:
    rows = SECTIONS[section]
    words = [word for word, _ in rows]
    assert len(words) > 10 and words == sorted(words)
    assert [word for word, meaning in rows if "](" not in meaning or not meaning.endswith(".")] == []


def test_each_of_the_ten_words_of_the_architecture_is_there() -> None:
    text = (SITE.parents[1] / "ARCHITECTURE.md").read_text(encoding="utf-8").partition("## Ten words")[2]
    ten = re.findall(r"^\| (\w+) \|", text, re.MULTILINE)[1:]
    words = {word for rows in SECTIONS.values() for word, _ in rows} | {"wall", "guarantee"}  # sections of their own
    assert len(ten) == 10 and set(ten) <= words
