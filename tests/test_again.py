"""Who gets a second chance when the suite runs in parts, and that no attack does."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from rlm_secure.testing import arena
from tests import __main__ as suite
from tests.__main__ import MOST_RERUNS, ROOT, Part

OURS, ATTACKS = Part("tests/x", ("tests/x",)), Part("tests/attacks", ("tests/attacks",))
DONE = "F\n1 failed, 3 passed in 0.12s\n"
PASSES = "def test_it(): pass\n"
FAILS = "def test_it(): assert False\n"
#: Fails at its first run, and leaves a mark.
ONCE = """
import pathlib
def test_it():
    mark = pathlib.Path(__file__).with_suffix(".ran")
    again = mark.exists()
    mark.touch()
    assert again
"""
ATTACKED = ONCE.replace("def test_it", "import pytest\n@pytest.mark.attack\ndef test_it")
DIES = ONCE + "def test_other():\n    import os\n    os._exit(1)\n"


@pytest.fixture
def again(tmp_path, monkeypatch, capsys):
    """Runs `_again` on parts that failed with `rows` and ended saying `said`; what it ran, and what it returned."""
    told = tmp_path / "failed"
    monkeypatch.setenv("RLM_SECURE_FAILED", str(told))
    ran = []
    monkeypatch.setattr(suite, "_run", lambda parts, *rest: ran.append((parts, rest)) or [])

    def run(parts, rows, said=DONE):
        told.write_text(
            "".join(json.dumps(dict(zip(("part", "test", "attack"), row, strict=True))) + "\n" for row in rows)
        )
        for part in parts:
            (tmp_path / part.name.replace("/", ".")).write_text(said)
        failed, reruns = suite._again(parts, tmp_path, ("-m", "not exhaustive"))
        return [part for parts, _ in ran for part in parts], failed, reruns, capsys.readouterr().out

    run.ran = ran
    return run


def test_what_failed_is_run_once_more_and_alone(again, tmp_path):
    ran, failed, reruns, said = again([OURS], [("tests/x", "a", False), ("tests/other", "b", False)])
    assert (ran, failed, reruns) == ([OURS], [], 1)
    assert said == "once more, alone: tests/x\n"
    ((_, rest),) = again.ran
    assert rest[:2] == (tmp_path, 1) and "--last-failed" in rest and "not exhaustive" in rest


@pytest.mark.parametrize(
    ("part", "rows", "said", "reason"),
    [
        (OURS, [("tests/x", "a", False), ("tests/x", "b", True)], DONE, "has lost when it loses once"),
        (ATTACKS, [("tests/attacks", "a", False)], DONE, "has lost when it loses once"),
        (ATTACKS, [], DONE, "has lost when it loses once"),
        (OURS, [], DONE, "did not come to its end"),
        (OURS, [("tests/other", "a", False)], DONE, "did not come to its end"),
        (OURS, [("tests/x", "a", False)], "..F.\nFatal Python error: Segmentation fault\n", "did not come to its end"),
        (OURS, [("tests/x", "a", False)], "", "did not come to its end"),
    ],
)
def test_who_gets_no_second_run(again, part, rows, said, reason):
    ran, failed, reruns, printed = again([part], rows, said)
    assert (ran, failed, reruns) == ([], [part], 0)
    assert f"no second run for {part.name}: " in printed and reason in printed


def test_one_that_lost_an_attack_stops_nobody_elses_second_run(again):
    other = Part("tests/y", ("tests/y",))
    ran, failed, reruns, _ = again([OURS, other], [("tests/x", "a", True), ("tests/y", "a", False)])
    assert (ran, failed, reruns) == ([other], [OURS], 1)


def test_too_many_are_not_run_again(again):
    rows = [("tests/x", str(number), False) for number in range(MOST_RERUNS + 1)]
    assert again([OURS], rows)[:3] == ([], [OURS], MOST_RERUNS + 1)
    assert again([OURS], rows[1:])[:3] == ([OURS], [], MOST_RERUNS)


@pytest.mark.parametrize("name", [*suite.IN_ARENA, "tests/attacks/test_kernel.py"])
def test_what_runs_attacks_itself_is_a_part_in_an_arena(name):
    assert Part(name, (name,)).given is not None
    assert all(part.given is not None for part in suite.parts() if part.paths[0].startswith(name))
    assert Part("tests", ("tests/test_again.py",)).given is None


@pytest.mark.parametrize(
    ("sources", "options", "code", "said"),
    [
        ([PASSES, PASSES], (), 0, ["2 of 2 parts passed, 0 tests run a second time"]),
        ([PASSES, FAILS, ONCE], (), 1, ["1 of 3 parts passed, 0 tests run a second time", "FAILED p1", "FAILED p2"]),
        ([PASSES, ONCE], ("--again",), 0, ["2 of 2 parts passed, 1 tests run a second time"]),
        (
            [PASSES, FAILS, DIES, ATTACKED],
            ("--again",),
            1,
            [
                "no second run for p2: it did not come to its end",
                "no second run for p3: what carries the mark `attack` has lost when it loses once",
                "1 of 4 parts passed, 1 tests run a second time",
                "FAILED p1",
                "FAILED p2",
                "FAILED p3",
            ],
        ),
    ],
)
def test_the_whole(tmp_path, monkeypatch, sources, options, code, said):
    """In parts of a suite of its own, under the rules of ours."""
    (tmp_path / "conftest.py").write_text((ROOT / "tests" / "conftest.py").read_text())
    (tmp_path / "pytest.ini").write_text("[pytest]\nmarkers = attack: one\n exhaustive: more\n")
    names = [f"p{number}" for number in range(len(sources))]
    for name, source in zip(names, sources, strict=True):
        (tmp_path / f"test_{name}.py").write_text(source)
    program = f"""
import sys
from pathlib import Path
from tests import __main__ as suite
suite.CACHE = Path({str(tmp_path / "cache")!r})
suite.parts = lambda: [suite.Part(name, (f"{tmp_path}/test_{{name}}.py",)) for name in {names!r}]
sys.argv = ["tests", *{options!r}]
sys.exit(suite.main())
"""
    done = subprocess.run([sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, timeout=280)
    assert done.returncode == code, done.stdout + done.stderr
    told = ("no second run", "FAILED p")
    lines = [line for line in done.stdout.splitlines() if line.startswith(told) or " parts passed, " in line]
    assert sorted(lines) == sorted(said), done.stdout


def pytest_on(*arguments):
    plugins = [word for name in ("cacheprovider", "anyio", *suite.PLUGINS) for word in ("-p", f"no:{name}")]
    line = [sys.executable, "-m", "pytest", "-q", *plugins, *arguments]
    return subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=280)


@pytest.mark.root  # anybody else has those deselected that need root
def test_attacks_can_be_chosen_by_their_mark():
    """The mark was once set after marks were looked at: then `-m attack` chose nothing."""
    done = pytest_on("--collect-only", "-m", "attack", "tests/attacks", "tests/bypasses")
    assert done.returncode == 0, done.stdout[-2000:]
    chosen = {line.partition("::")[0] for line in done.stdout.splitlines() if "::" in line}
    assert {Path(name).parts[1] for name in chosen} == {"attacks", "bypasses"}
    assert " deselected" not in done.stdout, "so that the opposite mark chooses nothing of them"
    none = pytest_on("--collect-only", "-m", "not attack", "tests/bypasses")
    assert none.returncode == suite.NO_TESTS and "::" not in none.stdout


@pytest.mark.skipif(not arena.outside(), reason="this runs in an arena")
@pytest.mark.parametrize(
    ("arguments", "command"),
    [
        (["tests/attacks/test_kernel.py", "tests/test_types.py"], "tests/attacks/test_kernel.py"),
        (["-m", "attack", "tests/bypasses"], "-m attack tests/bypasses/test_bypasses.py tests/bypasses/test_kernel.py tests/bypasses/test_packages.py"),
        (["-m", "attack", "-o", "testpaths=tests/bypasses"], "-m attack"),
    ],
)
def test_attacks_outside_of_an_arena_are_refused_in_a_sentence(arguments, command):
    done = pytest_on(*arguments)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert done.stderr == f"ERROR: attacks run in an arena only: python -m tests {command}\n\n"
    assert "passed" not in done.stdout and "failed" not in done.stdout


def test_attacks_that_are_not_selected_are_not_refused():
    done = pytest_on("-m", "not attack", "tests/bypasses", "tests/test_types.py", "-k", "test_every or bypass")
    assert done.returncode == pytest.ExitCode.OK, done.stdout + done.stderr


def test_what_failed_is_not_shared_with_other_pushes_again(tmp_path, monkeypatch):
    """It is all that is collected then: a share of one test is nothing, at most pushes."""
    turns = []

    class Started(Exception):
        pass

    def start(_command, *, env, **_options):
        turns.append(env["RLM_SECURE_TURN"])
        raise Started

    monkeypatch.setenv("RLM_SECURE_TURN", "7")
    monkeypatch.setattr(suite.subprocess, "Popen", start)
    for options in ((), suite.AGAIN):
        with pytest.raises(Started):
            Part("tests", ("tests/test_again.py",)).run(tmp_path, *options)
    assert turns == ["7", ""]
