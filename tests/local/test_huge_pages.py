"""Huge pages, of which one small page that stays mapped keeps all: only where a cgroup counts them."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure.environments.local import cgroup, pool
from rlm_secure.environments.local.session import LocalSession
from rlm_secure.errors import WallViolation
from rlm_secure.guarantees import Level, Wall
from rlm_secure.guest.kernel import seal, walls
from rlm_secure.policy import load_policy
from rlm_secure.testing import Unscreened, unscreened
from tests.local.kernels import LIES, in_child

POLICY = load_policy({"name": "test", "extends": "strict", "isolation": {"pool": 0}})
_SET, _GET = 41, 42
#: Asks for huge pages where they may lie, touches a byte of each, and gives back all but the first 4 KiB.
ATTACK = """
import ctypes
libc = ctypes.CDLL(None)
libc.mmap.restype = ctypes.c_void_p
libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
libc.madvise.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]
for place in range(1 << 36, (1 << 36) + (16 << 21), 1 << 21):
    assert libc.mmap(place, 1 << 21, 3, 0x22, -1, 0) == place
    assert libc.madvise(place, 1 << 21, 14) == 0
    ctypes.memset(place, 1, 1)
"""


@pytest.fixture(autouse=True)
def fresh() -> Iterator[None]:
    pool.drain()
    yield
    pool.drain()


def session_of(box: Unscreened) -> LocalSession:
    session = box._session
    assert isinstance(session, LocalSession)
    return session


def of_the_worker(box: Unscreened, file: str, name: str) -> str:
    lines = Path(f"/proc/{session_of(box)._worker.host_pid}/{file}").read_text().splitlines()
    return next(line.partition(":")[2].strip() for line in lines if line.startswith(f"{name}:"))


@pytest.fixture
def ungrouped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cgroup, "parents", lambda _: "none here")


@pytest.mark.root  # a session is not dumpable: its own user may not read its memory map
@pytest.mark.usefixtures("ungrouped")
def test_nobody_has_huge_pages_where_no_cgroup_counts_them():
    with unscreened(policy=POLICY) as box:
        assert of_the_worker(box, "status", "THP_enabled") == "0"
        assert box.run(ATTACK).error is None
        assert of_the_worker(box, "smaps_rollup", "AnonHugePages") == "0 kB"
        assert session_of(box).checkpoint()
        assert of_the_worker(box, "status", "THP_enabled") == "0"  # nor has a copy
        assert "huge pages only where a cgroup counts them" in session_of(box).report[Wall.RLIMITS].evidence


@pytest.mark.usefixtures("ungrouped")
def test_a_worker_cannot_switch_them_on():
    with unscreened(policy=POLICY) as box:
        result = box.run(f"import ctypes\nctypes.CDLL(None).prctl({_SET}, 0, 0, 0, 0)")
        assert isinstance(result.error, WallViolation)


@pytest.mark.root
def test_a_cgroup_counts_them_so_there_they_are():
    if isinstance(reason := cgroup.parents(os.getpid()), str):
        pytest.skip(reason)  # a machine without cgroups; in CI that is a failure (tests/conftest.py)
    with unscreened(policy=POLICY) as box:
        assert of_the_worker(box, "status", "THP_enabled") == "1"


def test_one_that_was_promised_a_cgroup_and_has_none_is_replaced(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(cgroup, "_empty", [])
    monkeypatch.setattr(cgroup, "_EMPTY", 0)  # nor does the group of an earlier session come back meanwhile
    monkeypatch.setattr(cgroup, "parents", lambda _: cgroup.Parents(2, (Path("/nowhere"),), "cgroup v2"))
    with unscreened(policy=POLICY) as box:
        assert session_of(box).report[Wall.CGROUP].level is not Level.FULL
        assert of_the_worker(box, "status", "THP_enabled") == "0"


@pytest.mark.parametrize("number", [errno.EINVAL, LIES])
def test_a_kernel_that_leaves_them_on_is_not_said_to_have_none(number: int):
    said = in_child(walls.shared_limits, ("prctl", number, (0, _SET)))
    assert "huge pages as the kernel has them" in said


def test_they_can_be_had_again_before_the_filter_is_on():
    def body() -> object:
        seal.huge_pages(False)
        seal.huge_pages(True)
        return Path("/proc/self/status").read_text().partition("THP_enabled:")[2].split()[0]

    assert in_child(body) == "1"
