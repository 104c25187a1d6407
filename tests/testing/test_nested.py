"""Below the judge: what is started there has every right over its own namespaces, and none over who judges."""

from __future__ import annotations

import codecs
import ctypes
import errno
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from rlm_secure.testing import nested
from tests.arena import scene
from tests.local.kernels import in_child

pytestmark = pytest.mark.timeout(300)

#: Stands above, and prints what is so for itself and for a process below.
STANDS = """
import json, os, socket, subprocess, sys
from rlm_secure.testing import arena, nested
KINDS = ("user", "mnt", "ipc", "uts", "cgroup", "net", "pid")
LOOK = '''
import json, os, socket, sys
served = socket.create_server(("127.0.0.1", 0))
socket.create_connection(served.getsockname()).close()
lines = dict(line.split(":", 1) for line in open("/proc/self/status"))
print(json.dumps({
    "namespaces": {kind: os.readlink(f"/proc/self/ns/{kind}") for kind in %r},
    "users": [open(f"/proc/self/{name}_map").read().split() for name in ("uid", "gid")],
    "capable": int(lines["CapEff"], 16) != 0,
    "directory": os.getcwd(),
    "descriptors": sorted(set(os.listdir("/proc/self/fd")) - {"0", "1", "2"}),
}))
''' % (KINDS,)
def looked(command, descriptors=()):
    return json.loads(subprocess.run(command, pass_fds=descriptors, stdout=subprocess.PIPE, check=True).stdout)
look = [sys.executable, "-c", LOOK]
before = looked(look)
assert nested.below(["true"]) == (["true"], ())
arena.stand_above()
print(json.dumps([before, looked(look), looked(*nested.below(look))]))
"""
REFUSED = """
from rlm_secure.testing import arena
with open("/proc/sys/user/max_user_namespaces", "w") as file:
    file.write("0")
try:
    arena.stand_above()
except arena.ArenaRefused as error:
    print(error)
"""


def said(program: str, *options: str, nobody: bool = False) -> str:
    """What `program` prints in an arena."""
    python = "python" if nobody else sys.executable
    command = scene.cli("--share", str(scene.ROOT), *options, "--", python, "-c", program, nobody=nobody)
    done = subprocess.run(command, capture_output=True, text=True, timeout=150, check=False, cwd=scene.ROOT)
    assert done.returncode == 0, done.stderr
    return done.stdout


def stood(*options: str, nobody: bool = False) -> list[dict]:
    """This process before and after it stood above, and one below."""
    return json.loads(said(STANDS, *options, nobody=nobody))


def differ(one: dict, other: dict) -> set[str]:
    """The kinds of namespace that two processes do not share."""
    return {kind for kind, name in one["namespaces"].items() if other["namespaces"][kind] != name}


@pytest.mark.root
def test_root_below_is_root_over_its_own_namespaces() -> None:
    before, judge, attacker = stood()
    assert differ(judge, attacker) == {"user", "mnt", "ipc", "uts", "cgroup"}
    assert differ(before, judge) == {"net"}  # what listens for attacks listens where they are
    assert attacker["capable"]
    assert attacker["directory"] == judge["directory"] == str(scene.ROOT)
    assert all(mapped[:2] == ["0", str(nested.ROOT)] for mapped in attacker["users"])  # signals nobody of the judge's
    assert len(attacker["descriptors"]) == len(judge["descriptors"])  # none of the namespaces'


@pytest.mark.root
def test_a_network_of_the_hosts_stays_the_hosts() -> None:
    before, judge, attacker = stood("--share-network")
    assert "net" not in differ(before, judge) | differ(judge, attacker)


@pytest.mark.parametrize("nobody", [pytest.param(True, marks=pytest.mark.root)] if os.getuid() == 0 else [False])
def test_who_is_not_root_has_a_user_namespace_alone(nobody: bool) -> None:
    before, judge, attacker = stood(nobody=nobody)
    assert differ(before, judge) == set() and differ(judge, attacker) == {"user"}
    assert not attacker["capable"] and all(len(mapped) == 3 for mapped in attacker["users"])


@pytest.mark.root
def test_where_there_is_no_such_namespace_nothing_is_judged() -> None:
    assert said(REFUSED).startswith("nothing was attacked: nothing parts the judge from what it judges: ")


@pytest.mark.root
def test_mounts_of_its_own_are_seen_by_nobody_else() -> None:
    seen = said(
        "import os, subprocess\n"
        "from rlm_secure.testing import nested\n"
        "before = open('/proc/self/mountinfo').read()\n"
        "pid = os.fork()\n"
        "if pid == 0:\n"
        "    nested.own_mounts()\n"
        "    subprocess.run(['mount', '-t', 'tmpfs', 'tmpfs', '/tmp'], check=True)\n"
        "    os._exit('tmpfs /tmp' not in open('/proc/mounts').read())\n"
        "print(os.waitpid(pid, 0)[1], open('/proc/self/mountinfo').read() == before)\n"
    )
    assert seen == "0 True\n"


def test_without_the_right_to_mount_it_is_said() -> None:
    code = "from rlm_secure.testing import nested\ntry:\n    nested.own_mounts()\nexcept PermissionError as error:\n    print(error)"
    command = [sys.executable, "-c", code]
    if os.getuid() == 0:
        command = ["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-all", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=scene.ROOT)
    assert "Operation not permitted" in done.stdout


def test_nothing_is_entered_outside_an_arena() -> None:
    from rlm_secure.testing import arena

    arena.stand_above()
    assert nested.below(["true"]) == (["true"], ())


@pytest.mark.root
def test_the_user_namespace_is_entered_before_the_mounts() -> None:
    """Else a process with the judge's rights stands among mounts that an attacker arranged, for a moment."""
    program = (
        "import os\n"
        "from rlm_secure.testing import arena, nested\n"
        "arena.stand_above()\n"
        "print([os.readlink(f'/proc/self/fd/{each}').partition(':')[0] for each in nested.below([])[1]])\n"
    )
    assert said(program) == "['user', 'mnt', 'ipc', 'uts', 'cgroup']\n"


NOBODY = 65_534


def enters(*, root: bool, network: bool) -> str:
    """What a program finds that was started below a child of ours, root or not."""

    def body() -> None:
        if not root:
            os.setgroups([])
            os.setresgid(NOBODY, NOBODY, NOBODY)
            os.setresuid(NOBODY, NOBODY, NOBODY)
            ctypes.CDLL(None).prctl(4, 1, 0, 0, 0)  # PR_SET_DUMPABLE: whose /proc files are its own
        assert nested.below(["true"]) == (["true"], ())
        nested.planted("/nowhere")  # nobody is below yet
        nested.stand_above(network=network)
        command, descriptors = nested.below(["/bin/sh", "-c", "echo $(id -u) $(cat /proc/self/uid_map | head -n 1)"])
        if root:
            os.write(out[1], subprocess.run(command, pass_fds=descriptors, stdout=subprocess.PIPE, check=True).stdout)
            return
        os.dup2(out[1], 1)
        sys.argv = command[command.index(nested.__file__) :]  # as the program: it may not read our Python's files
        nested.main()

    out = os.pipe()
    codecs.lookup("ascii")  # now: a user may not be able to read where Python lies
    in_child(body)
    os.close(out[1])
    with os.fdopen(out[0]) as pipe:
        return pipe.read()


@pytest.mark.root
@pytest.mark.parametrize("network", [True, False])
def test_what_is_started_below_root_is_root_of_its_own(network: bool) -> None:
    assert enters(root=True, network=network) == f"0 0 {nested.ROOT} 1\n"


@pytest.mark.root
def test_what_is_started_below_a_user_is_that_user() -> None:
    assert enters(root=False, network=False) == f"{NOBODY} {NOBODY} {NOBODY} 1\n"


@pytest.mark.root
def test_what_is_planted_below_root_is_its_own(tmp_path: Path) -> None:
    def body() -> int:
        nested.stand_above(network=True)
        nested.planted(str(tmp_path / "file"))
        return (tmp_path / "file").stat().st_uid

    (tmp_path / "file").touch()
    assert in_child(body) == str(nested.ROOT)


def test_a_machine_that_gives_no_such_namespace_says_so() -> None:
    said = in_child(lambda: nested.stand_above(network=True), ("unshare", errno.EPERM))
    assert said == "?"  # an error of ours, without a number


def test_orphans_are_adopted_and_mounts_its_own() -> None:
    def body() -> object:
        nested.adopt_orphans()
        if os.getuid() == 0:
            nested.own_mounts()
        reader, writer = os.pipe()
        if os.fork() == 0:
            if os.fork() == 0:
                os.read(reader, 1)
            os._exit(0)
        os.wait()
        os.write(writer, b".")
        return os.waitstatus_to_exitcode(os.wait()[1])

    assert in_child(body) == "0"
    assert in_child(nested.adopt_orphans, ("prctl", errno.EINVAL, (0, 36))) == "EINVAL"
