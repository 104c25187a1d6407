"""How the suite is run: what is quick, which signals it has, what it reports, and what `-m attack` selects."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from tests import __main__ as suite
from tests import conftest, junit, quick, share
from tests.__main__ import ROOT, Part

#: Ends a host by Ctrl-C, as tests of it do, and looks at what it would hand down.
CTRL_C = """
import os, signal, subprocess, sys
import pytest

def test_ctrl_c_arrives():
    with pytest.raises(KeyboardInterrupt):
        os.kill(os.getpid(), signal.SIGINT)
        signal.sigtimedwait([], 5)

def test_a_child_has_the_signals_of_a_terminals():
    status = subprocess.run(["cat", "/proc/self/status"], capture_output=True, text=True).stdout
    masks = {name: int(mask, 16) for name, mask in (line.split(":") for line in status.splitlines() if line.startswith("Sig") and "Q" not in line)}
    # 32 and 33 are the C library's own, which no program may set; nohup ignores the first, which is kept.
    reserved = 3 << 31 | 1
    assert masks["SigBlk"] & ~reserved == masks["SigIgn"] & ~reserved == 0, masks
"""


def hostile_start():
    """What nohup, a script's `&` and a caller with a mask of its own hand down, all at once."""
    for number in (signal.SIGINT, signal.SIGQUIT, signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, signal.SIG_IGN)
    signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())


def in_the_background(*command):
    return subprocess.run(
        command, cwd=ROOT, preexec_fn=hostile_start, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=280
    )


@pytest.fixture
def ctrl_c(tmp_path):
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = attack: one\n exhaustive: more\n")
    (tmp_path / "test_ctrl_c.py").write_text(CTRL_C)
    return tmp_path / "test_ctrl_c.py"


def test_a_child_of_the_background_has_signals_blocked_and_ignored(ctrl_c):
    """The control: without the rules of the suite both tests fail."""
    done = in_the_background(sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "no:anyio", str(ctrl_c))
    assert "2 failed" in done.stdout, done.stdout


@pytest.mark.parametrize("runner", [("pytest", "-q", "-p", "no:anyio"), ("tests",)], ids=["pytest", "parts"])
def test_tests_pass_from_the_background_and_under_any_signal_mask(ctrl_c, runner):
    done = in_the_background(sys.executable, "-m", *runner, str(ctrl_c))
    assert done.returncode == 0 and "2 passed" in done.stdout, done.stdout + done.stderr


LONG = """
import time
import pytest
def test_before(): pass
@pytest.mark.timeout(1)
def test_too_long(): time.sleep(60)
def test_after(): pass
"""


def test_a_test_that_lasts_longer_than_it_may_ends_its_process_and_is_named(ctrl_c):
    ctrl_c.write_text(LONG)
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:anyio", str(ctrl_c)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=50)
    assert done.returncode == 1 and "passed" not in done.stdout, done.stdout
    assert "Timeout" in done.stdout and "in test_too_long" in done.stdout, done.stdout


def test_ctrl_c_ends_the_runner_from_the_background(tmp_path):
    (tmp_path / "test_long.py").write_text("import time\ndef test_it(): time.sleep(60)\n")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests", str(tmp_path / "test_long.py")],
        cwd=ROOT, preexec_fn=hostile_start, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
        start_new_session=True,
    )  # fmt: skip
    with process:
        with pytest.raises(subprocess.TimeoutExpired):
            process.wait(5)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        assert process.wait(30) != 0


def test_one_report_has_the_tests_of_all_parts(tmp_path, monkeypatch):
    (tmp_path / "test_one.py").write_text("def test_good(): pass\ndef test_bad(): assert 0\n")
    (tmp_path / "test_two.py").write_text("import pytest\ndef test_not_here(): pytest.skip('why')\n")
    (tmp_path / "test_three.py").write_text("import os\ndef test_dies(): os._exit(1)\n")
    report = tmp_path / "new" / "report.xml"
    files = [str(tmp_path / f"test_{name}.py") for name in ("one", "two", "three")]
    environment = {name: value for name, value in os.environ.items() if name != "RLM_SECURE_CI"}
    line = [sys.executable, "-m", "tests", "--junit", str(report), *files]
    done = subprocess.run(line, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=280)
    assert done.returncode == 1
    root = ElementTree.parse(report).getroot()
    told = {suite.get("name"): [suite.get(count) for count in ("tests", "failures", "errors", "skipped")] for suite in root}
    assert told == dict(zip(files, (["2", "1", "0", "0"], ["1", "0", "0", "1"], ["1", "0", "1", "0"]), strict=True))
    assert [root.get(count) for count in ("tests", "failures", "errors", "skipped")] == ["4", "1", "1", "1"]
    assert "did not come to its end" in ElementTree.tostring(root[2], encoding="unicode")


def test_the_second_run_of_a_test_is_the_one_that_counts(tmp_path):
    first, again = tmp_path / "first.xml", tmp_path / "again.xml"
    first.write_text('<testsuites><testsuite time="2"><testcase classname="c" name="a"><failure/></testcase>'
                     '<testcase classname="c" name="b"/></testsuite></testsuites>')  # fmt: skip
    again.write_text('<testsuites><testsuite time="1"><testcase classname="c" name="a"/></testsuite></testsuites>')
    junit.merge([("part", [first, again])], tmp_path / "all.xml")
    (only,) = ElementTree.parse(tmp_path / "all.xml").getroot()
    assert (only.get("tests"), only.get("failures"), only.get("time")) == ("2", "0", "3.000")


def test_what_is_quick_is_there_once_and_needs_no_arena_beside_attacks():
    files = [name for paths, _ in quick.PARTS.values() for name in paths]
    assert len(files) == len(set(files))
    assert [name for name in files if not (ROOT / name).is_file()] == []
    parts = [Part(name, paths) for name, (paths, _) in quick.PARTS.items()]
    assert [part.name for part in parts if part.given is not None] == ["bypasses"]
    mixed = [part for part in parts if part.given is None and any(Part(path, (path,)).given is not None for path in part.paths)]
    assert mixed == []


def test_quick_is_loud_where_the_walls_cannot_be_built(monkeypatch, capsys):
    monkeypatch.setattr(quick, "missing", lambda: "no user namespace can be made")
    monkeypatch.setattr(sys, "argv", ["tests", "--quick"])
    assert suite.main() == 2
    assert capsys.readouterr().err.startswith("--quick proves nothing here: no user namespace can be made")


@pytest.mark.parametrize("more", [["tests/local"], ["--all"], ["--coverage"]])
def test_quick_is_a_choice_of_its_own(monkeypatch, capsys, more):
    monkeypatch.setattr(sys, "argv", ["tests", "--quick", *more])
    with pytest.raises(SystemExit, match="2"):
        suite.main()
    assert "--quick is a choice of its own" in capsys.readouterr().err


def test_the_mark_of_attacks_selects_the_parts_that_have_some():
    parser = suite._parser()
    chosen = {part.name for part in suite._chosen(parser.parse_args(["-m", "attack"]), parser)}
    assert {"tests/attacks", "tests/attacks/test_kernel.py", "tests/bypasses", "tests/docker/test_escapes.py"} <= chosen
    assert {"tests/policy", "tests/clients", "tests/logger"} & chosen == set()
    every = {part.name for part in suite._chosen(parser.parse_args(["-m", "not attack"]), parser)}
    assert every == {part.name for part in suite.parts()}




# -- what the pushes run in turn (tests/share.py) -------------------------------------------------------------


def test_what_is_listed_exists():
    for name in (*share.SHARED, *share.ELSEWHERE):
        path, _, test = name.partition("::")
        assert (ROOT / path).exists(), name
        assert not test or f"def {test}(" in (ROOT / path).read_text(), name


def test_all_pushes_together_run_everything_and_none_runs_it_alone(monkeypatch):
    items = list(range(10))
    shares = []
    for number in range(3):
        monkeypatch.setenv("RLM_SECURE_TURN", str(600 + number))
        shares.append(share.share(items, 3))
    assert sorted(sum(shares, ())) == items and {len(each) for each in shares} == {3, 4}
    monkeypatch.setenv("RLM_SECURE_TURN", "")
    assert share.share(items, 3) == tuple(items)


@pytest.mark.parametrize(
    ("test", "pushes"),
    [
        ("tests/docker/test_values.py::test_it[a::b/c]", share.SHARED["tests/docker"]),
        ("tests/docker/test_corpus.py::test_it", 1),
        ("tests/local/test_copies.py::test_who_makes_no_honest_copy_ends_alone", 1),
        ("tests/attacks/test_kernel.py::TestIt::test_it", 1),
    ],
)
def test_the_longest_name_counts(test, pushes):
    assert share.pushes(test) == pushes


def test_another_user_or_python_has_shares_of_its_own(monkeypatch):
    test = "tests/local/test_session.py::test_it"
    assert share.pushes(test) == 1
    monkeypatch.setenv("RLM_SECURE_ELSEWHERE", "1")
    assert share.pushes(test) == share.ELSEWHERE["tests/local/test_session.py"] > 1
    assert share.pushes("tests/local/test_seal.py::test_it") == 1


def test_a_push_runs_its_share_and_a_night_everything(monkeypatch):
    ran = {}
    monkeypatch.setitem(share.SHARED, "tests/local/test_copies.py", 4)
    for turn in ("0", "1", ""):
        monkeypatch.setenv("RLM_SECURE_TURN", turn)
        items = [_Item(f"tests/local/test_copies.py::test_it[{number}]") for number in range(8)]
        items.append(_Item("tests/local/test_copies.py::test_who_makes_no_honest_copy_ends_alone"))
        conftest.pytest_collection_modifyitems(SimpleNamespace(), items)
        ran[turn] = [number for number, item in enumerate(items) if "exhaustive" not in item.marks]
    first = ran["0"][0]
    assert ran == {"0": [first, first + 4, 8], "1": [(first + 1) % 4, (first + 1) % 4 + 4, 8], "": list(range(9))}


def test_lists_of_one_have_their_turns_at_different_pushes(monkeypatch):
    monkeypatch.setenv("RLM_SECURE_TURN", "0")
    alone = [len(share.share(["it"], 4, f"tests/test_{name}.py")) for name in "abcdefghijklmnop"]
    assert 1 <= sum(alone) <= 8


def test_what_costs_most_is_mostly_alone_at_a_push(monkeypatch):
    heavy = {"docs/test_site.py": (5, 10), "browser/test_browser.py": (3, 5), "audit/test_page.py": (1, 5), "test_bench_peers.py": (1, 10)}
    met = []
    for turn in range(20):
        monkeypatch.setenv("RLM_SECURE_TURN", str(turn))
        met.append(sum(len(share.share([*range(count)], of, f"tests/{name}")) for name, (count, of) in heavy.items()))
    assert sum(met) == 10 + 12 + 4 + 2
    assert max(met) == 2 and met.count(2) == 8


class _Item:
    """What the hook asks of a test."""

    def __init__(self, nodeid):
        self.nodeid, self.path, self.marks = nodeid, ROOT / nodeid.partition("::")[0], []

    def add_marker(self, mark):
        self.marks.append(mark.name)

    def get_closest_marker(self, name):
        return name if name in self.marks else None
