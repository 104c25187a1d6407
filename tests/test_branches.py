"""The measuring itself: what a sealed process ran is seen, what nobody ran is missed, and no exception lacks a reason."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.branches import report, tracer
from tests.trusted import ROOT, trusted

#: Marks its branches, is killed by a filter in the middle of them, and could not open a file by then.
PROGRAM = """
import os, sys
sys.path.insert(0, {tracer!r})
from tracer import start
start({table!r}, [{name!r}])
import runpy
runpy.run_path({path!r}, run_name="traced")
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


def test_arcs_of_a_process_that_was_killed_are_seen_and_others_are_not(tmp_path: Path) -> None:
    module, table = tmp_path / "module.py", tmp_path / "arcs"
    module.write_text(MODULE)
    with table.open("wb") as file:
        file.truncate(tracer.SIZE)
    told = {"tracer": str(Path(tracer.__file__).parent), "table": str(table), "name": "module.py", "path": str(module)}
    subprocess.run([sys.executable, "-I", "-S", "-B", "-c", PROGRAM.format(**told)], check=True)
    marks = table.read_bytes()
    arcs = {divmod(match.start(), 2 * tracer.LINES) for match in re.finditer(b"\1", marks)}
    found = {(report._line(begin), report._line(end)) for begin, end in arcs}
    assert {(-4, 5), (5, 6), (6, 7), (7, 5), (6, 8), (8, 5), (5, -4), (-12, 13), (13, 14)} <= found
    assert not {(8, 9), (14, 15)} & found  # never ran: the number 8, and what stands behind a death
    assert not any(end == -4 and begin == 7 for begin, end in found)  # a yield is no way out


def test_where_the_table_cannot_be_opened_nothing_is_traced(tmp_path: Path) -> None:
    tracer.start(f"{tmp_path}/none", ["x.py"])
    assert sys.gettrace() is None or "tracer" not in getattr(sys.gettrace(), "__module__", "")


def test_a_file_that_is_too_long_for_the_table_is_noticed() -> None:
    for name in trusted():
        assert (ROOT / name).read_text().count("\n") < tracer.LINES, name


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
