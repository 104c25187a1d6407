"""Every known bypass once more, where the language layer has fallen: what it leads to is still behind the OS walls.

Each attack runs as plain Python in a sealed session, and then takes what a won bypass would take: a host file, the
host's variables, a look at its directories, and a connection or a process. Either ends the session, so that both take
two sessions: for every push the attacks have them in turn, and each has both with `--all`.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure import RLMSecureError
from rlm_secure.testing import judge, unscreened
from rlm_secure.testing.target import Target

from . import corpus, host

EXHAUSTIVE = os.environ.get("RLM_SECURE_EXHAUSTIVE") == "1"
ATTACKS = corpus.every()
PRELUDE = f"{Path(host.__file__).read_text(encoding='utf-8')}\nglobals().update(names())\n".replace(
    "from __future__ import annotations\n", ""
)
#: The last two are calls for each of which seccomp ends the session.
SPOILS = (
    "print(open(TARGET['file']).read())",
    "import os; print(os.environ)",
    "import os; print('LISTED', os.listdir('/'))",
    "import socket; socket.create_connection(('127.0.0.1', TARGET['port']), 1).send(b'x'); print('CONNECTED')",
    "import os; os.system('exit 7') >> 8 == 7 and print('STARTED')",
)
WON = ("CONNECTED", "STARTED", "LISTED ['", "file-", "variable-")


@pytest.fixture(scope="module")
def target() -> Iterator[Target]:
    with Target() as made:
        yield made


@pytest.fixture(scope="module")
def facts(target: Target) -> str:
    told = target.facts("", judge.BOUNDS)
    return f"TARGET = {{'file': {told['file']!r}, 'port': {told['port']!r}}}\n"


def taken(at: int) -> list[tuple[str, ...]]:
    """What the attack at this place of the list takes, one after the other, for each session that it gets."""
    *reads, connection, process = SPOILS
    ends = [(*reads, connection), (process,)]
    return ends if EXHAUSTIVE else [ends[0] if at % 2 == 0 else (*reads, process)]


def at_once(*spoils: str) -> str:
    """A cell that takes them all: before each cell a session copies itself, which takes longer than these.

    One that fails ends no other, whatever the attack has done to the names of exceptions.
    """
    return "".join(f"try:\n    {spoil}\nexcept:\n    pass\n" for spoil in spoils)


def attacked(source: str, facts: str, spoils: tuple[str, ...]) -> str:
    """What is said in a session that runs the attack, and then takes what it can until a wall ends it."""
    said = []
    with unscreened(policy=judge.policy("strict")) as session:
        for cell in (PRELUDE, source, facts + at_once(*spoils[:-1]), facts + spoils[-1]):
            try:
                said.append(session.run(cell).stdout)
            except RLMSecureError:
                break
    return "".join(said)


@pytest.mark.attack
@pytest.mark.parametrize(("at", "attack"), [*enumerate(ATTACKS)], ids=[attack.id for attack in ATTACKS])
def test_the_os_walls_hold(at: int, attack: corpus.Attack, target: Target, facts: str) -> None:
    target.reset()
    said = "".join(attacked(attack.control, facts, spoils) for spoils in taken(at))
    assert [sign for sign in WON if sign in said] == []
    assert target.leaked(said) == []
    assert (target.heard(), target.damage()) == ([], [])


def test_every_spoil_is_taken_after_half_of_the_attacks_at_least() -> None:
    often = Counter(spoil for at in range(len(ATTACKS)) for spoils in taken(at) for spoil in spoils)
    assert set(often) == set(SPOILS)
    assert min(often.values()) >= len(ATTACKS) // 2 > 400


@pytest.mark.parametrize("spoils", [*((spoil,) for spoil in SPOILS), SPOILS], ids=[*SPOILS, "all"])
def test_plain_python_takes_each_of_them(spoils: tuple[str, ...], target: Target, facts: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", facts + at_once(*spoils)],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": "/usr/bin:/bin", **target.environment},
    )
    won = [sign for sign in WON if sign in done.stdout]
    assert len(won) == len(spoils), json.dumps([won, done.stdout, done.stderr])
