"""The processes that copies of a session share, and the listener that tells apart which of them calls."""

from __future__ import annotations

import errno
import os
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rlm_secure import Sandbox, SessionEnded
from rlm_secure.environments.local import listener as listening
from rlm_secure.environments.local import pidfd
from rlm_secure.environments.local.listener import Listener
from rlm_secure.environments.local.process_tree import ProcessTree
from tests.local.conftest import strict
from tests.local.test_checkpoints import session_of


class Kernel:
    """Calls that wait, as the kernel tells them: ioctl(2) on the end of a pipe with a byte for each."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.fd, self._bell = os.pipe()
        self._asked: list[tuple[int, int]] = []
        self.waiting: set[int] = set()
        self.answered: list[int] = []
        self.fails: dict[int, int] = {}
        monkeypatch.setattr(listening.fcntl, "ioctl", self.ioctl)

    def call(self, number: int, pid: int, *, withdrawn: bool = False) -> None:
        self._asked.append((number, pid))
        if not withdrawn:
            self.waiting.add(number)
        os.write(self._bell, b".")

    def ioctl(self, _fd: int, request: int, message: bytearray) -> None:
        if request in self.fails:
            raise OSError(self.fails[request], "it fails")
        if request == listening._RECEIVE:
            os.read(self.fd, 1)
            number, pid = self._asked.pop(0)
            struct.pack_into("=QII", message, 0, number, pid, 0)
        else:
            number = struct.unpack_from("=Q", message)[0]
        if number not in self.waiting:
            raise OSError(errno.ENOENT, "it was withdrawn")
        if request == listening._SEND:
            self.answered.append(number)
            self.waiting.discard(number)

    def close(self) -> None:
        os.close(self._bell)


@pytest.fixture
def kernel(monkeypatch: pytest.MonkeyPatch) -> Iterator[Kernel]:
    made = Kernel(monkeypatch)
    yield made
    made.close()


@pytest.fixture
def listener(kernel: Kernel) -> Iterator[Listener]:
    made = Listener(kernel.fd)
    yield made
    made.close()
    made.close()
    assert made.fileno() == -1


def test_each_finds_its_own_call_whoever_receives_it(kernel: Kernel, listener: Listener):
    assert not listener.asked_by([1, 2, None])
    kernel.call(7, 1)
    kernel.call(8, 2)
    assert listener.asked_by([1]) and listener.asked_by([3, 2]) and not listener.asked_by([3])
    assert listener.consent(2, {1}) and kernel.answered == [8]
    assert not listener.consent(2, {1})
    assert listener.asked_by([1]) and not listener.asked_by([2])


def test_a_call_of_nobody_s_is_not_answered(kernel: Kernel, listener: Listener):
    kernel.call(7, 1)
    kernel.call(8, 2)
    with pytest.raises(PermissionError, match="was not asked"):
        listener.consent(1)
    assert kernel.answered == []


def test_a_call_that_was_withdrawn_is_none(kernel: Kernel, listener: Listener):
    kernel.call(7, 1, withdrawn=True)
    assert not listener.asked_by([1])
    kernel.call(8, 1)
    assert listener.asked_by([1])
    kernel.waiting.clear()
    assert not listener.asked_by([1]) and not listener.consent(1)
    kernel.call(9, 1)
    kernel.fails[listening._SEND] = errno.EINTR
    assert not listener.consent(1)


def test_what_else_the_kernel_says_is_an_error(kernel: Kernel, listener: Listener):
    kernel.call(7, 1)
    kernel.fails[listening._SEND] = errno.EBADF
    with pytest.raises(OSError, match="it fails"):
        listener.consent(1)


@pytest.fixture
def tree() -> Iterator[ProcessTree]:
    with Sandbox(policy=strict()) as box, box.fork():
        made = session_of(box)._tree
        assert made is not None
        yield made


def test_who_is_unknown_is_found(tree: ProcessTree):
    parents = {pidfd.parent_of(each.pidfd) for each in tree._workers}
    worker = next(each for each in tree._workers if each.host_pid not in parents)
    assert tree.strangers() == set() and not tree.newcomer_of(tree.root, worker)
    tree._workers.discard(worker)
    parent = next(each for each in tree._workers if each.host_pid == pidfd.parent_of(worker.pidfd))
    assert tree.strangers() == {worker.host_pid} and tree.newcomer_of(parent, None)
    tree._workers.add(worker)


def test_a_known_process_that_ends_meanwhile_has_it_looked_again(tree: ProcessTree, monkeypatch: pytest.MonkeyPatch):
    look, seen = pidfd.descendants, []

    def descendants(pid: int) -> set[int]:
        seen.append(pid)
        if len(seen) == 1:
            next(each for each in tree._workers if each not in tree._holders and each is not tree.root).kill()
        return look(pid)

    monkeypatch.setattr(pidfd, "descendants", descendants)
    assert tree.strangers() == set()
    assert len(seen) == 2


@pytest.mark.parametrize(("number", "found"), [(errno.EACCES, {0}), (errno.EMFILE, None), (errno.ENFILE, None)])
def test_what_cannot_be_looked_at_is_a_stranger_unless_the_host_is_short(
    tree: ProcessTree, number: int, found: set[int] | None, monkeypatch: pytest.MonkeyPatch
):
    def descendants(_pid: int) -> Any:
        raise OSError(number, "it cannot be read")

    monkeypatch.setattr(pidfd, "descendants", descendants)
    if found is None:
        with pytest.raises(OSError, match="cannot be read"):
            tree.strangers()
    else:
        assert tree.strangers() == found


def test_nobody_is_left_where_init_has_ended():
    with Sandbox(policy=strict()) as box, box.fork() as copy:
        tree = session_of(box)._tree
        assert tree is not None
        tree.root.kill()
        tree.process.zygote.status(tree.process.pid)  # reaped, so that it has no pid
        assert tree.strangers() == set() and not tree.newcomer_of(tree.root, None)
        for each in (box, copy):
            error = each.run("1").error
            assert error is not None and error.session_ended


def test_nobody_is_killed_who_is_not_the_user_s(tree: ProcessTree):
    worker = next(each for each in tree._workers if each is not tree.root)
    tree._workers.discard(worker)
    for each in (worker, tree.root):
        tree.kill_for(each)
        assert not pidfd.ended(each.pidfd, 0.05)
    tree._workers.add(worker)


def test_who_is_gone_has_no_place(tree: ProcessTree):
    worker = next(each for each in tree._workers if each not in tree._holders and each is not tree.root)
    worker.kill()
    with pytest.raises(ProcessLookupError, match="is gone"):
        tree.move(worker, None)


def test_an_ended_tree_has_no_new_user():
    box = Sandbox(policy=strict())
    tree = session_of(box)._tree
    assert tree is not None
    box.close()
    with pytest.raises(SessionEnded):
        tree.join(None)
    assert not Path(f"/proc/{tree.root.host_pid}").exists()
