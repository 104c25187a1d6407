"""Nothing of a supervisor is within reach of its worker's user, by what the kernel allows between users alone."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tests.broker.support import session
from tests.broker.test_apart import Listening
from tests.emulators.base import anybodys_python, as_user

PROGRAM = (Path(__file__).parent / "reach.py").read_text(encoding="utf-8")
WORKER = 65534
REFUSED = {"EPERM", "EACCES"}


def reach(pid: int, uid: int) -> dict[str, str]:
    """What a program of this user can do to a process."""
    command = [anybodys_python(uid), "-I", "-S", "-c", PROGRAM, str(pid)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=150, cwd="/", env={}, **as_user(uid))
    return dict(json.loads(done.stdout))


@pytest.mark.root
@pytest.mark.attack
def test_a_workers_user_reaches_nothing_of_its_supervisor() -> None:
    with session(None, Listening, supervisor_uid=65533, namespaces=False) as opened:
        lease: Any = opened.lease  # type: ignore[attr-defined]
        found = reach(lease.process.pid, WORKER)
        assert {name: how for name, how in found.items() if how not in REFUSED} == {}
        # Not even its own user, but for signals and what the scheduler asks users alone about: it is not dumpable.
        own = {name for name, how in reach(lease.process.pid, 65533).items() if how == "won"}
        assert own <= {"signal", "signal by descriptor", "limit", "priority", "processors", "disk priority"}
        assert opened.execute("print(6 * 7)", None).stdout == "42\n"


@pytest.mark.root
def test_the_same_user_reaches_all_of_it() -> None:
    """The control: each attempt works on a process of one's own user."""
    command = [anybodys_python(WORKER), "-I", "-S", "-c", PROGRAM]
    with subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, cwd="/", env={}, text=True, **as_user(WORKER)
    ) as target:
        try:
            assert target.stdout is not None
            assert target.stdout.readline() == f"here {target.pid}\n"
            assert {name: how for name, how in reach(target.pid, WORKER).items() if how != "won"} == {}
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.kill(target.pid, 9)
