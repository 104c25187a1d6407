"""The groups of sessions: used again when they are empty and in order, removed otherwise."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure import Sandbox
from rlm_secure.environments.local import cgroup, pidfd, pool, zygote
from rlm_secure.errors import CellMemoryLimit
from rlm_secure.policy import Policy, load_policy

pytestmark = pytest.mark.root


@pytest.fixture(autouse=True)
def groups(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    if isinstance(reason := cgroup.parents(os.getpid()), str):
        pytest.skip(reason)  # a machine without cgroups; in CI that is a failure (tests/conftest.py)
    monkeypatch.setattr(zygote.Zygote, "while_idle", lambda _: None)  # no session joins one ahead, at some moment
    zygote.zygote(zygote.Plan()).retire()
    pool.drain()
    clear()
    yield
    clear()


def cold(name: str = "strict") -> Policy:
    """Without a pool, whose sessions would join groups at some moment."""
    policy = load_policy(name)
    return policy.model_copy(update={"isolation": policy.isolation.model_copy(update={"pool": 0})})


def clear() -> None:
    while cgroup._empty:
        cgroup._empty.pop().remove()


def group_of(box: Sandbox) -> cgroup.Group:
    group = box._repl.session._process.group  # type: ignore[attr-defined]
    assert group is not None
    return group


def members(group: cgroup.Group) -> set[int]:
    return {int(pid) for path in group._paths for pid in (path / "cgroup.procs").read_text().split()}


def test_an_empty_group_serves_the_next_session_with_its_own_limits() -> None:
    with Sandbox(policy=cold("research")) as box:
        first = group_of(box)
        limits = first.evidence
    assert first in cgroup._empty and members(first) == set()
    for other in set(cgroup._empty) - {first}:  # of what earlier tests had made ahead
        cgroup._empty.remove(other)
        other.remove()
    with Sandbox(policy=cold("strict")) as box:
        assert group_of(box) is first
        assert pidfd.pid_of(box._repl.session._process.pidfd) in members(first)  # type: ignore[attr-defined]
        assert first.evidence != limits
        memory = "memory.max" if first._version == 2 else "memory.limit_in_bytes"
        assert (first._paths[0] / memory).read_text().strip() in first.evidence.replace(",", "")


def test_not_more_than_a_few_are_kept_and_none_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    boxes = [Sandbox(policy=cold()) for _ in range(cgroup._EMPTY + 4)]
    made = [group_of(box) for box in boxes]
    for box in boxes:
        box.close()
    assert len(cgroup._empty) == cgroup._EMPTY
    assert sum(group._paths[0].exists() for group in made) == cgroup._EMPTY
    clear()
    monkeypatch.setattr(cgroup, "_USES", 1)
    with Sandbox(policy=cold()) as box:
        worn = group_of(box)
    assert worn not in cgroup._empty and not worn._paths[0].exists()


def test_a_group_with_somebody_in_it_is_not_given_to_another() -> None:
    group = cgroup.Group(cgroup.parents(os.getpid()))  # type: ignore[arg-type]
    child = os.fork()
    if child == 0:
        signal.pause()
    try:
        group.add(child)
        group.give_back()
        assert group not in cgroup._empty
    finally:
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        group.remove()


def test_a_group_in_which_memory_ran_out_is_not_used_again() -> None:
    with Sandbox(policy=cold()) as box:
        group = group_of(box)
        group.limit(cgroup.CgroupBounds(memory=24 << 20, processes=8, cpus=1.0))
        result = box.run("x = [bytearray(1 << 20) for _ in range(100)]")
        assert isinstance(result.error, CellMemoryLimit), result.error
        lost = group
    assert lost not in cgroup._empty


def test_a_group_that_somebody_removed_is_replaced() -> None:
    with Sandbox(policy=cold()) as box:
        kept = group_of(box)
    assert kept in cgroup._empty
    for group in cgroup._empty:
        for path in group._paths:
            path.rmdir()
    with Sandbox(policy=cold()) as box:
        assert box.run("print(1)").stdout == "1\n"
        assert group_of(box) is not kept


def test_a_child_of_the_host_leaves_its_parent_s_groups_alone() -> None:
    with Sandbox(policy=cold()) as box:
        kept = group_of(box)
    child = os.fork()
    if child == 0:
        cgroup._remove_all()
        os._exit(len(cgroup._empty))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(Path(path).exists() for path in kept._paths)


def test_the_group_that_was_made_to_see_whether_one_can_be_is_the_first_sessions() -> None:
    """Or has the process that is forked in advance, where that one came first."""
    code = (
        "import time\n"
        "from pathlib import Path\n"
        "from rlm_secure import Sandbox\n"
        "made, real = [], Path.mkdir\n"
        "def mkdir(self, *args, **kwargs):\n"
        "    made.append(self)\n"
        "    real(self, *args, **kwargs)\n"
        "Path.mkdir = mkdir\n"
        "with Sandbox() as box:\n"
        "    first = box._repl.session._process.group\n"
        "    until = time.monotonic() + 30\n"
        "    while not (members := (made[0] / 'cgroup.procs').read_text().split()) and time.monotonic() < until:\n"
        "        time.sleep(0.05)\n"
        "    assert members and first._paths[0] in made, (made, first._paths, members)\n"
        "    print(first._paths[0], first.evidence)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120)
    path, _, evidence = done.stdout.partition(" ")
    assert evidence, done.stderr
    assert str(load_policy("strict").limits.processes + 4) in evidence
    assert not Path(path).exists()


def test_a_join_is_expected_without_a_move() -> None:
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    try:
        before = Path(f"/proc/{child.pid}/cgroup").read_text()
        cgroup.expect_join(child.pid)
        assert Path(f"/proc/{child.pid}/cgroup").read_text() == before == Path("/proc/self/cgroup").read_text()
        cgroup.expect_join(0x7FFF_FFF0)  # nobody's
    finally:
        child.kill()
        child.communicate()
