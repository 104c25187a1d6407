"""Attacks of somebody's own, from a folder of theirs: tried beside the shipped ones, each after its control."""

from __future__ import annotations

import os
import tempfile
import tracemalloc
from pathlib import Path

import pytest

from rlm_secure.audit import audit
from rlm_secure.audit.attack import _Run
from rlm_secure.audit.subject import Job
from rlm_secure.cli import main
from rlm_secure.policy import Policy
from rlm_secure.testing import battery, corpus
from rlm_secure.testing.control import Control
from rlm_secure.testing.corpus import Excuse
from rlm_secure.testing.verdict import Result

pytestmark = pytest.mark.attack

SOCKET = '''"""Open a socket.

guarantee: no-network
layer: kernel
wins: prints
outcome: harmless
"""

import socket

socket.socket()
print("WON")
'''
NOTHING = SOCKET.replace("socket.socket()", "raise OSError")


def folder(path: Path, **attacks: str) -> Path:
    for name, text in attacks.items():
        (path / f"{name.replace('_', '-')}.py").write_text(text)
    return path


def test_they_are_tried_with_their_controls(tmp_path: Path) -> None:
    mine = corpus.own(folder(tmp_path, my_socket=SOCKET, my_nothing=NOTHING))
    found = audit((), environments=("local",), own_attacks=mine, only=frozenset({"my-socket", "my-nothing"}))
    results = {probe.name: probe.result for probe in found.environments[0].probes}
    assert results == {"my-socket": Result.STOPPED, "my-nothing": Result.NOT_CHECKED}


def test_the_command_takes_a_folder_of_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """All of them, also where few of the shipped ones are chosen."""
    folder(tmp_path, **{f"my_socket_{number}": SOCKET for number in range(5)})
    assert main(["audit", "--env", "local", "--quick", "--attacks", str(tmp_path), "--format", "json"]) == 0
    assert all(f'"my-socket-{number}"' in out for out in [capsys.readouterr().out] for number in range(5))


@pytest.mark.parametrize(
    ("attacks", "said"),
    [
        ({}, "has no attack"),
        ({"sleep": SOCKET}, "attack sleep: the shipped corpus has one of that name; rename"),
        ({"broken": "print(1)"}, "attack broken: it must start with a docstring"),
    ],
)
def test_a_folder_that_is_no_good_is_refused_in_a_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], attacks: dict[str, str], said: str
) -> None:
    folder(tmp_path, **attacks)
    assert main(["audit", "--env", "local", "--attacks", str(tmp_path)]) == 2
    assert said in capsys.readouterr().err


def test_what_is_no_file_of_text_is_refused_by_its_name_and_never_waited_for(tmp_path: Path) -> None:
    for make, said in (
        (os.mkfifo, "it is a FIFO"),
        (Path.mkdir, "it is a "),
        (lambda path: path.write_bytes(b"\xff"), "is not UTF-8"),
        (lambda path: path.write_bytes(bytes((1 << 20) + 1)), "it is larger than 1,048,576 bytes"),
    ):
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        make(folder / "odd.py")
        with pytest.raises(ValueError, match=f"attack odd: .*odd.py' .*{said}"):
            corpus.own(folder)


@pytest.mark.parametrize(
    ("bomb", "times"),
    [("'x' * 9999999", 1), (" + ".join(["'x' * 9999999"] * 100), 1), ("'x' * 60000", 20), ("'x' * 9999999", 10_000)],
)
def test_a_bomb_is_measured_before_it_is_made(bomb: str, times: int) -> None:
    """By the cells that it makes, however short its file is."""
    text = SOCKET.replace("outcome: harmless", f"outcome: harmless\nbomb: {bomb}") + "BOMB\n" * times
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match="attack mine: its bomb makes .* characters of cells; use at most 1,048,576"):
            corpus.parse("mine", text)
        assert tracemalloc.get_traced_memory()[1] < 8 << 20
    finally:
        tracemalloc.stop()


def test_a_bomb_that_no_cell_names_makes_nothing() -> None:
    text = SOCKET.replace("outcome: harmless", "outcome: harmless\nbomb: 'x' * 9999999")
    assert corpus.parse("mine", text).cells == corpus.parse("mine", SOCKET).cells


def test_without_an_environment_there_is_nothing_that_they_could_attack(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder(tmp_path, my_socket=SOCKET)
    assert main(["audit", "strict", "--attacks", str(tmp_path)]) == 2
    assert "--attacks needs --env" in capsys.readouterr().err


def test_a_control_is_run_once_and_each_is_heard_of(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two grounds of an environment share them; who hears nothing for long would kill the arena."""
    ran, steps = [], []

    def controls(attacks, bounds, *, heard):
        made = {each.name: Control(each.name, True, "", Excuse.NOTHING, "") for each in attacks}
        ran.extend(made)
        for each in made.values():
            heard(each)
        return made

    monkeypatch.setattr(battery, "controls", controls)
    mine = tuple(corpus.parse(name, SOCKET) for name in ("one", "two"))
    policy = Policy()
    run = _Run(Job("local", policy.model_dump_json(), quick=True, own=mine), policy, lambda *step: steps.append(step))
    first, second = run._controls([mine[0]]), run._controls(list(mine))
    assert (ran, steps) == (["one", "two"], [(0, 0, "one"), (0, 0, "two")])
    assert second["one"] is first["one"] and second["two"].won


@pytest.mark.parametrize("name", ["\x1b[31mred", "two words", "line\nend", "\udcff"])
def test_a_name_that_a_report_cannot_show_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / f"{name}.py").write_text(SOCKET)
    with pytest.raises(ValueError, match="is no name of an attack") as refused:
        corpus.own(tmp_path)
    assert str(refused.value).isascii() and str(refused.value).isprintable()
