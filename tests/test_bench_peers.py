"""The comparison with peers: what is asked of them, what becomes of one that fails, and the page."""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import platform
import signal
import sys
import time
import xml.etree.ElementTree
from pathlib import Path
from typing import Any

import pytest

from benchmarks import loop, replies
from benchmarks.peers import __main__ as program
from benchmarks.peers import build, driver, probes, report, snippets
from benchmarks.peers.build import CannotBuild, Place, Recipe
from benchmarks.peers.driver import ROWS, Checked, Measured

HERE = Place(Path(sys.executable))
CPYTHON = {"CPython": platform.python_version()}
#: A host process that fails as its name says, after it has been loaded.
FAKE = """
import json, socket, sys, time

def answers(name, asked):
    if asked["op"] in ("load", "rest") or name == "works":
        return {"samples": [0.002, 0.004, 0.003], "cpu": 0.001, "versions": {"fake": "1"}}
    if name == "dies":
        sys.exit(3)
    if name == "hangs":
        time.sleep(600)
    if name == "fails":
        return {"failed": "ValueError: no"}
    if name == "lacks":
        return {"missing": "it has no pool"}
    return {"samples": "many"}

name, end = sys.argv[2], socket.socket(fileno=int(sys.argv[1]))
lines = end.makefile("rwb")
for line in lines:
    asked = json.loads(line)
    if asked["op"] == "cold" and name == "noise":
        lines.write(b"\\xff{[1\\n")
    elif asked["op"] == "cold" and name == "deep":
        lines.write(b"[" * 200_000 + b"\\n")
    elif asked["op"] == "cold" and name == "other":
        lines.write(b'{"id": 77, "samples": [1.0]}\\n')
    elif asked["op"] == "cold" and name == "flood":
        while True:
            lines.write(b"x" * 65_536)
    else:
        lines.write(json.dumps({"id": asked["id"], **answers(name, asked)}).encode() + b"\\n")
    lines.flush()
"""
REASONS = {
    "works": "",
    "dies": "its host process ended",
    "hangs": "no answer within 1 s",
    "fails": "ValueError: no",
    "lacks": "it has no pool",
    "strange": "its host process answered what cannot be read",
    "noise": "its host process answered what cannot be read",
    "deep": "its host process answered what cannot be read",
    "other": "its host process answered what cannot be read",
    "flood": "its host process answered without end",
}


def test_a_peer_that_dies_hangs_or_speaks_nonsense_has_a_row_with_its_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fake = tmp_path / "fake.py"
    fake.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(driver, "ANSWER_SECONDS", 1.0)
    with driver.taking_turns(dict.fromkeys(REASONS, HERE), lambda _: None, program=fake) as turns:
        found = turns.row(ROWS["cold"], 2)
    assert {name: own.reason for name, own in found.items()} == REASONS
    assert found["works"].samples == [0.002, 0.004, 0.003] * 2
    assert not any(own.samples for name, own in found.items() if name != "works")


def test_no_host_outlives_its_turns(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fake = tmp_path / "fake.py"
    fake.write_text(FAKE, encoding="utf-8")
    monkeypatch.setattr(driver, "ANSWER_SECONDS", 0.3)
    before = set(driver.descendants(os.getpid()))
    with pytest.raises(KeyboardInterrupt), driver.taking_turns({"works": HERE, "hangs": HERE}, lambda _: None, program=fake) as turns:  # fmt: skip
        turns.row(ROWS["cold"], 1)
        raise KeyboardInterrupt
    deadline = time.monotonic() + 10
    while set(driver.descendants(os.getpid())) - before and time.monotonic() < deadline:
        time.sleep(0.05)
    assert set(driver.descendants(os.getpid())) <= before


def test_an_environment_that_cannot_be_made_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(CannotBuild, match="apt cannot download no-package-of-this-name"):
        build.build(Recipe("none", "none", debian=("no-package-of-this-name",)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_neither_does_one_that_is_interrupted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(_: Recipe, made: Path) -> None:
        made.mkdir()
        raise KeyboardInterrupt

    monkeypatch.setattr(build, "_make", interrupted)
    with pytest.raises(KeyboardInterrupt):
        build.build(Recipe("half", "half", python=("x==1",)), tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_an_environment_is_of_its_versions() -> None:
    one, other = (Recipe("a", "a", python=(f"x=={version}",)) for version in (1, 2))
    assert one.digest() != other.digest()
    pinned = [each for recipe in build.recipes().values() for each in (*recipe.python, *recipe.npm, *recipe.deno)]
    assert pinned
    assert [each for each in pinned if not each.rpartition("@")[2].rpartition("==")[2][0].isdigit()] == []


def test_every_peer_has_an_adapter() -> None:
    adapters = {path.stem for path in (Path(driver.__file__).parent / "adapters").glob("*.py")} - {"__init__"}
    assert adapters == {*build.recipes(), *driver.CONTROLS}


@pytest.mark.parametrize("snippet", snippets.SNIPPETS, ids=lambda snippet: snippet.name)
def test_plain_python_prints_what_a_snippet_should(snippet: snippets.Snippet) -> None:
    names: dict[str, Any] = {"__name__": "cell"}
    said = ""
    for cell in snippet.cells:
        with contextlib.redirect_stdout(io.StringIO()) as printed:
            exec(compile(cell, "<cell>", "exec", dont_inherit=True), names)
        said = printed.getvalue()
    assert driver.fits([{"error": None, "stdout": said}], snippet.prints)


def test_a_snippet_with_another_text_or_an_error_does_not_run() -> None:
    assert not driver.fits([{"error": None, "stdout": "43"}], "42")
    assert not driver.fits([{"error": "E", "stdout": ""}, {"error": None, "stdout": "42"}], "42")
    assert not driver.fits([{"failed": "E"}], "42")


def test_probes_are_python_that_has_all_its_facts() -> None:
    known = ("FOLDER", "TCP", "UDP", "ABSTRACT", "DECOY", "HOST", "ADDRESS")
    for probe in probes.PROBES:
        assert probe.way in probes.WAYS
        for cell in probe.cells:
            for fact in known:
                cell = cell.replace(f"@{fact}@", "1")
            ast.parse(cell)
            assert "@" not in cell.replace("@property", "")
    assert len({probe.name for probe in probes.PROBES}) == len(probes.PROBES)
    assert {probes.WAYS[probe.way] for probe in probes.PROBES} == {*probes.OUTCOMES} - {"held"}


# -- the page ------------------------------------------------------------------------------------------------


def results() -> report.Results:
    """Ours, a peer that is faster, one that is slower and lacks a row, and one that is not there."""
    labels = {"rlm_secure": "ours", "fast": "fast", "slow": "slow", "absent": "absent"}
    found = report.new({name: Recipe(name, label) for name, label in labels.items()})
    found["peers"]["absent"]["reason"] = "it cannot be installed here: no\nnetwork."
    found["rows"]["cold"] = driver.as_plain(
        {"rlm_secure": Measured([0.004], [0.002]), "fast": Measured([0.001]), "slow": Measured([0.008], [0.009])}
    )
    found["rows"]["pool"] = driver.as_plain({"rlm_secure": Measured([0.002]), "slow": Measured(reason="it has no pool")})
    found["checks"]["containment"] = driver.as_plain(
        {"rlm_secure": Checked({"open": "held", "sleep": "held"}), "fast": Checked({"open": "escaped", "sleep": "hung"})}
    )
    return found


def test_the_page_says_plainly_who_is_faster_and_who_is_not_there(tmp_path: Path) -> None:
    text = report.write(results(), tmp_path).read_text(encoding="utf-8")
    assert "- cold session to its first result: faster in fast (0.25x)." in text
    assert "| fast | **1.00** | — |" in text
    assert "| fast | 1.00 | 1.00 | — | **0.25x** | 1 |" in text
    assert "| slow | 8.00 | 8.00 | 9.00 | 2.00x | 1 |" in text
    assert "- slow: it has no pool." in text
    assert "- absent: it cannot be installed here: no network." in text
    assert "| fast | 1 | 1 | 0 | 0 | 0 |" in text
    assert "file read: open; limits: sleep" in text
    assert "- ours: nothing." in text


def test_the_page_is_made_of_what_was_written(tmp_path: Path) -> None:
    page = report.write(results(), tmp_path)
    before = page.read_bytes()
    assert program.main(["--render", "--output", str(tmp_path)]) == 0
    assert page.read_bytes() == before


def test_plots_are_pictures_with_each_peer_in_them() -> None:
    made = report.plots(results())
    assert set(made) == {"cold", "pool", "containment"}
    for picture in made.values():
        xml.etree.ElementTree.fromstring(picture)
    assert all(label in made["cold"] for label in ("ours", "fast", "slow"))


def test_the_page_in_the_tree_is_that_of_its_figures() -> None:
    folder = report.PAGE.parent
    assert report.PAGE.read_text(encoding="utf-8") == report.text(report.read(folder))
    for name, picture in report.plots(report.read(folder)).items():
        assert (folder / "results" / f"{name}.svg").read_text(encoding="utf-8") == picture
    assert set(report.read(folder)["peers"]) == set(build.recipes())


def test_wrong_words(capsys: pytest.CaptureFixture[str]) -> None:
    assert program.main(["--peers", "nobody"]) == 2
    assert "there is no 'nobody' among the peers: rlm_secure, " in capsys.readouterr().err
    assert program.main(["--rows", "colt"]) == 2
    assert program.main(["--rounds", "0"]) == 2


def test_what_is_stopped_writes_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(self: driver.Turns, row: driver.Row, rounds: int) -> dict[str, Measured]:
        assert (row.name, rounds, self._host("worker").link.ask("versions", 60.0)["versions"]) == ("warm", 7, CPYTHON)
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("a signal ends it")

    monkeypatch.setattr(driver.Turns, "row", stopped)
    before = set(driver.descendants(os.getpid()))
    asked = ["--peers", "worker", "--rows", "warm", "--rounds", "7", "--output", str(tmp_path / "none")]
    assert program.main(asked) == 130
    assert not (tmp_path / "none").exists()
    assert set(driver.descendants(os.getpid())) <= before


@pytest.mark.root  # nobody else may look at the memory of a session's processes
@pytest.mark.slow
def test_each_case_runs_once_with_what_is_installed(tmp_path: Path) -> None:
    assert program.main(["--smoke", "--output", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "results" / "results.json").read_text(encoding="utf-8"))
    assert set(found["rows"]) == set(ROWS)
    for name in ("rlm_secure", "worker", "restricted"):
        lacking = {row: own[name]["reason"] for row, own in found["rows"].items() if not own[name]["samples"]}
        assert lacking == ({} if name == "rlm_secure" else {"pool": "it has no pool"})
    outcomes = {name: own["outcomes"] for name, own in found["checks"]["containment"].items()}
    assert set(outcomes["rlm_secure"]) == set(program.SMOKE_PROBES)
    assert set(outcomes["rlm_secure"].values()) == {"held"}
    assert outcomes["worker"] == {"open": "escaped", "memory-text": "unlimited", "write-result": "spoofed"}
    assert set(found["checks"]["compatibility"]["worker"]["outcomes"].values()) == {"runs"}


def test_documents_that_compare_name_the_same_versions() -> None:
    pinned = {
        name.lower(): version
        for recipe in build.recipes().values()
        for name, _, version in (each.partition("==") for each in recipe.python)
    }
    audits = (report.ROOT / "docs/pages/audit/results.md").read_text(encoding="utf-8")
    for name in ("RestrictedPython", "smolagents", "pydantic-monty", "jupyter_client", "ipykernel"):
        assert f"{name} {pinned[name.lower()]}" in audits
    assert replies.PEER == f"smolagents=={pinned['smolagents']}"
    assert loop.UPSTREAM == f"rlms=={pinned['rlms']}"
    assert "benchmarks/RESULTS.md" in audits
