"""One JUnit file of many: what each part of the suite wrote, and an error for a part that wrote nothing."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree
from xml.etree.ElementTree import Element, SubElement

#: What a test case holds, unless it passed, and the attribute of its suite that counts it.
COUNTED = {"failure": "failures", "error": "errors", "skipped": "skipped"}


def merge(parts: Iterable[tuple[str, list[Path]]], output: Path) -> None:
    """Write one suite for each part, by name, from the files of its runs in order: the last run of a test counts.

    A part is an error of its own where a run left no file, or half of one: it did not come to its end.
    """
    root = Element("testsuites", name="python -m tests")
    for name, runs in parts:
        root.append(_suite(name, runs))
    for count in ("tests", *COUNTED.values()):
        root.set(count, str(sum(int(suite.get(count, "0")) for suite in root)))
    output.parent.mkdir(parents=True, exist_ok=True)
    ElementTree.ElementTree(root).write(output, encoding="utf-8", xml_declaration=True)


def _suite(name: str, runs: list[Path]) -> Element:
    cases: dict[tuple[str | None, str | None], list[Element]] = {}
    seconds = 0.0
    for run in runs:
        try:
            told = ElementTree.parse(run).getroot()
        except (OSError, ElementTree.ParseError):
            cases[None, None] = [_unfinished(name)]
            continue
        ran: dict[tuple[str | None, str | None], list[Element]] = {}
        for case in told.iter("testcase"):  # a test that failed and whose end failed as well is two of them
            ran.setdefault((case.get("classname"), case.get("name")), []).append(case)
        cases |= ran
        seconds += sum(float(each.get("time", "0")) for each in told.iter("testsuite"))
    found = [case for same in cases.values() for case in same]
    suite = Element("testsuite", name=name, tests=str(len(found)), time=f"{seconds:.3f}")
    for kind, count in COUNTED.items():
        suite.set(count, str(sum(case.find(kind) is not None for case in found)))
    suite.extend(found)
    return suite


def _unfinished(name: str) -> Element:
    case = Element("testcase", classname=name, name="comes to its end")
    SubElement(case, "error", message="this process of pytest did not come to its end; its output says more")
    return case
