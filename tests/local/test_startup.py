"""A session starts whatever small print the machine has, or says in one sentence what keeps it from starting."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from rlm_secure.environments.local import startup
from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.guest.zygote import boot

ROOT = Path(__file__).parents[2]
#: A host in a process of its own. It says on descriptor 9 what came of a session, as its other streams may be closed.
HOST = """
import os, sys
{first}
try:
    from rlm_secure import Sandbox
    with Sandbox("standard") as box:
        said = repr(box.run("import datetime\\nprint(6 * 7, datetime.datetime.now().year > 2000)").stdout)
        if {interrupt}:
            box.run("kept = 5")
            try:
                box.run("while True: pass", timeout=1)
            except Exception:
                pass
            said += repr(box.run("print(kept)").stdout)
except BaseException as error:
    said = f"{{type(error).__name__}}: {{error}}"
os.write(9, said.encode("utf-8", "replace"))
"""
WORKS = r"'42 True\n'"
COPY_OF = "mount -t tmpfs none /mnt && cp -a {0} /mnt/copy && {1} && mount --bind /mnt/copy {0} && umount -l /mnt"


def host(shell: str = '"$@"', *, first: str = "", interrupt: bool = False, own_mounts: bool = False, **env: str) -> str:
    """What a host says that is started by the line `shell`, where "$@" is its command line."""
    reader, writer = os.pipe()
    source = HOST.format(first=textwrap.dedent(first), interrupt=interrupt)
    command = ["bash", "-c", f"exec 9>&{writer}; {shell}", "host", sys.executable, "-c", source]
    if own_mounts:
        command = ["unshare", "--mount", "--propagation", "private", *command]
    with subprocess.Popen(
        command,
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT), **env},
        pass_fds=(writer,),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    ) as process:
        os.close(writer)
        try:
            printed, _ = process.communicate(timeout=120)
        finally:
            process.kill()
    with os.fdopen(reader, encoding="utf-8") as pipe:
        said = pipe.read()
    assert said, printed.decode("utf-8", "replace")[-2000:]
    return said


CLOSED = {"stdin": "<&-", "stdout": ">&-", "stderr": "2>&-", "stdin and stdout": "<&- >&-", "all": "<&- >&- 2>&-"}


@pytest.mark.parametrize("which", CLOSED)
def test_closed_standard_streams_are_no_descriptors_of_a_session(which: str) -> None:
    assert host(f'"$@" {CLOSED[which]}') == WORKS


def test_a_closed_stream_is_not_where_a_session_is_written_to() -> None:
    first = """
        import rlm_secure.environments.local.zygote as zygotes
        started = zygotes.Zygote.__init__
        def start(self, plan):
            started(self, plan)
            kinds = [os.readlink(f"/proc/self/fd/{fd}") for fd in range(3)]
            assert kinds == ["/dev/null"] * 3, kinds
        zygotes.Zygote.__init__ = start
    """
    assert host('"$@" <&- >&- 2>&-', first=first) == WORKS


def test_sockets_of_the_host_as_standard_streams_stay_its_own() -> None:
    first = """
        import socket
        ours, theirs = socket.socketpair()
        for number in range(3):
            os.dup2(theirs.fileno(), number)
    """
    assert host(first=first) == WORKS


MACHINES = {
    "a time zone that links to nothing": COPY_OF.format("/usr/share/zoneinfo", "ln -sf /nowhere /mnt/copy/localtime"),
    "a time zone that waits for a writer": COPY_OF.format("/usr/share/zoneinfo", "mkfifo /mnt/copy/Europe/Pipe"),
    "time zones that link to each other": COPY_OF.format(
        "/usr/share/zoneinfo", "ln -s B /mnt/copy/A && ln -s A /mnt/copy/B"
    ),
    "no time zones": "mount -t tmpfs none /usr/share/zoneinfo",
    "a local time that links to nothing": COPY_OF.format("/etc", "ln -sf /nowhere /mnt/copy/localtime"),
    "no ld.so.cache": COPY_OF.format("/etc", "rm -f /mnt/copy/ld.so.cache"),
    "no /dev/shm": "umount -l /dev/shm || true",
}
if not any(Path(path).is_relative_to("/tmp") for path in (sys.executable, ROOT)):  # where nothing of ours is hidden
    MACHINES["a read-only /tmp"] = "mount -t tmpfs -o ro none /tmp"
    MACHINES["a /tmp without programs"] = "mount -t tmpfs -o noexec none /tmp"


@pytest.mark.root
@pytest.mark.parametrize("machine", MACHINES)
def test_a_session_starts_on_a_machine_with(machine: str) -> None:
    assert host(f'{MACHINES[machine]} && "$@"', own_mounts=True) == WORKS


LIMITS = {
    "few descriptors": "ulimit -n 24",
    "very many descriptors": "ulimit -Hn 1048576 2>/dev/null; ulimit -n $(ulimit -Hn)",
    "a stack without limit": "ulimit -s unlimited",
    "a small stack": "ulimit -s 256",
    "no locked memory": "ulimit -l 0",
    "core files": "ulimit -c unlimited",
    "a mask that hides all": "umask 777",
    "a mask that hides nothing": "umask 0",
}


@pytest.mark.parametrize("limit", LIMITS)
def test_a_session_starts_under(limit: str) -> None:
    assert host(f'{LIMITS[limit]}; "$@"') == WORKS


def test_a_session_starts_in_a_directory_that_is_gone(tmp_path: Path) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    # With that directory on its path, Python 3.13.0 cannot even import pydantic.
    assert host(f'cd {gone}; rmdir {gone}; "$@"', PYTHONSAFEPATH="1") == WORKS


ENVIRONMENTS = {
    "nothing": 'env -i PYTHONPATH="$PYTHONPATH" "$@"',
    "no home": 'env -u HOME "$@"',
    "no path": 'PATH= "$@"',
    "a locale that is not there": 'LC_ALL=xx_YY.UTF-8 "$@"',
    "a library that is not there": 'LD_PRELOAD=/nowhere.so "$@"',
    "switches of Python": 'PYTHONDEVMODE=1 PYTHONMALLOC=debug PYTHONWARNINGS=error::UserWarning PYTHONHASHSEED=0 "$@"',
    "a start file of Python": 'PYTHONSTARTUP=/nowhere PYTHONINSPECT= PYTHONDONTWRITEBYTECODE=1 "$@"',
    "odd time zones": 'TZ=:/nowhere PYTHONTZPATH=relative:/nowhere "$@"',
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
def test_a_session_starts_with_an_environment_of(environment: str) -> None:
    assert host(ENVIRONMENTS[environment]) == WORKS


BEFORE_EXEC = """
import ctypes, os, signal, sys
{0}
os.execv(sys.argv[1], sys.argv[1:])
"""
SIGNALS = {
    "blocked": "signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())",
    "ignored": "[signal.signal(each, signal.SIG_IGN) for each in signal.valid_signals() - {9, 19, 32, 33}]",
    "of children ignored": "signal.signal(signal.SIGCHLD, signal.SIG_IGN)",
    "of orphans its own": "ctypes.CDLL(None).prctl(36, 1, 0, 0, 0)",
}


@pytest.mark.parametrize("which", SIGNALS)
def test_a_session_starts_and_is_interrupted_where_the_hosts_signals_are(which: str, tmp_path: Path) -> None:
    script = tmp_path / "before.py"
    script.write_text(BEFORE_EXEC.format(SIGNALS[which]))
    assert host(f'{sys.executable} {script} "$@"', interrupt=True) == WORKS + r"'5\n'"


def test_a_host_that_ignores_its_children_has_sessions() -> None:
    assert host(first="import signal; signal.signal(signal.SIGCHLD, signal.SIG_IGN)") == WORKS


def test_a_user_who_may_start_no_thread_has_sessions() -> None:
    first = """
        import threading
        started = threading.Thread.start
        def start(self):
            if self.name.startswith("rlm_secure"):
                raise RuntimeError("can't start new thread")
            started(self)
        threading.Thread.start = start
    """
    assert host(first=first) == WORKS


def test_a_host_in_a_container_says_which_walls_it_cannot_build() -> None:
    first = """
        from rlm_secure.environments.seccomp import compile_profile
        from rlm_secure.guest.kernel import seal
        seal.no_new_privs()
        seal.seccomp(compile_profile("docker"))
    """
    said = host(first=first)
    assert said.startswith("EnforcementError: policy 'standard' requires walls that ")
    assert ": user-namespace, mount-namespace, " in said
    assert "\n" not in said


def test_an_interpreter_at_an_odd_path(tmp_path: Path) -> None:
    folder = os.fsencode(tmp_path) + b"/a b'\xff\xe9"
    os.mkdir(folder)
    os.symlink(sys.executable, folder + b"/python 3")
    first = f"sys.executable = os.fsdecode({folder + b'/python 3'!r})"
    assert host(first=first) == WORKS


@pytest.mark.parametrize("named", ["None", "''", "'python3'"])
def test_an_interpreter_that_does_not_know_where_it_is(named: str) -> None:
    assert host(first=f"sys.executable = {named}") == WORKS


# -- what does not start says why --------------------------------------------------------------------------


def refused(first: str = "", shell: str = '"$@"', **kwargs: bool) -> str:
    said = host(shell, first=first, **kwargs)
    name, _, sentence = said.partition(": ")
    assert name == "EnvironmentUnavailable", said
    assert "\n" not in sentence
    assert "exit -" not in sentence
    return sentence


def broken(tmp_path: Path, script: str) -> str:
    path = tmp_path / "python"
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return f"sys.executable = {str(path)!r}"


def test_a_start_that_fails_carries_the_last_line_of_the_guest(tmp_path: Path) -> None:
    said = refused(broken(tmp_path, "echo first >&2; printf 'all is \\033[31mlost\\n' >&2; exit 3"))
    assert "it ended with exit status 3; its last line was: all is ?[31mlost;" in said


def test_a_start_that_is_killed_says_by_what(tmp_path: Path) -> None:
    assert "it was killed by SIGKILL, as the kernel does when memory runs out, and wrote nothing" in refused(
        broken(tmp_path, "kill -9 $$")
    )
    assert "it was killed by SIGSEGV; its last line was: here" in refused(
        broken(tmp_path, "echo here >&2; kill -SEGV $$")
    )


def test_a_start_that_writes_without_end_is_no_hang(tmp_path: Path) -> None:
    said = refused(broken(tmp_path, "i=0; while [ $i -lt 9000 ]; do echo line $i >&2; i=$((i + 1)); done; exit 4"))
    assert "it ended with exit status" in said
    assert "its last line was: " in said


def test_the_process_behind_the_first_one_is_heard_too() -> None:
    first = """
        import rlm_secure.environments.local.zygote as zygotes
        class Odd:
            def hex(self):
                return "no bytes"
        zygotes.compile_profile = lambda name: Odd()
    """
    assert "its last line was: ValueError: non-hexadecimal" in refused(first)


def test_the_process_behind_the_first_one_is_reported_where_it_is_killed(capfd: pytest.CaptureFixture[str]) -> None:
    assert (boot.report_end(0), boot.report_end(1 << 8)) == (0, 1)
    assert capfd.readouterr().err == ""
    assert boot.report_end(signal.SIGSEGV) == 1
    assert capfd.readouterr().err == "the process that builds the walls was killed by signal 11\n"


def test_an_interpreter_that_is_not_there(tmp_path: Path) -> None:
    said = refused(f"sys.executable = '{tmp_path}/nowhere'")
    assert said.endswith("set sys.executable to the path of a Python")


def test_no_descriptors_left_for_a_start() -> None:
    said = refused(shell='ulimit -n 10; "$@"')
    assert "Too many open files" in said
    assert said.endswith("raise the number of open files (ulimit -n)")


NOTHING_KEPT = "from rlm_secure.environments.local import image; image.bundles.kept_at = lambda _: '/nowhere/at/all'"


def test_files_may_have_no_size() -> None:
    """The first process of a session is started from a file; where none is kept, from a copy in memory."""
    said = refused(first=NOTHING_KEPT, shell='ulimit -f 0; "$@"')
    assert said.endswith("raise the size of files (ulimit -f)")


@pytest.mark.root
def test_no_proc() -> None:
    said = refused(shell='umount -l /proc; "$@"', own_mounts=True)
    assert "can't open file '/proc/self/fd/" in said


def test_a_start_that_fails_leaves_no_descriptor(tmp_path: Path) -> None:
    first = broken(tmp_path, "exit 1") + textwrap.dedent("""
        from rlm_secure.environments.local import zygote
        for named in (sys.executable, "/nowhere"):
            sys.executable = named
            before = len(os.listdir("/proc/self/fd"))
            for _ in range(3):
                try:
                    zygote.Zygote(zygote.Plan())
                except Exception:
                    pass
            assert len(os.listdir("/proc/self/fd")) <= before, named
    """)
    assert "could not start /nowhere" in refused(first)


def test_only_an_interpreter_stands_in_for_an_unknown_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", None)
    assert startup.interpreter() == os.path.realpath("/proc/self/exe")
    monkeypatch.setattr(startup.os, "readlink", lambda _: "/usr/sbin/uwsgi")
    with pytest.raises(EnvironmentUnavailable, match="set sys.executable to one"):
        startup.interpreter()


def test_the_last_line_is_read_without_waiting() -> None:
    reader, writer = os.pipe()
    assert startup.last_line(reader) == ""
    os.write(writer, b"one\ntwo \xff\x00\n\n")
    assert startup.last_line(reader) == "two \ufffd?"
    for fd in (reader, writer):
        os.close(fd)


def test_an_end_that_does_not_come_is_made() -> None:
    reader, writer = os.pipe()
    with subprocess.Popen(["sleep", "600"]) as process:
        assert startup.ending(process, reader) == "it did not answer in time and was killed, and wrote nothing"
        assert process.returncode == -signal.SIGKILL
    for fd in (reader, writer):
        os.close(fd)
