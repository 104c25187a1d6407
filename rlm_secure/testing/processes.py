"""The processes that attacks need besides a session: a bystander to attack, and the plain Python of a control.

Both may be compromised: they hold nothing but what a target planted. And what any of them has started.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import psutil

from rlm_secure.testing import nested

_LAUNCH = Path(__file__).with_name("launch.py")
#: Only waits; any signal that is not ignored ends it.
_WAIT = "import sys, time\nsys.stdout.write('.')\nsys.stdout.flush()\ntime.sleep(3600)\n"


def bystander(environment: Mapping[str, str], argument: str) -> subprocess.Popen[bytes]:
    """Start a process of the same user that only waits; attacks try to read its `environment` and `argument`."""
    command, namespaces = nested.below([sys.executable, "-I", "-S", "-c", _WAIT, argument])
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        env=_environment(environment),
        pass_fds=namespaces,
    )
    assert process.stdout is not None
    with process.stdout:
        process.stdout.read(1)  # it has started: a signal now reaches the waiting program, not the start-up
    return process


def plain(
    job: Path, environment: Mapping[str, str], directory: Path, *, fds: tuple[int, ...]
) -> subprocess.Popen[bytes]:
    """Start plain Python that runs `job` through launch.py, in a session of its own (setsid).

    It inherits `environment` and `fds`; before the attack runs it sets the limits of the job.
    """
    return subprocess.Popen(
        [sys.executable, "-I", "-B", str(_LAUNCH), str(job)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(environment),
        cwd=directory,
        pass_fds=fds,
        start_new_session=True,
    )


def descendants(pid: int) -> list[psutil.Process]:
    """What a process has started, and what that has; nothing if there is no such process."""
    try:
        return list(psutil.Process(pid).children(recursive=True))
    except psutil.Error:
        return []


def _environment(planted: Mapping[str, str]) -> dict[str, str]:
    environment = {"PATH": os.defpath, "LC_ALL": "C.UTF-8", **planted}
    if library_path := os.environ.get("LD_LIBRARY_PATH"):
        environment["LD_LIBRARY_PATH"] = library_path
    return environment
