"""Sessions of somebody else's: what they are given, what is found out about them, and what is said of bad ones."""

from __future__ import annotations

import contextlib
import os

import pytest

from rlm_secure.guarantees import Guarantee
from rlm_secure.testing import corpus
from rlm_secure.testing.corpus import Layer, Need
from rlm_secure.testing.foreign import Abilities, ForeignGround
from rlm_secure.testing.session import SessionFailed
from rlm_secure.testing.target import prelude_cell
from tests.attacks.cells import BOUNDS, named, opened, said

# -- what a session is given ------------------------------------------------------------------------


def test_names_stay_and_sessions_are_apart(program):
    one, other = program(), program()
    said(one, "x = 1")
    assert said(one, "print(x)") == "1\n"
    assert other.run("print(x)").error is not None
    assert (one.report.environment, tuple(one.report.walls)) == ("foreign", ())


def test_a_session_without_state_is_told_the_first_cell_each_time(target):
    with opened(target, named("Forgets")) as program:
        session = program()
        said(session, "x = [1]\n")
        assert said(session, "x += [2]; print(x)") == "[1, 2]\n"
        assert said(session, "x += [3]; print(x)") == "[1, 3]\n"


def test_limits_context_and_the_end_reach_the_adapter(program):
    session = program()
    assert said(session, "print(list(limits))") == f"{[BOUNDS.seconds, BOUNDS.memory_bytes, BOUNDS.stdout_bytes, BOUNDS.calls]}\n"
    assert said(session, "print(context[:9])") == "the quick\n"
    session.close()
    assert session.spilled() == "closed"
    session.close()


def test_the_secrets_are_in_its_host(program, target):
    session = program()
    known = target.facts("", BOUNDS, session.host)
    said(session, prelude_cell(known) + "import ctypes, os")
    assert known["host"] == int(said(session, "print(os.getpid())")) != os.getpid()
    for place, code in {
        "variable": "open('/proc/self/environ').read()",
        "memory": "ctypes.string_at(TARGET['address'], TARGET['length'])",
        "descriptor": "os.pread(TARGET['fd'], 100, 0)",
        "file": "open(TARGET['link']).read()",
    }.items():
        assert target.leaked(said(session, f"print({code})")) == [place]


def test_its_host_has_no_descriptor_of_ours(program, target):
    """Attacks on descriptor 3 mean our worker's channel."""
    code = """
import os
for number in map(int, os.listdir("/proc/self/fd")):
    if 2 < number < 200 and number != TARGET["fd"] and os.path.exists(f"/proc/self/fd/{number}"):
        print(number, os.readlink(f"/proc/self/fd/{number}"))
"""
    session = program()
    said(session, prelude_cell(target.facts("", BOUNDS, session.host)))
    assert said(session, code) == ""


def test_what_it_writes_past_its_capture_is_seen_once(program):
    session = program()
    said(session, "import os; os.write(1, b'to one'); os.write(2, b'to two \\xff'); os.system('echo child')")
    assert session.spilled() == "to oneto two \ufffdchild\n"
    program.begin()
    assert program().spilled() == ""


@pytest.mark.parametrize("where", ["x = b'x' * (80 << 20)", """
import subprocess, sys
child = subprocess.Popen([sys.executable, "-c", "x = b'x' * (80 << 20); print(flush=True); input()"], stdin=-1, stdout=-1)
child.stdout.readline()"""])  # fmt: skip
def test_what_its_host_and_children_hold_is_seen(program, where):
    session = program()
    before = session.held_bytes()
    said(session, where)
    assert (session.held_bytes() - before) >> 20 in range(78, 110)


# -- adapters that fail -----------------------------------------------------------------------------


def test_an_exception_of_the_adapter_is_told_with_its_trace(program):
    session = program()
    with pytest.raises(SessionFailed, match=r"the adapter raised RuntimeError: out of \\ud800 order") as failed:
        session.run("raise in the adapter")
    assert "in run\n" in failed.value.trace and failed.value.trace.isascii()
    with pytest.raises(SessionFailed, match="TypeError"):
        session.run("return in the adapter")
    assert said(session, "print(1)") == "1\n"


@pytest.mark.parametrize(
    ("kind", "evidence"),
    [
        (named("NeverStarts"), "the adapter raised OSError: there is no such sandbox"),
        (named("something_else"), "TypeError: object is no rlm_secure.testing.Adapter"),
        (named("nothing"), "cannot be imported: AttributeError"),
        (named("BOUNDS"), "TypeError: 'Bounds' object is not callable"),
        ("no.such:module", "cannot be imported: ModuleNotFoundError: No module named 'no'"),
        ("antigravity_:", "cannot be imported: ModuleNotFoundError"),
        (named("Silent"), "a cell that prints was run, and nothing came out"),
    ],
)
def test_what_is_no_adapter_is_said(target, kind, evidence):
    with contextlib.closing(ForeignGround(kind, BOUNDS)) as ground, pytest.raises(SessionFailed, match=evidence):
        ground.abilities(target)


# -- what a session has -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "found"),
    [
        ("Cells", Abilities(True, frozenset({Need.CTYPES}))),
        ("Forgets", Abilities(True, frozenset({Need.CTYPES}))),
        ("Answers", Abilities(False, frozenset({Need.ANSWER, Need.LLM_QUERY}))),
    ],
)
def test_what_a_session_has_is_tried(target, kind, found):
    with contextlib.closing(ForeignGround(named(kind), BOUNDS)) as ground:
        assert ground.abilities(target) == found


def attack(layer, *needs):
    guarantee, harm = Guarantee.NO_HOST_FILES, corpus.Harm.HARMLESS
    return corpus.Attack("any", "Any.", guarantee, layer, corpus.Win.PRINTS, harm, ("",), frozenset(needs))


def test_what_it_lacks_is_said():
    bare, plain = Abilities(False, frozenset({Need.CTYPES})), Abilities(True, frozenset())
    assert plain.lacks(attack(Layer.KERNEL)) == bare.lacks(attack(Layer.BOTH, Need.CTYPES)) == ""
    assert bare.lacks(attack(Layer.KERNEL)).startswith("it is plain Python; `import os` was tried")
    assert plain.lacks(attack(Layer.KERNEL, Need.CTYPES, Need.ANSWER)).startswith(
        "it needs answer, ctypes; that was tried"
    )
    assert "the channel of our worker" in plain.lacks(attack(Layer.BOTH, Need.CHANNEL, Need.CTYPES))
