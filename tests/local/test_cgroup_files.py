"""Groups of version 2, whose files are ordinary ones here, and machines that give none."""

from __future__ import annotations

import dataclasses
import errno
import os
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure.environments.local import cgroup
from rlm_secure.environments.local.cgroup import CgroupBounds, Group, Parents
from rlm_secure.guest.kernel import seal
from tests.local.kernels import in_child

BOUNDS = CgroupBounds(memory=1 << 30, processes=8, cpus=1.5)


@pytest.fixture
def delegated(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A directory that looks as one that was delegated, which answers as the kernel does."""
    control = tmp_path / "cgroup.subtree_control"
    os.mkfifo(control)

    def kernel() -> None:
        while control.read_text() != "end":
            control.write_text("cpu memory pids\n")

    monkeypatch.setenv("RLM_SECURE_CGROUP", str(tmp_path))
    monkeypatch.setattr(cgroup, "_live", set())
    monkeypatch.setattr(cgroup, "_empty", [])
    thread = threading.Thread(target=kernel, daemon=True)
    thread.start()
    yield tmp_path
    control.write_text("end")
    thread.join(10)


def found() -> Parents | str:
    return cgroup.parents.__wrapped__(0)


def test_a_delegated_directory_is_taken_and_swept(delegated: Path) -> None:
    dead = os.fork()
    if dead == 0:
        os._exit(0)
    os.waitpid(dead, 0)
    names = (f"rlm_secure-{dead}-0", f"rlm_secure-{dead}-1", f"rlm_secure-{os.getpid()}-999999", "another")
    for name in names:
        (delegated / name).mkdir()
    (delegated / names[1] / "busy").touch()
    taken = found()
    assert isinstance(taken, Parents) and (taken.version, taken.directories) == (2, (delegated,))
    assert [(delegated / name).exists() for name in names] == [False, True, True, True]


def test_a_group_is_bounded_as_far_as_its_controllers_go(delegated: Path) -> None:
    group = Group(Parents(2, (delegated,), "cgroup v2"))
    (path,) = group._paths
    (path / "cpu.max").touch()
    assert not group.bounded
    group.limit(BOUNDS)
    assert group.bounded
    written = {file.name: file.read_text() for file in path.iterdir()}
    assert written == {"memory.max": str(1 << 30), "pids.max": "8", "cpu.max": "150000 100000"}
    (path / "pids.max").unlink()
    group.limit(BOUNDS)
    assert not (path / "pids.max").exists(), "it is bounded so already"
    group.add(77)
    assert (path / "cgroup.procs").read_text() == "77"
    group.kill()
    assert (path / "cgroup.kill").read_text() == "1"
    assert group.evidence == "cgroup v2: 1,073,741,824 bytes, 8 processes, 1.5 CPUs"
    (path / "pids.max").mkdir()
    with pytest.raises(IsADirectoryError):
        group.limit(dataclasses.replace(BOUNDS, processes=9))
    assert not group.bounded  # some of them are the ones before
    (path / "pids.max").rmdir()
    assert group.remove() is False and group in cgroup._live  # it is tried again at the end
    for file in path.iterdir():
        file.unlink()
    cgroup._remove_all()
    assert not path.exists() and not cgroup._live
    group.kill()  # nobody is there


def test_what_a_group_counts_is_read_where_the_kernel_counts_it(delegated: Path) -> None:
    group = Group(Parents(2, (delegated,), "cgroup v2"))
    (path,) = group._paths
    assert (group.cpu_seconds(), group.out_of_memory()) == (None, False)
    (path / "cpu.stat").write_text("nr_periods 1\n")
    (path / "memory.events").write_text("oom 1\n")
    assert (group.cpu_seconds(), group.out_of_memory()) == (None, False)
    (path / "cpu.stat").write_text("nr_periods 1\nusage_usec 2500000\n")
    (path / "memory.events").write_text("oom 1\noom_kill 1\n")
    assert (group.cpu_seconds(), group.out_of_memory()) == (2.5, True)


@pytest.mark.parametrize(("listed", "killed", "kept"), [("", 0, True), ("77\n", 0, False), ("", 1, False), (None, 0, False)])
def test_a_group_is_given_to_another_session_only_where_it_is_clean(
    delegated: Path, listed: str | None, killed: int, kept: bool
) -> None:
    group = Group(Parents(2, (delegated,), "cgroup v2"))
    (path,) = group._paths
    (path / "memory.events").write_text(f"oom_kill {killed}\n")
    if listed is not None:
        (path / "cgroup.procs").write_text(listed)
    group.give_back()
    assert (group in cgroup._empty) is kept


def test_a_group_is_used_again_once_its_last_process_counts_no_more(delegated: Path) -> None:
    groups = [Group(Parents(2, (delegated,), "cgroup v2")) for _ in range(3)]
    for group, counted in zip(groups, ("1\n", "0\n", "1\n"), strict=True):
        (group._paths[0] / "cgroup.procs").write_text("")
        (group._paths[0] / "pids.current").write_text(counted)
        group.give_back()
    assert (cgroup._unused(), cgroup._unused()) == (groups[1], None)
    assert cgroup._empty == [groups[2], groups[0]] or cgroup._empty == [groups[0], groups[2]]
    (groups[2]._paths[0] / "pids.current").write_text("0\n")
    assert cgroup._unused() is groups[2]
    (groups[0]._paths[0] / "pids.current").unlink()  # somebody removed it: whoever joins it is told
    assert (cgroup._unused(), cgroup._unused()) == (groups[0], None)


def test_a_process_that_is_gone_joins_no_group(delegated: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    process = os.fork()
    if process == 0:
        os._exit(0)
    number = os.pidfd_open(process)
    os.waitpid(process, 0)
    monkeypatch.setattr(cgroup, "parents", lambda _: Parents(2, (delegated,), "cgroup v2"))
    before = set(delegated.iterdir())
    assert cgroup.join(number) == "the process is gone, or hidden from /proc"
    assert set(delegated.iterdir()) == before
    os.close(number)
    monkeypatch.setattr(cgroup, "parents", lambda _: Parents(2, (delegated / "nowhere",), "cgroup v2"))
    assert "No such file" in str(cgroup.join(0))
    monkeypatch.setattr(cgroup, "parents", lambda _: "no groups here")
    assert cgroup.join(0) == "no groups here"


def test_no_join_is_expected_where_groups_are_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told = tmp_path / "cgroup.procs"
    for found in ("no groups here", Parents(2, (tmp_path,), ""), Parents(1, (tmp_path / "nowhere",), "")):
        monkeypatch.setattr(cgroup, "parents", lambda _, found=found: found)
        cgroup.expect_join(1)
        assert not told.exists()
    monkeypatch.setattr(cgroup, "parents", lambda _: Parents(1, (tmp_path,), ""))
    cgroup.expect_join(1)
    assert told.read_text() == "1"


def test_machines_without_groups_say_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RLM_SECURE_CGROUP", str(tmp_path))
    (tmp_path / "cgroup.subtree_control").mkdir()
    assert str(cgroup._version_2()).startswith("version 2: [Errno 21] Is a directory")
    (tmp_path / "cgroup.subtree_control").rmdir()
    (tmp_path / "cgroup.subtree_control").write_text("")
    assert "does not delegate memory and pids" in str(cgroup._version_2())
    monkeypatch.delenv("RLM_SECURE_CGROUP")
    assert "names no delegated directory" in str(cgroup._version_2())


@pytest.mark.root
def test_groups_of_version_1_are_for_root_where_they_are_mounted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RLM_SECURE_CGROUP", raising=False)

    def unmounted() -> object:
        seal.unshare(seal.CLONE_NEWNS)
        subprocess.run(["mount", "--make-rprivate", "/"], check=True)
        subprocess.run(["mount", "-t", "tmpfs", "none", "/sys/fs/cgroup"], check=True)
        return found()

    def nobody() -> object:
        os.setresuid(65534, 65534, 65534)
        return found()

    assert "[Errno 30]" in in_child(found, ("mkdir", errno.EROFS), ("mkdirat", errno.EROFS))
    assert "version 1: no memory hierarchy at /sys/fs/cgroup/memory" in in_child(unmounted)
    assert in_child(nobody).endswith("version 1: needs root")


def test_a_machine_that_does_not_say_in_which_groups_a_process_is_has_none(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(_path: Path) -> str:
        raise FileNotFoundError(errno.ENOENT, "no /proc")

    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setattr(Path, "read_text", absent)
    assert cgroup._version_1() == "version 1: [Errno 2] no /proc"
