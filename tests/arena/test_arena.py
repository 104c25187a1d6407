"""What an arena keeps in, tried from within: as root and as nobody, by one probe each."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from rlm_secure.environments.local import cgroup
from rlm_secure.testing.arena import Arena
from rlm_secure.testing.arena.paths import needed
from tests.arena import scene

NOBODY = 65534
#: Whoever runs this, and nobody.
WHO = [pytest.param(False, id="us"), pytest.param(True, id="nobody", marks=pytest.mark.root)]


@pytest.fixture(scope="module", params=WHO)
def tried(request: pytest.FixtureRequest) -> Iterator[tuple[dict, dict]]:
    """What stands outside, and what the probe found."""
    nobody = request.param
    reader, writer = os.pipe()  # something else that the caller has open
    os.set_inheritable(writer, True)
    with scene.outside() as given:
        answer = subprocess.run(
            scene.cli("--", *scene.probe(given), nobody=nobody),
            cwd=scene.ROOT,
            env=os.environ | scene.SECRET,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            pass_fds=(writer,),
            preexec_fn=scene.hold_a_key,
            timeout=60,
        )
        assert answer.returncode == 0, answer.stderr
        facts = json.loads(answer.stdout.splitlines()[-1])
        assert facts["uid"] == (NOBODY if nobody else os.getuid())
        yield given, facts
        left = [
            path
            for place in ("/", "/etc", "/usr", "/var", "/tmp", "/var/tmp", "/dev/shm", given["open"])
            for path in Path(place).glob(given["name"])
        ]
        assert left == []
        assert (Path(given["open"]) / "file").read_text() == "as it was"
    os.close(reader)
    os.close(writer)


def test_every_namespace_is_its_own(tried):
    _, facts = tried
    for name, number in facts["namespaces"].items():
        assert number != os.stat(f"/proc/self/ns/{name}").st_ino, name
    assert {"user", "mnt", "pid", "net", "ipc", "uts", "cgroup"} <= set(facts["namespaces"])
    assert facts["owner"] == facts["parent"] == "EPERM"
    assert os.uname().nodename != facts["host"] == "arena"
    assert os.uname().nodename != "won"


def test_only_its_own_processes_are_there(tried):
    _, facts = tried
    assert len(facts["processes"]) < 20 and facts["pid"] in facts["processes"]
    assert facts["sid"]
    assert facts["signal"] == "ESRCH"


def test_pid_1_can_be_neither_traced_nor_read(tried):
    _, facts = tried
    assert facts["trace"] == "EPERM"
    assert set(facts["init"].values()) <= {"EACCES", "EPERM"}
    assert "1" not in facts["environments"]


def test_homes_keys_and_sockets_are_hidden(tried):
    given, facts = tried

    def shown(path):
        return {each.removeprefix(f"{path}/").split("/")[0] for each in needed() if each.startswith(f"{path}/")}

    for path, names in facts["listings"].items():
        assert set(names) <= shown(path) | ({"rlm-secure-arena"} if path == "/run" else set()), path
    assert facts["shadow"] in (0, "ENOENT")
    assert facts["home"] == "ENOENT" or set(facts["home"]) <= shown("/root") | shown(Path.home())
    assert facts["socket"] in ("ECONNREFUSED", "ENOENT")


def test_nothing_of_the_host_can_be_written(tried):
    given, facts = tried
    # Where the checkout lies in /tmp, the directory that holds what is shown of it is the arena's own.
    outside = {path: what for path, what in facts["written"].items() if not path.startswith(("/tmp/", "/var/tmp/"))}
    assert set(outside.values()) <= {"EROFS", "EACCES", "ENOENT"}
    assert facts["written"][given["open"]] in ("EROFS", "ENOENT")
    assert facts["changed"] in ("EROFS", "ENOENT")
    assert facts["private"] == ["written"] * 3


def test_no_cover_comes_off(tried):
    _, facts = tried
    assert facts["uncovered"] == []
    assert facts["nested"] == []
    # What is mounted last on a path is what is seen there.
    seen = {path: options.split(",") for path, _, options in facts["mounts"]}
    writable = {path for path, options in seen.items() if "rw" in options}
    devices = {f"/dev/{name}" for name in ("null", "zero", "full", "random", "urandom", "tty")}
    covered = {path for path in writable if path.startswith("/etc/") or path.endswith("/socket")}  # by the null device
    assert writable - devices - covered == {"/tmp", "/var/tmp", "/dev/shm", "/proc"}
    assert all("nosuid" in options for path, options in seen.items() if path not in devices | covered)


def test_no_device_of_the_host_is_there(tried):
    _, facts = tried
    ours = {"null", "zero", "full", "random", "urandom", "tty", "fd", "stdin", "stdout", "stderr", "shm"}
    assert set(facts["devices"]) <= ours
    assert facts["device"] == "EPERM"
    assert facts["suid"]


def test_the_kernel_cannot_be_told_anything(tried):
    _, facts = tried
    for path, found in facts["kernel"].items():
        assert found in ("EACCES", "EROFS", "ENOENT", "EPERM"), path
    assert facts["time"] == facts["reboot"] == "EPERM"
    assert facts["module"] in ("EPERM", "ENOSYS")
    assert facts["name"] == ("EPERM" if facts["uid"] else None)


def test_nobody_outside_is_reached(tried):
    _, facts = tried
    assert facts["abstract"] == facts["port"] == "ECONNREFUSED"
    assert facts["loopback"] == "connected"
    assert facts["memory"] == "ENOENT"


def test_the_callers_keyring_stays_outside(tried):
    _, facts = tried
    assert facts["key"] in ("ENOKEY", "ENOSYS", "EPERM")


def test_no_descriptor_and_no_variable_comes_along(tried):
    _, facts = tried
    assert facts["descriptors"] == [0, 1, 2]
    assert not any(facts["environments"].values())
    assert not set(scene.SECRET) & set(facts["environment"])
    assert facts["environment"]["HOME"] == "/tmp"


def test_a_crash_tells_no_helper_of_the_host(tried):
    _, facts = tried
    limits = {line[:26].strip(): line[26:].split()[:2] for line in facts["limits"].splitlines()}
    assert limits["Max core file size"] == ["1", "1"]  # core(5): a core limit of 0 does not stop a pipe
    assert limits["Max processes"] == ["4096", "4096"]
    assert limits["Max file size"][0] != "unlimited"


@pytest.mark.parametrize("nobody", WHO)
def test_a_fork_bomb_is_bounded(nobody: bool):
    answer = subprocess.run(
        scene.cli("--", *scene.probe({"bomb": 6000}), nobody=nobody),
        cwd=scene.ROOT, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=150,
    )  # fmt: skip
    assert 1 <= int(answer.stdout) <= 4096


@pytest.mark.root
def test_a_cgroup_bounds_the_whole_and_goes_with_it():
    if isinstance(reason := cgroup.parents(os.getpid()), str):
        pytest.skip(reason)  # a machine without cgroups; in CI that is a failure (tests/conftest.py)
    before = scene.groups(os.getpid())  # one is kept for a session
    with Arena().start(["sleep", "60"]) as running:
        found = [each for each in scene.groups(os.getpid()) if each not in before]
        assert found and "a cgroup" not in str(running.about)
        members = {pid for path in found for pid in (path / "cgroup.procs").read_text().split()}
        assert str(running.process.pid) in members and len(members) >= 3
        bounds = {file.name: file.read_text().strip() for path in found for file in path.glob("*max") if file.is_file()}
        assert bounds["pids.max"] == "4096"
        memory = [int(file.read_text()) for path in found for file in path.glob("memory.limit_in_bytes")]
        assert all(each < 1 << 45 for each in memory)
    assert scene.groups(os.getpid()) == before


def test_without_a_cgroup_it_says_so(monkeypatch):
    monkeypatch.setattr(cgroup, "parents", lambda _: "none here")
    with Arena().start(["true"]) as running:
        assert str(running.about).startswith("nothing of the host is shared with it; without a cgroup (none here)")
        assert running.wait() == 0


def test_no_key_is_pressed_on_the_terminal():
    command = [sys.executable, "-m", "rlm_secure", "arena", "--", *scene.probe({"terminal": True})]
    pid, terminal = pty.fork()
    if pid == 0:
        os.execv(command[0], command)
    told = b""
    try:
        while chunk := os.read(terminal, 4096):
            told += chunk
    except OSError:
        pass  # the end of a terminal
    os.close(terminal)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
    assert json.loads(told.splitlines()[-1]) in ("EPERM", "EIO")


#: The calls on keys, and the first again as the 32-bit interface of x86_64 numbers it.
KEYS = """
import ctypes, errno, os
libc = ctypes.CDLL(None, use_errno=True)
first = {"x86_64": 248, "aarch64": 217}[os.uname().machine]
def call(number):
    found = libc.syscall(ctypes.c_long(number), 0, -4, 0, 0, 0)
    return errno.errorcode.get(ctypes.get_errno(), "EOK") if found < 0 else "done"
print([call(first + each) for each in range(-1, 4)], call(first | 0x40000000))
"""


@pytest.mark.parametrize("nobody", [pytest.param(True, marks=pytest.mark.root)] if os.getuid() == 0 else [False])
def test_who_is_not_root_has_no_keys_there(nobody):
    """They are the user's in every namespace: those of the machine itself would be read and written."""
    python = "python" if nobody else sys.executable
    command = scene.cli("--", python, "-c", KEYS, nobody=nobody)
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=scene.ROOT).stdout
    before, *keys, after = said.partition("]")[0].strip("[").replace("'", "").split(", ")
    assert keys == ["ENOSYS"] * 3 and said.split()[-1] == "ENOSYS"
    assert before != "ENOSYS" or after != "ENOSYS", "other calls are not barred"
