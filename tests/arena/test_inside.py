"""Whether this process is in an arena, and who may attack without one."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

from rlm_secure.environments.owner import is_orphan, owner
from rlm_secure.testing import arena
from rlm_secure.testing.arena import Arena

ASKED = """
from rlm_secure.environments.owner import is_orphan, owner
from rlm_secure.testing import arena
about = arena.inside()
arena.require()
print(arena.outside(), about.shared, about)
try:
    arena.Arena().start(["true"])
except arena.ArenaRefused as error:
    print("refused")
"""


def test_it_is_known_inside():
    given = Arena((arena.Share("/usr"),)) if os.getuid() == 0 else Arena()
    with given.start([sys.executable, "-c", ASKED], stdout=subprocess.PIPE) as running:
        lines = running.process.stdout.read().decode().splitlines()
        assert lines[0] == f"False {running.about.shared} {running.about}"
        assert lines[1:] in (["refused"], [])  # nobody may build another one in it


def test_it_is_known_outside(monkeypatch, tmp_path):
    assert arena.inside() is None and arena.outside()
    with pytest.raises(arena.NotInArena, match="rlm-secure audit"):
        arena.require()
    mark = tmp_path / "mark"
    monkeypatch.setattr(arena, "MARK", str(mark))
    for text in (json.dumps({"shared": [], "missing": []}), "no json", ""):
        mark.write_text(text)
        assert arena.inside() is None and arena.outside()


@pytest.mark.parametrize("uid", [0, 1000])
def test_waiving(monkeypatch, uid):
    monkeypatch.setattr(arena, "_waived", False)
    monkeypatch.setattr(arena.os, "geteuid", lambda: uid)
    if uid == 0:
        with pytest.raises(arena.NotInArena, match="--this-machine-is-disposable"):
            arena.waive(disposable=False)
        assert arena.outside()
    arena.waive(disposable=uid == 0)
    assert not arena.outside()
    arena.require()


def test_an_arenas_sandboxes_are_no_orphans_to_who_is_outside():
    """Their owner's process id means nothing here: a sweep that took it for a dead one would end live sandboxes."""
    code = "from rlm_secure.environments.owner import owner; print(owner())"
    with Arena().start([sys.executable, "-c", code], stdout=subprocess.PIPE) as running:
        label = running.process.stdout.read().decode().strip()
        assert running.wait() == 0
    assert label and label != owner()
    assert not is_orphan(label)
    assert is_orphan(owner().replace(f"-{os.getpid()}-", "-4194305-"))
