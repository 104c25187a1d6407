"""The zygote's first steps: imports, identity, namespaces.

Guards: the zygote's way out of root, environment and namespaces of the host
"""

from __future__ import annotations

import contextlib
import os
import resource
import signal
import sys

from ..kernel import seal, walls
from ..language import facades
from ..session import memory
from . import rehearsal


def default_signals() -> None:
    """Undo what the host blocks and ignores, which a program inherits: children are waited for, cells interrupted."""
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # for which Python prefers errors
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def report_end(status: int) -> int:
    """The exit status of who waited for a process that ended with wait status `status`; a signal is reported."""
    if os.WIFSIGNALED(status):
        with contextlib.suppress(OSError):  # nobody listens after the start
            os.write(2, f"the process that builds the walls was killed by signal {os.WTERMSIG(status)}\n".encode())
    return int(status != 0)


def preload() -> None:
    """Import what any session may need, and warm it up: no file can be opened later."""
    facades.preload()
    memory.switch_on()
    streams = sys.stdout, sys.stderr
    rehearsal.rehearse()
    sys.stdout, sys.stderr = streams  # those of the rehearsed session hide why a start failed


def raise_file_limit() -> None:
    """Room for the descriptors of many starts at once, whatever the host's own soft limit is."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard > 0 else 8192, hard))


def clear_environment() -> str:
    """Forget every environment variable."""
    os.environ.clear()
    return "no variables"


def leave_root(uid: int) -> str:
    """Give up root for `uid`. Raises OSError where that leaves any id at 0."""
    if os.getuid() == 0:
        try:
            seal.become(uid)
        except OSError:
            seal.become(65534)  # a container may map few ids; nobody is there in nearly all of them
    if 0 in (*os.getresuid(), *os.getresgid()):
        raise OSError(1, f"still uid {os.getuid()}, gid {os.getgid()}")
    return f"uid {os.getuid()}, gid {os.getgid()}, groups {os.getgroups() if os.getgroups() else 'none'}"


def enter_namespaces(found: walls.Walls) -> None:
    """Enter namespaces of our own, one by one, and note each. The PID namespace takes effect at the next fork."""
    uid, gid = os.getuid(), os.getgid()

    def user() -> str:
        seal.unshare(seal.CLONE_NEWUSER)
        seal.map_identity(uid, gid)
        return f"unshare(NEWUSER), {uid} mapped to itself alone"

    if not found.attempt("user-namespace", user):
        for wall in ("mount-namespace", "network-namespace", "ipc-namespace", "pid-namespace"):
            found.miss(wall, "needs a user namespace")
        return
    for wall, flags in (
        ("mount-namespace", seal.CLONE_NEWNS),
        ("network-namespace", seal.CLONE_NEWNET),
        ("ipc-namespace", seal.CLONE_NEWIPC),
    ):
        found.attempt(wall, seal.unshare, flags, evidence="unshare succeeded")
    found.attempt("pid-namespace", _own_pid_namespace, evidence="unshare succeeded")
    with contextlib.suppress(OSError):  # extra, no wall of their own
        seal.unshare(seal.CLONE_NEWUTS | seal.CLONE_NEWCGROUP)


def _own_pid_namespace() -> None:
    # Returning to it for the next fork takes a pidfd: a kernel without them (gVisor) has no use for it.
    os.close(os.pidfd_open(os.getpid()))
    seal.unshare(seal.CLONE_NEWPID)
