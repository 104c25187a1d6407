"""Runs `rlm-secure` commands as a user does, in a process for each, without importing everything a second time.

`python -m tests.servers.commands FD` has imported what commands use, and forks for each command that it is sent
(forked.py): that process runs `rlm_secure.__main__`, and ends as any other. Imports are two thirds of the processor time
of a command that has little to do. What a test asks of the start itself, of signals or of a terminal runs in a process
that is started as usual.
"""

from __future__ import annotations

import functools
import importlib
import os
import pkgutil
import runpy
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import rlm_secure
from tests import forked

#: Not on the host, or too heavy for the few commands that use them: what commands import late, they import late here, too.
LEFT_OUT = ("rlm_secure.guest.", "rlm_secure.__main__", "rlm_secure.clouds.")


def run(
    command: Sequence[str | Path],
    *,
    stdin: bytes = b"",
    env: Mapping[str, str],
    cwd: Path | None = None,
    timeout: float = 60,
) -> subprocess.CompletedProcess[bytes]:
    """`rlm-secure COMMAND...`: its exit code, stdout and stderr, as subprocess.run has them. Raises what that raises."""
    words = [str(each) for each in command]
    if _python(env) != _python(os.environ):  # these are read as an interpreter starts
        whole = [sys.executable, "-m", "rlm_secure", *words]
        return subprocess.run(whole, input=stdin, env=dict(env), cwd=cwd, timeout=timeout, capture_output=True)
    return _server().run(["rlm-secure", *words], stdin=stdin, env=env, cwd=cwd or Path.cwd(), timeout=timeout, file=None)


def run_file(
    path: Path, *arguments: str, env: Mapping[str, str], cwd: Path, timeout: float
) -> subprocess.CompletedProcess[bytes]:
    """`python FILE ARGUMENT...`, likewise: a program that uses the package."""
    return _server().run([str(path), *arguments], env=env, cwd=cwd, timeout=timeout, file=str(path))


def _python(variables: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in variables.items() if name.startswith("PYTHON")}


@functools.cache
def _server() -> forked.Server:
    return forked.Server("-m", "tests.servers.commands")


def _load() -> None:
    for found in pkgutil.walk_packages(rlm_secure.__path__, "rlm_secure."):
        if not found.name.startswith(LEFT_OUT):
            importlib.import_module(found.name)
    importlib.import_module("openai")


if __name__ == "__main__":
    _load()
    program = forked.serve(socket.socket(fileno=int(sys.argv[1])))["file"]
    if program is None:
        runpy.run_module("rlm_secure", run_name="__main__", alter_sys=True)
    else:
        sys.path[0] = str(Path(program).parent)
        runpy.run_path(program, run_name="__main__")
