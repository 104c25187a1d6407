"""Every known bypass once more, where the language layer has fallen: what it leads to is still behind the OS walls.

Each attack runs as plain Python in a sealed session, and then takes what a won bypass would take: a host file, the
host's variables, a look at its directories, a connection, a process.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure import RLMSecureError
from rlm_secure.testing import judge, unscreened
from rlm_secure.testing.target import Target

from . import corpus, host

ATTACKS = corpus.every()
PRELUDE = f"{Path(host.__file__).read_text(encoding='utf-8')}\nglobals().update(names())\n".replace(
    "from __future__ import annotations\n", ""
)
#: The last two are calls for which seccomp ends the session.
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


def attacked(source: str, cells: tuple[str, ...]) -> str:
    """What is said in a session that runs the attack, and then takes what it can until a wall ends it."""
    said = []
    with unscreened(policy=judge.policy("strict")) as session:
        for cell in (PRELUDE, source, *cells):
            try:
                said.append(session.run(cell).stdout)
            except RLMSecureError:
                break
    return "".join(said)


@pytest.mark.attack
@pytest.mark.parametrize("attack", ATTACKS, ids=[attack.id for attack in ATTACKS])
def test_the_os_walls_hold(attack: corpus.Attack, target: Target, facts: str) -> None:
    target.reset()
    *reads, connection, process = (facts + cell for cell in SPOILS)
    said = attacked(attack.control, (*reads, connection)) + attacked(attack.control, (process,))
    assert [sign for sign in WON if sign in said] == []
    assert target.leaked(said) == []
    assert (target.heard(), target.damage()) == ([], [])


@pytest.mark.parametrize("cell", SPOILS)
def test_plain_python_takes_each_of_them(cell: str, target: Target, facts: str) -> None:
    done = subprocess.run(
        [sys.executable, "-I", "-c", facts + cell],
        capture_output=True,
        text=True,
        timeout=30,
        env={"PATH": "/usr/bin:/bin", **target.environment},
    )
    assert [sign for sign in WON if sign in done.stdout], json.dumps([done.stdout, done.stderr])
