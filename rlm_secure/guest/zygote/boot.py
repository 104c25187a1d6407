"""The zygote's first steps: imports, identity, namespaces.

Guards: how the zygote leaves root, the environment and the namespaces of the host
"""

from __future__ import annotations

import contextlib
import gc
import os
import resource
import signal
import sys
from importlib.machinery import SourceFileLoader
from typing import Any

from ..kernel import seal, walls
from ..language import facades, library
from ..language.facades import late
from ..session import digest, tagged
from . import warmup


def default_signals() -> None:
    """Reset the signals that the host blocks or ignores, which a program inherits.

    Otherwise children could not be waited for, and cells could not be interrupted.
    """
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    for number in signal.valid_signals() - {signal.SIGPIPE, signal.SIGXFSZ}:  # Python ignores these and raises errors
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, signal.SIG_DFL)


def report_end(status: int) -> int:
    """The exit status for the parent of a process that ended with wait status `status`. Reports a death by signal."""
    if os.WIFSIGNALED(status):
        with contextlib.suppress(OSError):  # after the start, nobody reads standard error
            os.write(2, f"the process that builds the walls was killed by signal {os.WTERMSIG(status)}\n".encode())
    return int(status != 0)


def preload(chosen: dict[str, Any] | None = None) -> None:
    """Import everything that a session may need: no file can be opened later.

    `chosen` are the third-party packages of this zygote: {names, paths}. Without `paths` they are those of this Python,
    as in an image. Raises ImportError for one that is missing, and RuntimeError if one has started a thread.
    """
    if chosen and chosen["names"]:
        from .. import packages

        paths = _own_folders() if chosen["paths"] is None else chosen["paths"]
        packages.load(chosen["names"], paths)
        packages.close(chosen["names"])
        tagged.simplify(packages.plain(chosen["names"]))
        digest.know(packages.frames(chosen["names"]))
        gc.collect()  # our own imports leave no garbage
    facades.preload()
    library.read_all()
    for finder in sys.meta_path:
        if close := getattr(finder, "close", None):  # that of an image, whose bytes no session needs
            close()
    gc.freeze()  # a cell enables the collector, which would look at all that was imported


def import_late() -> None:
    """Import what no module of ours imports, but the standard library does while it runs: 7 ms."""
    late.import_all()


def imported() -> list[list[str]]:
    """What a zygote imports from files of the standard library: each module, its file, and its folders if it has any.

    Called behind the import of zygote.py in a process of its own: see rlm_secure/environments/local/image.py.
    """
    import_late()
    found = []
    for name, module in sys.modules.items():
        spec = getattr(module, "__spec__", None)  # a module of typing is a class
        if spec is not None and isinstance(spec.loader, SourceFileLoader):
            found.append([name, str(spec.origin), *(spec.submodule_search_locations or ())])
    return found


def warm_up() -> None:
    """Run a trial session. It opens no file, as a session cannot, so it runs behind the walls of the zygote."""
    streams = sys.stdout, sys.stderr
    warmup.warm_up()
    sys.stdout, sys.stderr = streams  # the streams of the trial session would hide why a start failed


def _own_folders() -> list[str]:
    import site  # imported here, it runs no .pth file and changes no path: with -S, only its functions are there

    return site.getsitepackages()


def raise_file_limit() -> None:
    """Raise the soft limit on descriptors, so that many sessions can start at once, whatever the host's limit is."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 8192) if hard > 0 else 8192, hard))


def clear_environment() -> str:
    """Remove every environment variable."""
    os.environ.clear()
    return "no variables"


def leave_root(uid: int) -> str:
    """Drop root and become `uid`. Raises OSError if any id is still 0."""
    if os.getuid() == 0:
        try:
            seal.become(uid)
        except OSError:
            seal.become(65534)  # a container may map few ids; nearly all of them map that of `nobody`
    if 0 in (*os.getresuid(), *os.getresgid()):
        raise OSError(1, f"still uid {os.getuid()}, gid {os.getgid()}")
    return f"uid {os.getuid()}, gid {os.getgid()}, groups {os.getgroups() if os.getgroups() else 'none'}"


def enter_namespaces(found: walls.Walls) -> None:
    """Enter new namespaces, one by one, and record each result. The PID namespace takes effect at the next fork."""
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
    with contextlib.suppress(OSError):  # an addition: not reported as walls
        seal.unshare(seal.CLONE_NEWUTS | seal.CLONE_NEWCGROUP)


def _own_pid_namespace() -> None:
    # Where the kernel has no pidfds (gVisor), this raises before anything is unshared: the host could then signal the
    # processes of a session only by pids of another namespace.
    os.close(os.pidfd_open(os.getpid()))
    seal.unshare(seal.CLONE_NEWPID)
