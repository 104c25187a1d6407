"""The report is made by real runs: both files agree, what fails is told, and Ctrl-C leaves nothing."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from rlm_secure.testing import corpus
from tests import browser
from tests.evidence import page, sections
from tests.evidence.__main__ import main
from tests.evidence.run import ROOT, Command, Output, run
from tests.evidence.sections import NAMES, Choice
from tests.mutation import record
from tests.mutation.changes import mutants
from tests.mutation.survivors import SURVIVORS

SCHEMA = json.loads(Path(__file__).with_name("schema.json").read_text(encoding="utf-8"))
SMALL = ("machine", "doctor", "audit", "corpus")


def reports(folder: Path) -> tuple[str, dict[str, Any]]:
    """The two files of a folder that has no other."""
    html, document = sorted(folder.iterdir())
    assert re.fullmatch(r"evidence-\d{8}T\d{6}Z\.html", html.name) and document.stem == html.stem
    value = json.loads(document.read_text(encoding="utf-8"))
    jsonschema.validate(value, SCHEMA)
    return html.read_text(encoding="utf-8"), value


class Texts(HTMLParser):
    """What a page says, in order, and the tags that load or run something."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.said: list[str] = []
        self.active: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        loads = [name for name, value in attrs if name.startswith("on") or name in ("src", "srcset", "data")]
        links = [value for name, value in attrs if name == "href" and not str(value).startswith("#")]
        if tag in ("script", "link", "img", "iframe", "object", "embed", "base") or loads or links:
            self.active.append(tag)

    def handle_data(self, data: str) -> None:
        self.said.append(data.strip())


def section(value: dict[str, Any], name: str) -> dict[str, Any]:
    return next(each for each in value["sections"] if each["name"] == name)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, dict[str, Any], int]:
    """A quick report with the machine, the walls, and a small part of the corpus."""
    folder = tmp_path_factory.mktemp("evidence")
    code = main(["--quick", "--output", str(folder), *(f"--only={name}" for name in SMALL)])
    return (*reports(folder), code)


@pytest.mark.slow
def test_both_files_say_the_same(made) -> None:
    html, value, code = made
    page_ = Texts(html)
    assert page_.active == []
    said = set(page_.said)
    for each in value["sections"]:
        assert each["title"] in said and each["status"] in said, each["name"]
        for name, fact in each["facts"].items():
            assert {page._safe(name), page._shown(fact)} & said or not fact, (each["name"], name)
        for table in each["tables"]:
            cells = {page._shown(cell) for row in table["rows"] for cell in row}
            assert not {cell.strip() for cell in cells if cell.strip()} - said, (each["name"], table["title"])
    assert code == value["exit_code"] == int(any(each["status"] in ("found", "not run") for each in value["sections"]))


@pytest.mark.slow
def test_a_section_says_how_it_ran(made) -> None:
    _, value, _ = made
    for name in ("machine", "doctor", "audit"):
        run_ = section(value, name)["run"]
        assert run_["of"] == name and run_["command"][0] == sys.executable and run_["exit_code"] == 0, name
        assert 0 < run_["seconds"] < run_["bound_seconds"]
    assert section(value, "corpus")["run"]["of"] == "audit", "the attacks ran twice"
    left_out = [each["name"] for each in value["sections"] if each["status"] == "left out"]
    assert left_out == [name for name in NAMES if name not in SMALL]


@pytest.mark.slow
def test_the_attacks_are_counted_as_the_audit_saw_them(made) -> None:
    _, value, _ = made
    probes = section(value, "audit")["document"]["environments"][0]["probes"]
    found = section(value, "corpus")
    table = found["tables"][0]
    *rows, last = table["rows"]
    assert table["columns"] == ["guarantee", "attacks", "held", "reached", "surface", "not checked", "errored"]
    assert last == ["all", *(sum(row[at] for row in rows) for at in range(1, 7))] and last[1] == len(probes) > 20
    assert {row[0] for row in rows} == {probe["guarantee"] for probe in probes}
    assert {probe["attack"] for probe in probes} <= {attack.name for attack in corpus.load()}
    assert found["status"] == "passed" and last[3] == 0


def test_the_machine_is_this_one(tmp_path: Path) -> None:
    assert main(["--only", "machine", "--output", str(tmp_path)]) == 0
    _, value = reports(tmp_path)
    told = section(value, "machine")["document"]
    assert (told["kernel"], told["uid"], told["python"]) == (os.uname().release, os.getuid(), sys.version)
    head = subprocess.run(["git", "rev-parse", "HEAD"], cwd=ROOT, capture_output=True, text=True)
    assert (value["commit"] or {}).get("id") == (head.stdout.strip() or None) == (told["commit"] or {}).get("id")


def test_a_section_that_comes_to_no_end_is_told(tmp_path: Path) -> None:
    """A ten-thousandth of each bound: nothing can be in time."""
    code = main(["--only", "doctor", "--only", "machine", "--patience", "0.0001", "--output", str(tmp_path)])
    html, value = reports(tmp_path)
    assert code == value["exit_code"] == 1
    for name in ("doctor", "machine"):
        each = section(value, name)
        assert (each["status"], each["run"]["ended_at_bound"], each["tables"]) == ("not run", True, [])
        assert each["problem"] in html and "its bound" in each["problem"]


@pytest.mark.parametrize(
    ("words", "ends", "why"),
    [
        (("-c", "raise SystemExit('a wall is missing')"), (0,), "it ended with 1: a wall is missing"),
        (("-c", "import os; os.kill(os.getpid(), 9)"), (0, 1), "it ended with -9"),
        (("-c", "print('no JSON')"), (0,), "what it printed cannot be read: JSONDecodeError"),
    ],
)
def test_what_fails_is_no_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words, ends, why) -> None:
    doctor = sections.SECTIONS[1]
    command = Command((sys.executable, *words), 60, (), ends)
    broken = sections.Section("doctor", doctor.title, doctor.about, lambda _: command, doctor.read)
    for module in (sections, sys.modules["tests.evidence.__main__"]):
        monkeypatch.setattr(module, "SECTIONS", (sections.SECTIONS[0], broken))
    assert main(["--only", "doctor", "--output", str(tmp_path)]) == 1
    html, value = reports(tmp_path)
    each = section(value, "doctor")
    assert each["status"] == "not run" and why in each["problem"] and page._safe(why) in html


def test_a_program_that_is_not_there_is_told(tmp_path: Path) -> None:
    output = run(Command((str(tmp_path / "none"),), 5.0), tmp_path)
    assert output.code is None and "could not be started" in output.trouble


def test_at_its_bound_a_command_ends_with_all_that_it_started(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    program = (
        "import os, signal, time\nsignal.signal(signal.SIGINT, signal.SIG_IGN)\n"
        f"child = os.fork()\nif child: open({str(told)!r}, 'w').write(str(child))\ntime.sleep(600)"
    )
    monkey = pytest.MonkeyPatch()
    with monkey.context() as patch:
        patch.setattr("tests.evidence.run.GRACE", 0.2)
        output = run(Command((sys.executable, "-c", program), 3.0), tmp_path)
    assert output.late and output.code == -signal.SIGKILL and output.seconds < 60
    until = time.monotonic() + 30
    while time.monotonic() < until and _alive(int(told.read_text())):
        time.sleep(0.05)
    assert not _alive(int(told.read_text()))


def _alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_ctrl_c_leaves_no_file(tmp_path: Path) -> None:
    out = tmp_path / "out"
    command = [sys.executable, "-m", "tests.evidence", "--only", "machine", "--only", "fuzz", "--output", str(out)]
    process = subprocess.Popen(command, cwd=ROOT, stderr=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stderr is not None
    assert "machine" in process.stderr.readline()  # that one has ended: the fuzzers run
    process.send_signal(signal.SIGINT)
    _, said = process.communicate(timeout=60)
    assert process.returncode == 130 and "no report was written" in said
    assert not out.exists()


def test_bad_usage_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    for words in (["--only", "nothing"], ["--only", "doctor", "--skip", "doctor"], ["--patience", "0"]):
        with pytest.raises(SystemExit) as ended:
            main(words)
        assert ended.value.code == 2
    assert "no section is left" in capsys.readouterr().err


def _output(name: str, stdout: str, code: int = 0, *words: str) -> Output:
    return Output(Command(("python", *words), 1.0), code, 1.0, stdout, "")


def _read(name: str, stdout: str, code: int = 0, *words: str) -> sections.Content:
    return next(each for each in sections.SECTIONS if each.name == name).read(_output(name, stdout, code, *words))


def test_an_attack_that_got_through_is_found() -> None:
    probe = {
        "attack": "a", "guarantee": "no-exec", "result": "won", "reach": "surface", "wall": None, "evidence": "it did"
    }  # fmt: skip
    probes = [probe, {**probe, "attack": "b", "reach": "reached"}]
    told = {"environments": [{"name": "local", "left_out": 0, "probes": probes}]}
    content = _read("corpus", json.dumps(told))
    assert content.found == "won or errored: a, b"
    assert content.tables[0].rows == [["no-exec", 2, 0, 1, 1, 0, 0], ["all", 2, 0, 1, 1, 0, 0]]
    assert _read("corpus", '{"environments": []}').found == "nothing was attacked"


def test_a_row_of_the_matrix_that_differs_is_found() -> None:
    row = {
        "attack": "a", "guarantee": "no-exec", "without": ["seccomp"], "alone": None,
        "documented_without": [], "documented_alone": [],
    }  # fmt: skip
    told = {
        "walls": ["seccomp"], "plans": ["without seccomp"], "candidates": 1, "tried": 1, "without_control": [],
        "rows": [row],
    }  # fmt: skip
    assert _read("matrix", json.dumps(told)).found == "MATRIX.md says something else"
    row["documented_without"] = ["seccomp"]
    assert _read("matrix", json.dumps(told)).found == ""
    row["without"] = row["documented_without"] = ["nothing", "seccomp"]
    assert _read("matrix", json.dumps(told)).found == "through all walls: a"
    assert _read("matrix", json.dumps({**told, "rows": []})).found == "no attack was tried"


def test_holes_of_the_trusted_files_are_found() -> None:
    text = (
        " 100.0 %  rlm_secure/inert.py                              \n"
        "  84.6 %  rlm_secure/untrusted_json.py                     lines 46, branches 97->98\n"
        "3 of 4 parts passed, 0 tests run a second time\nFAILED tests/local\n"
    )
    content = _read("coverage", text, 1)
    assert content.found == "parts that failed: tests/local"
    assert content.tables[0].rows[1] == ["rlm_secure/untrusted_json.py", 84.6, "lines 46, branches 97->98"]
    passed = text.replace("FAILED tests/local\n", "")
    assert _read("coverage", passed).found == "1 files with holes"
    assert _read("coverage", passed, 0, "tests/logger").found == ""  # a sample has holes
    with pytest.raises(AssertionError):
        _read("coverage", "nothing")


def test_what_fuzzers_and_the_crawler_found_is_found() -> None:
    """Their own words: a change of how they print is noticed here."""
    from tests.crawler.engine import Figures as Crawled
    from tests.fuzz.run import Figures, Finding

    figures = Figures("lines", 7, 12_345, 1_000_000, 3.2, 0.5, 4, 2_000, [Finding("lines", 1, b"x", "TooSlow")])
    content = _read("fuzz", f"seed 7\n{figures}\n", 1)
    assert content.tables[0].rows == [["lines", 7, 12_345, 1_000_000, 3, 500, 1]] and content.found == "1 findings"
    crawled = Crawled(reached=30, called=20, calls=100, given=9, kinds=3, sessions=2, lost=1, refused=4)
    begin = f"research on Python 3.11.7: 12 slices, {Crawled(reached=30)}\n"
    content = _read("crawler", f"{begin}FOUND: is type (x)\nresearch: {crawled}; 10 s; 1 findings\n", 1)
    assert content.found == "1 findings" and content.tables[0].rows == [["is type (x)"]]
    facts = [content.facts[name] for name in ("callables within reach of a cell", "of them called", "Python")]
    assert facts == [30, 20, "3.11.7"]


def test_a_recorded_run_of_mutants_says_of_which_text_it_is() -> None:
    rows = record.recorded()
    for name, row in rows.items():
        assert row["current"] == (record.digest(name) == row["sha256"])
        assert row["tried"] == row["mutants"], name  # a part of a file is no record of it
        assert row["unexplained"] == [], name


def test_a_mutant_is_one_change_and_knows_the_lines_of_its_statement() -> None:
    source = "def f(x):\n    if (\n        x > 1\n    ):\n        return 2\n    return x\n"
    found = mutants(source)
    assert [(each.key.partition(": ")[2], each.lines) for each in found] == [
        ("if x > 1: return 2 -> if False: return 2", range(2, 5)),
        ("if x > 1: return 2 -> if True: return 2", range(2, 5)),
        ("1 -> 2", range(2, 5)),
        ("x > 1 -> x >= 1", range(2, 5)),
        ("2 -> 3", range(5, 6)),
        ("return 2 -> return None", range(5, 6)),
        ("return x -> return None", range(6, 7)),
    ]
    results = []
    for code in (found[0].tree.code("f.py"), *(each.code("f.py") for each in found), found[0].tree.code("f.py")):
        space: dict[str, Any] = {}
        exec(code, space)
        results.append([space["f"](value) for value in (1, 2, 3)])
    assert results == [[1, 2, 2], [1, 2, 3], [2, 2, 2], [1, 2, 2], [2, 2, 2], [1, 3, 3], [1, None, None], [None, 2, 2], [1, 2, 2]]


def test_a_reason_is_of_a_change_that_there_is() -> None:
    for name, reasons in SURVIVORS.items():
        changes = [mutant.key for mutant in mutants((record.ROOT / name).read_text(encoding="utf-8"))]
        assert [change for change in reasons if changes.count(change) != 1] == [], name


def test_a_text_of_somebody_else_is_only_text() -> None:
    evil = "<script>alert(1)</script>\x1b[2J\u202e"
    told = {
        "of": "doctor", "command": [evil], "variables": {}, "exit_code": 0, "seconds": 1.0, "bound_seconds": 2.0,
        "ended_at_bound": False,
    }  # fmt: skip
    table = {"title": evil, "columns": [evil], "rows": [[evil]]}
    each = {
        "name": "doctor", "title": evil, "about": evil, "status": "found", "problem": evil, "run": told,
        "facts": {evil: evil}, "tables": [table], "document": None,
    }  # fmt: skip
    report = {
        "tool": {"version": evil}, "started": evil, "seconds": 1.0, "quick": True, "seed": 1, "commit": None,
        "sections": [each],
    }  # fmt: skip
    html = page.render(report)
    assert Texts(html).active == [] and "\x1b" not in html and "\u202e" not in html and "&lt;script&gt;" in html


@pytest.mark.slow
def test_the_page_works_in_a_browser(made, tmp_path: Path) -> None:
    html = tmp_path / "report.html"
    _, value, _ = made
    failed = {**section(value, "matrix"), "status": "not run", "problem": "it ended with 1: " + "x" * 300}
    shown = [failed if each["name"] == "matrix" else each for each in value["sections"]]
    html.write_text(page.render({**value, "sections": shown}), encoding="utf-8")
    browser.check(f"{tmp_path.as_uri()}/", [html.name], scripts=False, shots=tmp_path)


def test_every_section_has_a_command_that_can_be_started() -> None:
    for quick in (False, True):
        for each in sections.SECTIONS:
            command = each.command(Choice(quick=quick))
            assert command.words[:2] == (sys.executable, "-m") and 0 < command.bound <= 7200, each.name
