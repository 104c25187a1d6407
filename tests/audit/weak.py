"""Environments without walls, to show that an audit can fail, and ones that fail themselves. Test-only."""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable
from pathlib import Path

import psutil

from rlm_secure.testing import Adapter, Said


class Raises(Adapter):
    """Works until the judge has tried it, then raises."""

    def run(self, code: str, timeout: float) -> Said:
        if "TARGET" in code:
            raise RuntimeError("the adapter is broken")
        return _printed(code)


class RaisesOnce(Adapter):
    """Raises in its first session, and holds after that: nobody can reach anything in it."""

    def run(self, code: str, timeout: float) -> Said:
        mark = f"/tmp/raised-once-{os.getppid()}"
        if "TARGET" in code and not os.path.exists(mark):
            open(mark, "w").close()
            raise RuntimeError("only this once")
        return _printed(code)


class NeverStarts(Adapter):
    """Has no session to give."""

    def __init__(self) -> None:
        raise OSError("there is no such sandbox")

    def run(self, code: str, timeout: float) -> Said:
        raise AssertionError


class Dies(Adapter):
    """Takes its host along as soon as it is attacked."""

    def run(self, code: str, timeout: float) -> Said:
        if "TARGET" in code:
            os.abort()
        return _printed(code)


class Boasts(Adapter):
    """Says WON where nothing was won: in an error, in a traceback, and in the middle of a word."""

    def run(self, code: str, timeout: float) -> Said:
        if "x = 1" in code:
            return Said('  print("WON it")\nSWONK', "WON said to stderr", "WON in an error")
        return _printed(code)


class Paints(Adapter):
    """Raises what would drive a terminal."""

    def __init__(self) -> None:
        raise OSError("\x1b]0;mine\x07\x1b[2J\nsecond line")

    def run(self, code: str, timeout: float) -> Said:
        raise AssertionError


class Picks(Adapter):
    """Runs one attack of many, and fails at all others."""

    def run(self, code: str, timeout: float) -> Said:
        trial = code.startswith("TARGET = ") or "HAS" in code or "6 * 7" in code
        if not trial and "open" not in code:
            raise RuntimeError("not this one")
        return _printed(code)


class Thief(Adapter):
    """Wants to be the judge, and says how far it came."""

    def __init__(self) -> None:
        judge = psutil.Process(os.getppid()).ppid()
        raise RuntimeError(f"took {' '.join(taken(judge)) or 'nothing'} of the judge")

    def run(self, code: str, timeout: float) -> Said:
        raise AssertionError


def taken(pid: int) -> list[str]:
    """The ways into the process `pid` that are open to this one. Each would do to write its verdicts."""
    libc = ctypes.CDLL(None, use_errno=True)

    def pidfd_getfd() -> None:
        pidfd = os.pidfd_open(pid)
        done(libc.syscall(438, pidfd, 1, 0))

    def signal() -> None:
        os.kill(pid, 0)

    def trace() -> None:
        done(libc.ptrace(16, pid, 0, 0))  # PTRACE_ATTACH
        os.waitpid(pid, 0)
        done(libc.ptrace(17, pid, 0, 0))

    def cover() -> None:
        with open(f"/proc/{pid}/mountinfo", encoding="utf-8") as file:
            before = file.read()
            done(libc.mount(b"tmpfs", os.fsencode(Path(__file__).parent), b"tmpfs", 0, b"size=64k"))
            file.seek(0)
            assert file.read() != before, "only for itself"

    ways: dict[str, Callable[[], object]] = {
        "memory": lambda: open(f"/proc/{pid}/mem", "r+b").close(),
        "descriptors": lambda: [os.stat(f"/proc/{pid}/fd/{each}") for each in os.listdir(f"/proc/{pid}/fd")],
        "copies": pidfd_getfd,
        "files": lambda: os.listdir(f"/proc/{pid}/root/"),
        "environment": lambda: open(f"/proc/{pid}/environ", "rb").read(),
        "namespace": lambda: done(libc.setns(os.open(f"/proc/{pid}/ns/mnt", os.O_RDONLY), 0)),
        "signals": signal,
        "pace": lambda: os.sched_setscheduler(pid, os.SCHED_BATCH, os.sched_param(0)),
        "steps": trace,
        "mounts": cover,
    }
    found = []
    for name, way in ways.items():
        with contextlib.suppress(OSError, AssertionError):
            way()
            found.append(name)
    return found


def done(result: int) -> None:
    """Raise OSError for a call that failed."""
    if result < 0:
        raise OSError(ctypes.get_errno(), "refused")


def no_adapter() -> object:
    """Makes something else."""
    return object()


def _printed(code: str) -> Said:
    """What the judge's own trials print, and nothing for all the rest."""
    if "6 * 7 == 42" in code:
        return Said("HAS True\n")
    return Said("42\n" if "print(6 * 7)" in code else "")
