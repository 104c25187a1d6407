"""Every fuzzer runs for a moment with a fixed seed, finds what is planted, and looks again at what was found once."""

from __future__ import annotations

import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tests.fuzz import __main__ as command
from tests.fuzz import readers, targets
from tests.fuzz import run as fuzz_run
from tests.fuzz.run import Figures, made, problem, run
from tests.fuzz.targets import FUZZERS, Fuzzer, framed

ROOT = Path(__file__).parents[2]
FOUND = Path(__file__).parent / "found"
#: Inputs of a moment, about a second of the processor each.
MOMENT = {"guest-http": 600, "host-http": 500, "lines": 25, "frames": 200, "answers": 60}
#: Being mended: tolerated here until then.
UNDER_REPAIR: dict[str, tuple[str, ...]] = {}


@pytest.fixture(autouse=True)
def _nothing_is_left() -> Any:
    yield
    readers.forget_listener()


def _findings(figures: Figures) -> list[str]:
    known = UNDER_REPAIR.get(figures.fuzzer, ())
    return [each.said for each in figures.findings if not each.said.startswith(known or "\0")]


@pytest.mark.parametrize("name", FUZZERS)
def test_a_moment_finds_nothing(name: str) -> None:
    figures = run(FUZZERS[name], 16, inputs=MOMENT[name], most=3)
    assert not _findings(figures), (
        f"{figures}: {[(each.number, each.said, each.data[:300]) for each in figures.findings]}"
    )
    assert name in UNDER_REPAIR or figures.inputs == MOMENT[name]


@pytest.mark.parametrize("path", sorted(FOUND.iterdir()), ids=lambda path: path.name)
def test_what_was_found_once_is_mended(path: Path) -> None:
    name = next(each for each in FUZZERS if path.name.startswith(f"{each}-"))
    said, _ = problem(FUZZERS[name], path.read_bytes(), 16)
    assert not said


# -- controls: what is planted is found ----------------------------------------------------------

_OLD_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):[ \t]*([^\r\n\0]*)")


def _quadratic(data: bytes) -> None:
    """A reader that looks for its headers as one did that froze the host for 16 s."""
    for line in data.split(b"\r\n"):
        _OLD_HEADER.fullmatch(line)


def _scans_again(data: bytes) -> None:
    """A reader that goes over what it has with each byte that comes."""
    buffer = bytearray()
    for at in range(0, len(data), 4):
        buffer += data[at : at + 4]
        for _ in range(32):
            buffer.count(b"\xff\xfe")


def _keyed(word: bytes) -> Callable[[bytes], None]:
    """A reader that knows no answer to one word."""

    def read(data: bytes) -> None:
        if word in data:
            raise KeyError(word)

    return read


def _by_division(data: bytes) -> None:
    """A reader to which the place where a piece ends means something."""
    targets.same(lambda pieces: [len(each) % 7 == 3 for each in pieces].count(True), data, random.Random(1))


@pytest.mark.parametrize(
    ("name", "reader", "kind"),
    [
        ("guest-http", _quadratic, "TooSlow"),
        ("host-http", _quadratic, "TooSlow"),
        ("guest-http", _keyed(b"\x85"), "KeyError"),
        ("host-http", _keyed(b"\r\nTransfer-Encoding: gzip"), "KeyError"),
        ("lines", _scans_again, "TooSlow"),
        ("lines", _keyed(b'"end":true,'), "KeyError"),
        ("frames", _keyed(b"1e308"), "KeyError"),
        ("frames", _by_division, "Broken"),
        ("answers", _keyed(b"\\ud800"), "KeyError"),
    ],
)
def test_a_planted_bug_is_found(
    name: str, reader: Callable[[bytes], None], kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if name != "guest-http":  # one is run as long as it may on the slowest processor, the others as long as on ours
        monkeypatch.setattr(fuzz_run, "_SLOWEST", 1.0)
    fuzzer = FUZZERS[name]
    short = tuple(each for each in fuzzer.seeds if len(each) < 62_000)  # what is slow takes as long as it is allowed to
    planted = replace(fuzzer, seeds=short, check=lambda data, _chance: reader(data))
    figures = run(planted, 16, inputs=3000)
    assert [each.said.partition(":")[0] for each in figures.findings] == [kind], str(figures)


def test_a_bug_in_a_real_reader_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    real = readers.host_frames

    def short(pieces: readers.Pieces) -> Any:
        if sum(map(len, pieces)) > 4 and len(pieces) > 3:
            pieces = pieces[:-1]  # the last piece is lost
        return real(pieces)

    monkeypatch.setattr(readers, "host_frames", short)
    figures = run(FUZZERS["frames"], 16, inputs=200)
    assert figures.findings and figures.findings[0].said.startswith("Broken")


def test_what_is_found_is_made_small() -> None:
    planted = replace(FUZZERS["guest-http"], check=lambda data, _chance: _keyed(b"X: y")(data))
    figures = run(planted, 16, inputs=3000)
    assert [each.data for each in figures.findings] == [b"X: y"]


def test_an_input_follows_from_its_seed_and_number() -> None:
    for fuzzer in FUZZERS.values():
        numbers = range(len(fuzzer.seeds), len(fuzzer.seeds) + 20)
        assert [made(fuzzer, 1, each) for each in numbers] == [made(fuzzer, 1, each) for each in numbers]
        assert [made(fuzzer, 1, each) for each in numbers] != [made(fuzzer, 2, each) for each in numbers]


def test_seeds_reach_what_they_are_for() -> None:
    """A reader that refused everything at once would be the same in every division, and cheap."""
    requests, _ = readers.guest_http([targets.filled(targets.template("POST", "/execute?wait=1", 7, b"{}"))])
    assert requests == [("POST", "/execute?wait=1", (("wait", "1"),), 7, b"{}")]
    answer = readers.answer_of_guest(1, "GET", "/health", 200, b"{}")
    found, end = readers.host_http([answer])
    assert (found[0], found[2], end) == (200, b"{}", "answered")
    carried = targets._line(n=1, a=1, c=1, d=targets._data(answer))
    assert readers.host_lines([carried]) == ((200, found[1], b"{}"), "answered")
    given, state = readers.guest_lines([targets._line(n=1, a=0, c=1, d=targets._data(b"abc"))])
    assert (given, state) == ([b"abc"], "running")
    frame = framed(targets.FRAMED + b'{"op":"call","call":"llm_query","prompts":["p"],"model":null}')
    assert len(readers.host_frames([frame])[0]) == 1
    assert len(readers.supervisor_frames([frame])[0]) == 1
    assert len(readers.guest_frames([frame])[0]) == 1
    assert readers.comms_frames([frame])[0][0]["op"] == "call"
    assert readers.engine_frames([b"\x01\0\0\0\0\0\0\x02hi"]) == (b"hi", "ended")
    assert readers.checked({"type": "integer"}, "```json\n5\n```") == (5, None)
    assert readers.signed(200, b'{"pending":[],"worker":"idle"}')[4].startswith("Events(")


# -- the command ---------------------------------------------------------------------------------


def test_the_command_says_what_was_found_and_keeps_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    planted = Fuzzer("guest-http", (b"one two", b"three"), (b"",), lambda data, _chance: _keyed(b"two")(data))
    monkeypatch.setattr(command, "FUZZERS", {"guest-http": planted})
    monkeypatch.setattr(command.resource, "setrlimit", lambda *_: None)
    arguments = ["fuzz", "guest-http", "--seconds", "1", "--seed", "7", "--findings", "1", "--directory", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    assert command.main() == 1
    said = capsys.readouterr().out
    assert "seed 7" in said and "FOUND KeyError" in said and "--seed 7 --input 0" in said
    assert (tmp_path / "guest-http-7-0").read_bytes() == b"two"
    monkeypatch.setattr(sys, "argv", [*arguments, "--file", str(tmp_path / "guest-http-7-0")])
    assert command.main() == 1


def test_the_command_ends_with_figures_where_it_is_interrupted(tmp_path: Path) -> None:
    program = [sys.executable, "-m", "tests.fuzz", "host-http", "--seconds", "60", "--directory", str(tmp_path)]
    with subprocess.Popen(program, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline().startswith("seed ")
        time.sleep(0.5)  # it runs
        process.send_signal(signal.SIGINT)
        said, errors = process.communicate(timeout=120)
    assert process.returncode == 0
    assert "interrupted" in errors and "Traceback" not in errors
    assert re.search(r"host-http +seed \d+: [\d,]+ inputs", said)


def test_every_fuzzer_runs_every_night() -> None:
    nightly = (ROOT / ".github/workflows/nightly.yml").read_text(encoding="utf-8")
    names = re.search(r"^ +name: \[(.*)\]$", nightly, re.MULTILINE)
    assert names is not None and names[1].split(", ") == list(FUZZERS)
    assert 'SEED="$GITHUB_RUN_ID"' in nightly
    asked = ["make", "-n", "fuzz", "FUZZ=lines", "SECONDS_EACH=5", "SEED=7", "VENV=.venv"]
    said = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    assert "-m tests.fuzz lines --seconds 5 --seed 7" in said
