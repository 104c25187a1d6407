"""The builder of arenas, step by step in a child: for root and for a user, on machines that lack something."""

from __future__ import annotations

import ctypes
import errno
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from rlm_secure.testing import arena
from rlm_secure.testing.arena import build
from rlm_secure.testing.arena.paths import PRIVATE, hidden
from tests.local.kernels import in_child, refuse

pytestmark = [pytest.mark.root, pytest.mark.timeout(300)]
NOBODY = 65_534
PR_SET_DUMPABLE = 4


def become_nobody() -> None:
    os.setgroups([])
    os.setresgid(NOBODY, NOBODY, NOBODY)
    os.setresuid(NOBODY, NOBODY, NOBODY)
    ctypes.CDLL(None).prctl(PR_SET_DUMPABLE, 1, 0, 0, 0)  # else its /proc files are root's


def job(**changes: Any) -> dict[str, Any]:
    """What the host tells a builder."""
    usual: dict[str, Any] = {
        "parent": os.getpid(), "command": ["sh", "-c", "echo ran by $(id -u) in $(pwd)"], "directory": "/nowhere",
        "environment": {"PATH": os.defpath}, "hidden": sorted(hidden() - {"/"}), "private": PRIVATE, "scratch_bytes": 1 << 20,
        "bound": [], "mark": arena.MARK, "about": {}, "network": False, "first_uid": 2_001_000_000, "uids": 65_536,
        "limits": {"RLIMIT_CORE": 1}, "kept": [],
    }  # fmt: skip
    return usual | changes


def built(told: dict[str, Any], *, nobody: bool = False, before: Callable[[], Any] = lambda: None) -> tuple[int, str, str]:
    """The exit status of a builder, what it says of the arena, and what its command prints."""
    given, giving = os.pipe()
    outcome, status = os.pipe()
    printed, out = os.pipe()
    pid = os.fork()
    if pid == 0:
        code = 99
        try:
            for fd in (giving, outcome, printed):
                os.close(fd)
            os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
            os.dup2(out, 1)
            os.close(out)
            if nobody:
                become_nobody()
            before()
            code = build.main(given)
        finally:
            os._exit(code)
    for fd in (given, status, out):
        os.close(fd)
    with os.fdopen(giving, "w") as file:
        json.dump({**told, "status": status}, file)
    with os.fdopen(outcome) as said, os.fdopen(printed) as lines:
        found = said.read(), lines.read()
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), *found


@pytest.mark.parametrize("nobody", [False, True])
def test_an_arena_stands_for_root_and_for_a_user(nobody: bool) -> None:
    user = NOBODY if nobody else 0
    places = [*PRIVATE, "/rlm-secure-nowhere"]
    assert built(job(private=places), nobody=nobody) == (0, "stands", f"ran by {user} in /\n")


def test_a_network_of_the_hosts_and_a_file_that_is_bound_where_none_is(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("as it was\n")
    bound = [{"source": str(tmp_path / "file"), "path": "/tmp/below/file", "writable": False}]
    told = job(bound=bound, network=True, directory="/tmp", command=["cat", "below/file"])
    assert built(told) == (0, "stands", "as it was\n")


@pytest.mark.parametrize("number", build._PASSED_ON)
@pytest.mark.parametrize("step", ["_unshare", "_mounts", "_become", "_shell_status"])
def test_a_signal_that_comes_while_it_is_built_ends_the_command(step: str, number: signal.Signals) -> None:
    """From who builds it, from the first process in it, from the command; and, of no effect, when that has ended."""
    if step == "_shell_status":
        assert built(job(command=["true"]), before=lambda: interrupted(step, number)) == (0, "stands", "")
    else:
        told = job(command=["sleep", "30"])
        assert built(told, before=lambda: interrupted(step, number)) == (128 + number, "stands", "")


def interrupted(step: str, number: signal.Signals) -> None:
    """Have the process that takes this step receive the signal before it does."""
    function = getattr(build, step)

    def interrupts(*arguments: Any) -> Any:
        os.kill(os.getpid(), number)
        return function(*arguments)

    setattr(build, step, interrupts)


@pytest.mark.parametrize("told", ["", '{"parent": 1, '])
def test_nothing_is_built_and_nothing_said_of_half_a_job(told: str) -> None:
    done = subprocess.run([sys.executable, "-I", "-S", "-B", build.__file__, "0"], input=told, capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (build.REFUSED, "", "")
    reader, writer = os.pipe()
    os.write(writer, told.encode())
    os.close(writer)
    assert in_child(lambda: build.main(reader)) == str(build.REFUSED)
    os.close(reader)


def test_nothing_is_built_for_who_is_gone() -> None:
    assert built(job(parent=1)) == (build.REFUSED, "", "")


def test_users_that_cannot_be_mapped_are_refused() -> None:
    status, said, printed = built(job(first_uid=(1 << 32) - 9))
    assert (status, printed) == (build.REFUSED, "")
    assert said == "its users cannot be mapped to ones without rights on this machine"


def test_a_command_that_is_not_there_is_its_own_failure() -> None:
    assert built(job(command=["/nowhere/program"])) == (127, "stands", "")


def test_who_is_left_alone_while_it_builds_starts_nothing() -> None:
    reader, writer = os.pipe()
    os.close(writer)  # as who left it alone did, by ending

    def body() -> int:
        build._unshare(build._CLONE_NEWNS | build._CLONE_NEWPID, "namespaces")
        pid = os.fork()
        if pid == 0:
            build._init({**job(), "status": 1}, 0, reader)
        return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])

    assert in_child(body) == str(build.REFUSED)
    os.close(reader)


def test_a_kernel_without_time_namespaces_has_arenas() -> None:
    def body() -> None:
        become_nobody()
        refuse(("newfstatat", errno.ENOENT, (3, 0)))
        build._leave_privileges(job(network=True), NOBODY)

    assert in_child(body) == "None"


def test_what_goes_while_it_is_covered_needs_no_cover_and_what_stays_does(tmp_path: Path) -> None:
    mount = build._mount

    def goes(source: str | None, target: str, *rest: Any) -> None:
        os.unlink(target)
        mount(source, target, *rest)

    def body() -> object:
        build._mount = goes  # a moment in which somebody else removes it
        return build._cover(str(tmp_path / "file"))

    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to("file")
    assert build._cover(str(tmp_path / "nowhere")) is None
    assert build._cover(str(tmp_path / "link")) is None
    assert in_child(lambda: build._cover(str(tmp_path / "file")), ("mount", errno.EPERM)).startswith("BuildRefused('mounting /dev/null on ")
    assert in_child(body) == "None"


def test_a_closed_descriptor_is_no_directory() -> None:
    assert in_child(lambda: (os.close(0), build._is_directory(0))[1]) == "False"


def test_signals_go_on_to_who_runs_the_command() -> None:
    def body() -> object:
        pid = os.fork()
        if pid == 0:
            signal.pause()
        build._pass_signals_to(pid)
        os.kill(os.getpid(), signal.SIGTERM)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        os.kill(os.getpid(), signal.SIGTERM)  # to nobody
        return status

    assert in_child(body) == str(-signal.SIGTERM)
