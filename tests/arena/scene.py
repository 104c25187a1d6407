"""What stands outside of an arena and must not be reached from within, and the ways into one."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

from rlm_secure.removal import remove

ROOT = Path(__file__).parents[2]
INSIDE = (ROOT / "tests" / "arena" / "inside.py").read_text(encoding="utf-8")
SECRET = {"OTHER_TOKEN": "rlm-secure-secret"}
_KEYCTL, _ADD_KEY = {"x86_64": (250, 248), "aarch64": (219, 217)}[os.uname().machine]
_IPC_CREAT, _IPC_RMID, _SESSION_KEYRING = 0o1000, 0, -3


def probe(asked: dict[str, object]) -> list[str]:
    """The command that tries `asked` in an arena."""
    return [sys.executable, "-c", INSIDE, json.dumps(asked)]


def cli(*arguments: str, nobody: bool = False) -> list[str]:
    """`rlm-secure arena ARGUMENTS`, as uid 65534 where wanted."""
    python = [str(ROOT / "tests" / "as_nobody.sh"), "python"] if nobody else [sys.executable]
    return [*python, "-m", "rlm_secure", "arena", *arguments]


def hold_a_key() -> None:
    """A secret in a session keyring that what is started from here inherits. Runs between fork and exec."""
    libc = ctypes.CDLL(None)
    libc.syscall(_KEYCTL, 1, None)
    libc.syscall(_ADD_KEY, b"user", b"rlm-secure-test", b"secret", ctypes.c_long(6), ctypes.c_int(_SESSION_KEYRING))


@contextlib.contextmanager
def open_directory() -> Iterator[Path]:
    """A directory that every user of the machine may write to, where no arena hides anything."""
    found = Path(tempfile.mkdtemp(prefix="rlm-secure-test-", dir="/srv" if os.access("/srv", os.W_OK) else None))
    try:
        found.chmod(0o777)
        (found / "file").write_text("as it was")
        (found / "file").chmod(0o666)
        yield found
    finally:
        remove(found)


@contextlib.contextmanager
def outside() -> Iterator[dict[str, object]]:
    """Sockets, shared memory, a process and files of this machine: what the probe is told of."""
    libc = ctypes.CDLL(None)
    name = f"rlm-secure-{secrets.token_hex(8)}"
    number = secrets.randbelow(1 << 30) + 1
    with contextlib.ExitStack() as stack:
        directory = stack.enter_context(open_directory())
        for address in (f"\0{name}", f"{directory}/socket"):
            server = stack.enter_context(socket.socket(socket.AF_UNIX))
            server.bind(address)
            server.listen()
        (directory / "socket").chmod(0o777)
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        segment = libc.shmget(number, 4096, _IPC_CREAT | 0o666)
        stack.callback(libc.shmctl, segment, _IPC_RMID, None)
        victim = subprocess.Popen(["sleep", "300"])
        stack.callback(victim.wait)
        stack.callback(victim.kill)
        yield {
            "name": name,
            "open": str(directory),
            "cwd": str(ROOT),
            "home": str(Path.home()),
            "socket": f"{directory}/socket",
            "port": port,
            "shm": number,
            "victim": victim.pid,
        }


def soon(body: Callable[[], bool], seconds: float = 10) -> bool:
    """Whether `body` comes true in time."""
    deadline = time.monotonic() + seconds
    while not (found := body()) and time.monotonic() < deadline:
        time.sleep(0.02)
    return found


def nap() -> str:
    """An argument for sleep(1) by which only its own processes are found."""
    return f"60.{secrets.randbelow(10**12):012}"


def sleepers(argument: str) -> list[psutil.Process]:
    """The sleep(1)s of that argument, wherever they are."""
    found = []
    for process in psutil.process_iter(["cmdline", "status"]):
        line = process.info["cmdline"] or []
        if line == ["sleep", argument] and process.info["status"] != psutil.STATUS_ZOMBIE:
            found.append(process)
    return found


def gone(process: psutil.Process) -> bool:
    """Whether it has ended; who reaps it is not our affair."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def groups(pid: int) -> list[Path]:
    """The cgroups that are named after the process `pid`."""
    found = []
    for directory, names, _ in os.walk("/sys/fs/cgroup"):  # other tests make and remove theirs meanwhile
        found += [Path(directory, name) for name in names if name.startswith(f"rlm_secure-{pid}-")]
    return found
