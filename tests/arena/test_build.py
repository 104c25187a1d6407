"""Where an arena cannot be built nothing is started, and whoever is killed leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from rlm_secure.environments.local import cgroup
from rlm_secure.testing import arena
from rlm_secure.testing.arena import Arena, ArenaRefused, build
from tests.arena import scene

#: Calls that the kernel, or a filter around us, may refuse; and what is said then. Some only root needs.
REFUSED = [
    ("unshare", "EPERM", "this machine gives it no .*: Operation not permitted"),
    ("mount", "EPERM", "mounting nothing on /: Operation not permitted"),
    ("mount_setattr", "ENOSYS", r"restricting / \(mount_setattr, Linux 5.12\): Function not implemented"),
    ("pivot_root", "EPERM", "a root of its own: Operation not permitted"),
    ("umount2", "EPERM", "the host's root cannot be left behind: Operation not permitted"),
    ("keyctl", "EDQUOT", "cannot leave the keyring of its caller"),
    ("sethostname", "EPERM", "PermissionError"),
    ("keyctl", "ENOSYS", None),  # a kernel without keys: it stands
]

SOURCE = """
import errno, os, pyseccomp, sys
from rlm_secure.testing.arena import Arena, ArenaRefused
for name, number in zip(sys.argv[1::2], sys.argv[2::2]):
    sys.stdout.flush()
    if os.fork() == 0:
        rules = pyseccomp.SyscallFilter(pyseccomp.ALLOW)
        rules.add_rule(pyseccomp.ERRNO(getattr(errno, number)), name)
        rules.load()
        try:
            with Arena().start(["echo", "started"]) as running:
                running.wait()
        except ArenaRefused as error:
            print(error)
        sys.exit(0)
    os.wait()
    print("end of", name, number)
"""


@pytest.fixture(scope="module")
def refusals() -> dict[str, str]:
    """What is said where a call is refused to the arena's builder, by call and errno."""
    cases = [each for name, number, _ in REFUSED for each in (name, number)]
    found = subprocess.run([sys.executable, "-c", SOURCE, *cases], capture_output=True, text=True, cwd=scene.ROOT)
    assert found.returncode == 0, found.stderr
    parts = re.split(r"end of (.*)\n", found.stdout)
    return dict(zip(parts[1::2], parts[0::2], strict=False))


@pytest.mark.parametrize(("name", "number", "said"), REFUSED)
def test_what_the_machine_refuses_is_said_in_one_sentence(refusals, name, number, said):
    found = refusals[f"{name} {number}"]
    if said is None:
        assert found == "started\n"
    else:
        assert "started" not in found and found.count("\n") == 1
        assert re.match(f"no arena can be built here, so nothing was attacked: .*{said}", found), found


@pytest.mark.parametrize(
    "wrapped",
    [
        pytest.param(["unshare", "--user", "--map-root-user", "sh", "-c", 'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"', "sh"], id="no user namespaces"),
        pytest.param(["setpriv", "--bounding-set=-sys_admin", "--inh-caps=-sys_admin"], id="root without rights", marks=pytest.mark.root),
    ],
)  # fmt: skip
def test_where_namespaces_are_refused_the_command_is_not_started(wrapped):
    found = subprocess.run(
        [*wrapped, *scene.cli("--", "echo", "started")], capture_output=True, text=True, cwd=scene.ROOT
    )
    assert (found.returncode, found.stdout) == (125, "")
    assert found.stderr.startswith("rlm-secure arena: error: no arena can be built here, so nothing was attacked: ")
    assert found.stderr.count("\n") == 1


def test_a_directory_is_no_descriptor_to_take_along():
    directory = os.open("/", os.O_RDONLY)
    try:
        for options in (
            {"descriptors": (directory,)},
            {"stdin": directory},
            {"stdout": directory},
            {"stderr": directory},
        ):
            with pytest.raises(ArenaRefused, match="directory of this machine|its builder died"):
                Arena().start(["true"], **options)
    finally:
        os.close(directory)


def test_a_builder_that_dies_without_a_word_has_built_nothing(monkeypatch, tmp_path):
    for source in ("raise SystemExit(0)", "import os; os.kill(os.getpid(), 9)"):
        (tmp_path / "build.py").write_text(source)
        monkeypatch.setattr(arena, "_BUILD", tmp_path / "build.py")
        with pytest.raises((ArenaRefused, OSError)):
            Arena().start(["true"])
    assert arena._STANDS.encode() == build.STANDS


def test_the_builder_starts_nothing_for_who_is_gone(tmp_path):
    reader, writer = os.pipe()
    os.write(writer, json.dumps({"parent": 1}).encode())
    os.close(writer)
    found = subprocess.run([sys.executable, "-I", "-S", "-B", build.__file__, str(reader)], pass_fds=(reader,))
    assert found.returncode == build.REFUSED
    os.close(reader)


@pytest.mark.parametrize(
    ("command", "status"),
    [
        (["true"], 0),
        (["sh", "-c", "exit 7"], 7),
        (["sh", "-c", "kill -9 $$"], 137),
        (["no-such-command"], 127),
        (["/etc"], 127),
    ],
)
def test_the_exit_status_is_the_commands(command, status):
    with Arena().start(command, stderr=subprocess.DEVNULL) as running:
        assert running.wait() == status


def test_it_begins_where_the_caller_is_if_that_is_there(monkeypatch, tmp_path):
    for directory, found in ((Path("/usr"), "/usr\n"), (tmp_path, "/\n")):
        monkeypatch.chdir(directory)
        with Arena().start(["pwd"], stdout=subprocess.PIPE) as running:
            assert running.process.stdout.read().decode() == found


def test_a_descriptor_is_kept_by_its_number():
    reader, writer = os.pipe()
    with Arena().start(
        [sys.executable, "-c", f"import os; os.write({writer}, b'told')"], descriptors=(writer,)
    ) as running:
        os.close(writer)
        with os.fdopen(reader) as pipe:
            assert pipe.read() == "told"  # and nobody else in there holds it
        assert running.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_signals_are_passed_on(number):
    line = f"trap 'echo got; exit 3' {number.name.removeprefix('SIG')}; echo ready; while :; do sleep 0.02; done"
    with Arena().start(["sh", "-c", line], stdout=subprocess.PIPE) as running:
        assert running.process.stdout.readline() == b"ready\n"
        running.process.send_signal(number)
        assert running.process.stdout.read() == b"got\n"
        assert running.wait() == 3


# -- ends -------------------------------------------------------------------------------------------

#: Daemons of every kind; the last one is the command itself.
DAEMONS = (
    "setsid sh -c 'sleep {0} & sleep {0}' & (setsid sleep {0} &); (trap '' INT TERM HUP; sleep {0}) & exec sleep {0}"
)
CALLER = """
import sys
from rlm_secure.testing.arena import Arena
with Arena().start(["sh", "-c", sys.argv[1]]) as running:
    running.wait()
"""


def test_leaving_it_ends_everything_in_it():
    nap = scene.nap()
    with Arena().start(["sh", "-c", DAEMONS.format(nap)]) as running:
        assert scene.soon(lambda: len(scene.sleepers(nap)) == 5)
        with pytest.raises(subprocess.TimeoutExpired):
            running.wait(0.01)
    assert scene.soon(lambda: not scene.sleepers(nap))
    running.close()


def test_the_end_of_the_command_is_the_end_of_its_daemons():
    nap = scene.nap()
    with Arena().start(["sh", "-c", f"setsid sleep {nap} & (setsid sleep {nap} &); sleep 2"]) as running:
        assert scene.soon(lambda: len(scene.sleepers(nap)) == 2)
        assert running.wait() == 0
        assert scene.soon(lambda: not scene.sleepers(nap))


@pytest.mark.parametrize("level", ["caller", "outer", "init", "cli"])
def test_sigkill_leaves_nothing_behind(level):
    nap = scene.nap()
    line = DAEMONS.format(nap)
    command = scene.cli("--", "sh", "-c", line) if level == "cli" else [sys.executable, "-c", CALLER, line]
    caller = subprocess.Popen(command, cwd=scene.ROOT, stderr=subprocess.DEVNULL)
    try:
        assert scene.soon(lambda: len(scene.sleepers(nap)) == 5)
        outer = psutil.Process(caller.pid).children()[0]
        init = outer.children()[0]
        {"caller": psutil.Process(caller.pid), "cli": psutil.Process(caller.pid), "outer": outer, "init": init}[
            level
        ].kill()
        assert scene.soon(lambda: not scene.sleepers(nap))
        assert scene.soon(lambda: scene.gone(outer))
        if level not in ("caller", "cli"):
            assert caller.wait(10) == 0
            assert scene.groups(caller.pid) == []
    finally:
        caller.kill()
        caller.wait()

    def removed() -> bool:
        if os.getuid() == 0:  # who was killed could not remove its groups: the next one does, once all in them have ended
            cgroup.parents.cache_clear()
            cgroup.parents(os.getpid())
        return scene.groups(caller.pid) == []

    assert scene.soon(removed)


@pytest.mark.parametrize("moment", [0.0, 0.01, 0.03, 0.06, 0.1])
def test_sigkill_while_it_is_built_leaves_nothing_behind(moment):
    nap = scene.nap()
    caller = subprocess.Popen(
        [sys.executable, "-c", CALLER, DAEMONS.format(nap)], cwd=scene.ROOT, stderr=subprocess.DEVNULL
    )
    try:
        ours = psutil.Process(caller.pid)
        assert scene.soon(lambda: bool(ours.children()))
        outer = ours.children()[0]
        time.sleep(moment)
        within = outer.children()
        outer.kill()
        caller.wait(10)
        assert scene.soon(lambda: all(map(scene.gone, within)) and not scene.sleepers(nap))
        time.sleep(0.05)
        assert scene.sleepers(nap) == []
    finally:
        caller.kill()
        caller.wait()


def test_sigkill_leaves_no_relay(tmp_path):
    source = CALLER.replace("Arena()", "Arena((Share(sys.argv[2]),))").replace("import Arena", "import Arena, Share", 1)
    nap = scene.nap()
    with scene.outside() as given:
        command = [sys.executable, "-c", source, f"exec sleep {nap}", str(given["socket"])]
        caller = subprocess.Popen(command, cwd=scene.ROOT, env=os.environ | {"TMPDIR": str(tmp_path)})
        try:
            assert scene.soon(lambda: bool(scene.sleepers(nap)))
            assert list(tmp_path.iterdir()) == []
        finally:
            caller.kill()
            caller.wait()
    assert scene.soon(lambda: not scene.sleepers(nap))


def test_many_at_a_time():
    found = []

    def running() -> None:
        with Arena().start(["hostname"], stdout=subprocess.PIPE) as each:
            found.append((each.process.stdout.read(), each.wait()))

    threads = [threading.Thread(target=running) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [(b"arena\n", 0)] * 6


def test_this_machine_is_in_its_tables():
    assert os.uname().machine in build._PIVOT_ROOT and os.uname().machine in build._KEYCTL


def test_a_command_that_was_stopped_ends_when_it_is_asked_to():
    with Arena().start(["sh", "-c", "echo here; kill -STOP $$; sleep 60"], stdout=subprocess.PIPE) as running:
        assert running.process.stdout.readline() == b"here\n"
        time.sleep(0.2)
        running.process.terminate()
        assert running.wait(10) == 128 + signal.SIGTERM
