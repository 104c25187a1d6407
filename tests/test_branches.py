"""The measuring itself: what a sealed process ran is seen, what nobody ran is missed, and no exception lacks a reason."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from rlm_secure.environments.bundle import bundle
from tests.branches import report, tracer
from tests.trusted import ROOT, trusted

#: Marks its branches, is killed by a filter in the middle of them, and could not open a file by then.
PROGRAM = """
import os, sys
sys.path.insert(0, {tracer!r})
from tracer import start
start({table!r}, [{name!r}], ["other.py"])
import runpy
runpy.run_path({path!r}, run_name="traced")
"""
#: Of it, lines are marked.
OTHER = """\
def twice(number):
    if number:
        return number
    return 0


twice(1)
"""
MODULE = """\
import os, signal


def numbers(most):
    for number in range(most):
        if number == 1:
            yield number
        elif number > 7:
            yield -1


def child():
    found = list(numbers(3))
    os.kill(os.getpid(), signal.SIGKILL)
    return found


pid = os.fork()
if pid == 0:
    child()
os.waitpid(pid, 0)
"""


def marked(tmp_path: Path, name: str, code: str) -> bytes:
    """The table after a program was run that marks the branches of module.py and the lines of other.py."""
    module, table = tmp_path / name, tmp_path / "arcs"
    module.write_text(code)
    with table.open("wb") as file:
        file.truncate(tracer.size(["module.py"], ["other.py"]))
    told = {"tracer": str(Path(tracer.__file__).parent), "table": str(table), "name": "module.py", "path": str(module)}
    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", PROGRAM.format(**told)], check=True)
    return table.read_bytes()


def test_lines_that_ran_are_seen_of_a_file_whose_branches_nobody_asks_for(tmp_path: Path) -> None:
    marks = marked(tmp_path, "other.py", OTHER)
    assert len(marks) == tracer.SIZE + tracer.MOST_LINES
    assert [match.start() - tracer.SIZE for match in re.finditer(b"\1", marks)] == [1, 2, 3, 7]


def test_arcs_of_a_process_that_was_killed_are_seen_and_others_are_not(tmp_path: Path) -> None:
    marks = marked(tmp_path, "module.py", MODULE)
    arcs = {divmod(match.start(), 2 * tracer.LINES) for match in re.finditer(b"\1", marks)}
    found = {(report._line(begin), report._line(end)) for begin, end in arcs}
    assert {(-4, 5), (5, 6), (6, 7), (7, 5), (6, 8), (8, 5), (5, -4), (-12, 13), (13, 14)} <= found
    assert not {(8, 9), (14, 15)} & found  # never ran: the number 8, and what stands behind a death
    assert not any(end == -4 and begin == 7 for begin, end in found)  # a yield is no way out


def test_where_the_table_cannot_be_opened_nothing_is_traced(tmp_path: Path) -> None:
    tracer.start(f"{tmp_path}/none", ["x.py"], ["y.py"])
    assert sys.gettrace() is None or "tracer" not in getattr(sys.gettrace(), "__module__", "")


SESSION = """
from rlm_secure import Sandbox
with Sandbox() as sandbox:
    assert sandbox.run("6 * 7").text == "42"
"""


def measure(directory: Path, code: str) -> None:
    """Run a program as `python -m tests --coverage` runs a part."""
    program = directory.with_suffix(".py")
    program.write_text(code)
    command = [sys.executable, "-m", "coverage", "run", f"--rcfile={directory}/coveragerc", str(program)]
    done = subprocess.run(
        command, cwd=ROOT, env=os.environ | {"RLM_SECURE_COVERAGE": str(directory), "PYTHONPATH": str(ROOT)},
        capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


@pytest.mark.slow
def test_what_a_sealed_worker_runs_is_seen_also_where_a_bundle_is_kept(tmp_path: Path) -> None:
    bundle()  # as whoever ran a session before has left it
    directory = tmp_path / "measured"
    report.prepare(directory)
    measure(directory, SESSION)
    found = report.measured(directory)
    for name in ("guest/zygote/zygote.py", "guest/kernel/seal.py", "guest/wire.py", "environments/local/zygote.py"):
        assert found[f"rlm_secure/{name}"]["summary"]["percent_covered"] > 30, name


@pytest.mark.slow
def test_what_two_runs_measured_adds_up_and_a_piece_of_a_file_is_left_out(tmp_path: Path) -> None:
    kept, lines = tmp_path / "kept", []
    for number, call in enumerate(("inert('x')", "excerpt('x')")):
        directory = tmp_path / f"measured{number}"
        report.prepare(directory, host=True)
        measure(directory, f"from rlm_secure import inert\ninert.{call}\n")
        (directory / "host.killed").write_bytes(b"SQLite format 3\0")
        (directory / "host.empty").touch()
        report.gather(directory, kept)
        lines.append(set(report.measured(directory)["rlm_secure/inert.py"]["executed_lines"]))
    both = report.measured(kept)["rlm_secure/inert.py"]
    assert set(both["executed_lines"]) == lines[0] | lines[1] > lines[0]
    assert report.lines(kept)[0].startswith("host code: ")
    assert any("rlm_secure/cli/doctor.py" in line and "nothing of it ran" in line for line in report.lines(kept))
    (kept / "sources").write_text("others")
    with pytest.raises(ValueError, match="has what other sources ran"):
        report.gather(directory, kept)


def test_host_code_is_all_but_the_guest() -> None:
    found = report.host_code()
    assert {"rlm_secure/sandbox.py", "rlm_secure/cli/__init__.py"} <= set(found)
    assert not [path for path in found if path.startswith("rlm_secure/guest/")]


def test_a_file_that_is_too_long_for_the_table_is_noticed() -> None:
    for names, most in ((trusted(), tracer.LINES), (report.host_code(), tracer.MOST_LINES)):
        for name in names:
            assert (ROOT / name).read_text().count("\n") < most, name


def test_lines_and_branches_that_are_missing_are_named() -> None:
    about = {"missing_lines": [3, 4, 5, 9], "missing_branches": [[2, 3], [7, -1], [9, 10]]}
    assert report.missing(about) == "lines 3-5 9, branches 2->3 7->exit"
    assert report.missing({"missing_lines": [], "missing_branches": []}) == ""


def test_no_line_is_left_out_without_a_reason() -> None:
    for path in trusted():
        for number, line in enumerate((ROOT / path).read_text(encoding="utf-8").splitlines(), 1):
            if "pragma:" in line:
                assert re.search(r"# pragma: no (cover|branch) - \w+ \w+ \w+", line), f"{path}:{number} says no reason"


def test_what_is_pending_is_trusted_and_says_why() -> None:
    assert [path for path, why in report.PENDING.items() if path not in trusted() or len(why.split()) < 4] == []


@pytest.mark.parametrize("name", ["tests/branches", "RLM_SECURE_COVERAGE", "rlm_secure_tracer"])
def test_the_product_knows_nothing_of_it(name: str) -> None:
    assert [str(path) for path in (ROOT / "rlm_secure").rglob("*.py") if name in path.read_text(encoding="utf-8")] == []
