"""Attacks from inside a container, by somebody who already broke out of the worker.

Each runs plain Python as the supervisor's own user, with no wall of the worker's around it, and must fail; its
control is the same code in an ordinary container of the same image, where it works.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.docker.conftest import IMAGE, inside, policy, python

SECRET = "a secret of the host's"


@pytest.fixture(scope="module")
def ordinary(engine, image) -> Iterator[object]:
    """A container as people start them who need a little more: root, some capabilities, the host's network."""
    host = engine.api.create_host_config(
        network_mode="host", auto_remove=True, cap_add=["SYS_ADMIN", "NET_ADMIN", "SYS_PTRACE"],
        security_opt=["seccomp=unconfined"], binds=["/var/run/docker.sock:/var/run/docker.sock"],
    )  # fmt: skip
    host |= {"MaskedPaths": [], "ReadonlyPaths": []}
    made = engine.api.create_container(image, ["sleep", "600"], user="0:0", host_config=host)
    engine.api.start(made["Id"])
    yield engine.containers.get(made["Id"])
    engine.api.remove_container(made["Id"], force=True)


def control(ordinary, code: str) -> str:
    for _ in range(3):  # a busy engine may lose the output of a process that ends at once
        status, output = ordinary.exec_run(["python3", "-I", "-S", "-c", code])
        if status or output:
            break
    return output.decode().strip() if status == 0 else f"exit {status}: {output.decode().strip()[-300:]}"


TRY = """
import errno, os, ctypes
libc = ctypes.CDLL(None, use_errno=True)
libc.syscall.restype = ctypes.c_long
def call(number, *arguments):
    if libc.syscall(ctypes.c_long(number), *arguments) < 0:
        raise OSError(ctypes.get_errno(), "no")
try:
{attack}
except OSError as error:
    print("refused", errno.errorcode.get(error.errno, error.errno), flush=True)
    os._exit({refused})
os._exit({won})
"""
#: Told by the exit status: a busy engine may lose the output of a process that ends at once.
REFUSED, WON = 43, 42

ATTACKS = {
    "mount a tmpfs": 'if libc.mount(b"t", b"/mnt", b"tmpfs", 0, None): raise OSError(ctypes.get_errno(), "no")',
    "mount proc": 'if libc.mount(b"p", b"/mnt", b"proc", 0, None): raise OSError(ctypes.get_errno(), "no")',
    "remount the root writable": 'if libc.mount(None, b"/", None, 32, None): raise OSError(ctypes.get_errno(), "no")',
    "a user namespace": "if libc.unshare(0x10000000): raise OSError(ctypes.get_errno(), 'no')",
    "a mount namespace": "if libc.unshare(0x20000): raise OSError(ctypes.get_errno(), 'no')",
    "a device node of the disk": 'os.mknod("/tmp/disk", 0o60600, os.makedev(254, 0))',
    "write a kernel setting": 'open("/proc/sys/kernel/hostname", "w").write("owned")',
    "write core_pattern": 'open("/proc/sys/kernel/core_pattern", "r+").write("|/tmp/x")',
    "trigger sysrq": 'open("/proc/sysrq-trigger", "w").write("h")',
    "write to sys": 'open("/sys/kernel/mm/ksm/run", "r+").write("0")',
    "write to a cgroup": 'next(open(os.path.join(at, "cgroup.procs"), "w") for at, _, names in os.walk("/sys/fs/cgroup") if "cgroup.procs" in names)',
    "write to the root": 'open("/owned", "w").write("x")',
    "write to the image's python": 'open("/usr/lib/python3.11/os.py", "a").write("x")',
    "a raw socket": "import socket; socket.socket(socket.AF_INET, socket.SOCK_RAW, 1)",
    "a packet socket": "import socket; socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 3)",
    "a netlink socket": "import socket; socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)",
    "chroot": 'os.chroot("/tmp")',
    "become root": "os.setuid(0)",
    "set the clock": "import time; time.clock_settime(time.CLOCK_REALTIME, time.time())",
    "reach for a file by handle": "call(304, -100, 0, 0)",
    "load BPF": "call(321, 5, (ctypes.c_char * 128)(), 128)",
    "a perf event": "call(298, (ctypes.c_char * 128)(), 0, -1, -1, 0)",
    "io_uring": "call(425, 8, (ctypes.c_char * 120)())",
    "userfaultfd": "call(323, 0)",
    "the key ring": "call(250, 0, -3, 1)",
    "ptrace init": "call(101, 16, 1, 0, 0)",
}  # fmt: skip

#: Cases whose control needs more than a privileged container of this kernel gives, each with its reason.
NO_CONTROL = {
    "reach for a file by handle": "any argument is wrong; what counts is EPERM before it is looked at",
    "load BPF": "needs a program; what counts is EPERM before it is looked at",
    "a perf event": "needs a counter; what counts is EPERM before it is looked at",
    "io_uring": "needs a ring; what counts is EPERM before it is looked at",
    "trigger sysrq": "would print to the host's log",
    "write core_pattern": "would change the host",
    "write to the image's python": "would change the image's layer under other tests",
    "set the clock": "would set the host's clock",
    "remount the root writable": "is writable already",
    "write to a cgroup": "opening is the attack; privileged containers see theirs writable or not by engine",
    "write to sys": "the machine may have no such file",
}


@pytest.mark.attack
@pytest.mark.parametrize("name", ATTACKS)
def test_an_attacker_beside_the_supervisor_is_refused(shared, ordinary, name) -> None:
    code = TRY.format(attack=f"    {ATTACKS[name]}", refused=REFUSED, won=WON)
    assert python(shared, code).startswith(f"exit {REFUSED}:"), name
    if name not in NO_CONTROL:
        said = control(ordinary, code)
        assert said.startswith(f"exit {WON}:"), f"the control of {name!r} shows nothing: {said}"


def test_every_case_without_a_control_is_one() -> None:
    assert NO_CONTROL.keys() <= ATTACKS.keys()


CONNECT = """
import socket, errno
for family, address in {targets!r}:
    try:
        with socket.socket(getattr(socket, family), socket.SOCK_STREAM) as probe:
            probe.settimeout(1)
            probe.connect(address)
        print("WON", address)
    except OSError as error:
        print("refused", errno.errorcode.get(error.errno, str(error)))
"""


@pytest.mark.attack
def test_no_address_is_reached_neither_metadata_nor_gateway_nor_host(shared, ordinary) -> None:
    listener = socket.create_server(("0.0.0.0", 0))
    port = listener.getsockname()[1]
    targets = [
        ("AF_INET", ("127.0.0.1", port)),
        ("AF_INET", ("169.254.169.254", 80)),
        ("AF_INET", ("172.17.0.1", port)),
    ]
    targets += [("AF_INET", ("1.1.1.1", 53)), ("AF_INET6", ("::1", port)), ("AF_INET", (_own_address(), port))]
    with listener:
        said = python(shared, CONNECT.format(targets=targets)).splitlines()
        assert len(said) == len(targets)
        assert all(line.startswith("refused") for line in said), said
        assert control(ordinary, CONNECT.format(targets=targets[:1])).startswith("WON")


def _own_address() -> str:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))
            return str(probe.getsockname()[0])
        except OSError:
            return "127.0.0.1"


@pytest.mark.attack
def test_no_docker_socket_is_in_there(shared, ordinary) -> None:
    sockets = "import os; print([p for p in ('/var/run/docker.sock', '/run/docker.sock', '/run/containerd/containerd.sock') if os.path.exists(p)])"
    assert python(shared, sockets) == "[]"
    assert "docker.sock" in control(ordinary, sockets)


@pytest.mark.attack
def test_nothing_can_be_planted_where_the_host_writes(shared) -> None:
    code = """
import os
won = []
for step in (
    lambda: os.symlink("/etc/passwd", "/rlm/context_0.txt"),
    lambda: os.symlink("/etc/passwd", "/rlm/guest.zip.new"),
    lambda: os.link("/etc/passwd", "/rlm/x"),
    lambda: os.rename("/rlm/guest.zip", "/rlm/old"),
    lambda: os.unlink("/rlm/broker"),
    lambda: os.chmod("/rlm/guest.zip", 0o777),
    lambda: open("/rlm/guest.zip", "r+b"),
    lambda: open("/rlm/x", "w"),
    lambda: os.mkfifo("/rlm/fifo"),
    lambda: os.utime("/rlm/guest.zip"),
    lambda: os.setxattr("/rlm/guest.zip", "user.x", b"1"),
):
    try:
        step()
        won.append(step)
    except OSError:
        pass
print(len(won))
"""
    assert python(shared, code) == "0"
    directory = Path(shared._lease._unix.directory)
    assert sorted(path.name for path in directory.iterdir()) == ["broker", "guest.zip"]


@pytest.mark.attack
def test_only_the_engine_s_own_mounts_and_ours_are_there(shared) -> None:
    mounts = inside(shared, "cat", "/proc/self/mountinfo")[1].splitlines()
    ours = [line for line in mounts if "rlm-secure" in line]
    assert len(ours) == 1
    assert ours[0].split()[4] == "/rlm"
    assert "ro" in ours[0].split()[5].split(",")
    writable = {line.split()[4] for line in mounts if "rw" in line.split()[5].split(",")}
    # Devices of the container's own, its scratch, and the proc that masks and read-only mounts cover in part.
    masks = {path for path in writable if path.startswith("/proc/")}
    assert writable - masks <= {"/dev", "/dev/pts", "/dev/mqueue", "/proc", "/tmp", "/sys/fs/cgroup"}, writable
    assert all(inside(shared, "cat", path)[1] == "" for path in masks)  # empty files over what leaks


@pytest.mark.attack
def test_no_file_of_the_image_changes_users_and_su_does_not_work(shared) -> None:
    code = """
import os, stat
found = []
for at, folders, names in os.walk("/"):
    folders[:] = [each for each in folders if os.path.join(at, each) not in ("/proc", "/sys", "/dev")]
    for name in names:
        path = os.path.join(at, name)
        try:
            mode = os.lstat(path).st_mode
        except OSError:
            continue
        if stat.S_ISREG(mode) and mode & 0o6000:
            found.append(path)
print(found)
"""
    assert python(shared, code) == "[]"
    status, _ = inside(shared, "su", "-c", "id")
    assert status != 0


@pytest.mark.attack
def test_devices_are_the_harmless_few(shared) -> None:
    names = set(inside(shared, "ls", "/dev")[1].split())
    assert names <= {
        "core", "fd", "full", "mqueue", "null", "ptmx", "pts", "random", "shm", "stderr", "stdin", "stdout", "tty",
        "urandom", "zero", "console",
    }  # fmt: skip


@pytest.mark.attack
def test_the_supervisor_s_memory_and_key_are_closed_to_its_own_user(shared) -> None:
    """It reads the key from its standard input and is not dumpable: no ptrace, no /proc/PID/mem, no /proc/PID/fd."""
    code = """
import os
won = []
for pid in filter(str.isdigit, os.listdir("/proc")):
    if int(pid) == os.getpid():
        continue
    command = open(f"/proc/{pid}/cmdline").read()
    if "guest.zip" not in command:
        continue
    for step in (
        lambda: open(f"/proc/{pid}/mem", "rb"),
        lambda: open(f"/proc/{pid}/environ", "rb").read(),
        lambda: open(f"/proc/{pid}/maps").read(),
        lambda: os.readlink(f"/proc/{pid}/fd/0"),
        lambda: os.readlink(f"/proc/{pid}/cwd"),
        lambda: os.listdir(f"/proc/{pid}/root"),
    ):
        try:
            step()
            won.append((pid, step.__code__.co_consts))
        except OSError:
            pass
print(won)
"""
    assert python(shared, code) == "[]"


@pytest.mark.attack
def test_a_forged_response_from_inside_is_refused(shared) -> None:
    """The host's socket can be reached from inside; without the key nothing that is said there is believed."""
    forger = """
import socket, time
answer = b"HTTP/1.1 200 OK\\r\\nContent-Length: 2\\r\\nRlm-Mac: " + b"0" * 64 + b"\\r\\n\\r\\n{}"
kept = []
for _ in range(4):
    connection = socket.socket(socket.AF_UNIX)
    connection.connect("/rlm/broker")
    connection.sendall(answer)
    kept.append(connection)
time.sleep(2)
print("said")
"""
    with shared_session(shared) as session:
        session.execute("x = 1", None)
        thread = threading.Thread(target=python, args=(session, forger))
        thread.start()
        result = session.execute("print(x, llm_query('a'))", lambda call: "real")
        thread.join()
        # Its connections wait behind the supervisor's own; what it said first on them is never taken for an answer.
        assert result.stdout in ("1 real\n", "")
        assert "{}" not in result.stdout


def shared_session(shared):
    from rlm_secure.environments.docker import DockerEnvironment

    return DockerEnvironment(image=IMAGE).session(policy())


# -- limits ----------------------------------------------------------------------------------------------------


@pytest.mark.attack
def test_a_fork_bomb_meets_its_limit_and_the_session_goes_on(place) -> None:
    with place.session(policy()) as session:
        bomb = "import os, time\nn = 0\ntry:\n    while True:\n        if not os.fork(): time.sleep(3); os._exit(0)\n        n += 1\nexcept OSError:\n    print(n)"
        assert int(python(session, bomb)) < 30
        assert session.execute("print('here')", None).stdout == "here\n"


@pytest.mark.attack
def test_a_memory_bomb_beside_the_supervisor_is_killed_and_typed(place) -> None:
    with place.session(policy()) as session:
        said = python(session, "x = []\nwhile True: x.append(bytearray(1 << 24))")
        assert said.startswith(("exit 137", "exit 1"))
        result = session.execute("print('here')", None)
        assert result.stdout == "here\n" or result.error is not None


@pytest.mark.attack
def test_scratch_is_small_and_a_full_one_harms_nobody(place) -> None:
    with place.session(policy()) as session:
        fill = "import os\nn = 0\ntry:\n    with open('/tmp/x', 'wb', buffering=0) as f:\n        while True: n += f.write(bytes(65536))\nexcept OSError as e:\n    print(n, e.errno)"
        assert python(session, fill) == "1048576 28"
        many = "n = 0\ntry:\n    while True: open(f'/tmp/{n}', 'w').close(); n += 1\nexcept OSError as e:\n    print(n < 64, e.errno)"
        assert python(session, many) == "True 28"
        session.load_context("context_0", "still room " * 1000)
        assert session.execute("print(len(context_0))", None).stdout == "11000\n"


@pytest.mark.attack
def test_scratch_runs_no_programs(shared) -> None:
    code = "import os, shutil\nshutil.copy('/usr/bin/id', '/tmp/id')\nos.chmod('/tmp/id', 0o755)\ntry: os.execv('/tmp/id', ['id'])\nexcept OSError as e: print(e.errno)"
    assert python(shared, code) == "13"


@pytest.mark.attack
def test_a_worker_still_has_its_own_walls(place) -> None:
    """Plain Python in the worker, the language layer switched off: every call that matters kills it."""
    for code in (
        "import os; os.listdir('/rlm')", "import os; os.fork()", "import socket; socket.socket()", "open('/etc/passwd')",
        "import os; os.kill(1, 9)", "import ctypes; ctypes.CDLL(None).unshare(0x10000000)", "import os; os.execv('/bin/sh', ['sh'])",
    ):  # fmt: skip
        with place.session(policy(), screen=False) as session:
            result = session.execute(f"{code}\nprint('WON')", None)
            assert "WON" not in result.stdout, code
            assert result.error is not None, code


def test_the_container_s_user_is_nobody_s_on_the_host(shared) -> None:
    import pwd

    with pytest.raises(KeyError):
        pwd.getpwuid(shared.report.details["uid"])
    assert shared.report.details["uid"] != os.getuid()
