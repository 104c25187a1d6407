"""Runs one command in a process group of its own, with a bound on its time, and keeps what it printed."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
#: Seconds for a command to end by itself after Ctrl-C, or at its bound: it removes what it made. Then it is killed.
GRACE = 20.0
#: Bytes of an output that are read.
MOST = 64 << 20


@dataclass(frozen=True)
class Command:
    """What to run in ROOT, for how many seconds at most, and which exit codes mean that it came to its end."""

    words: tuple[str, ...]
    bound: float
    variables: tuple[tuple[str, str], ...] = ()
    ends: tuple[int, ...] = (0, 1)


@dataclass(frozen=True)
class Output:
    """How a command ran. `code` is None where it could not be started; below zero: the signal that ended it."""

    command: Command
    code: int | None
    seconds: float
    stdout: str
    stderr: str
    late: bool = False

    @property
    def trouble(self) -> str:
        """Why what it printed says nothing; "" where it came to its end."""
        if self.late:
            return f"it was ended after {self.command.bound:.0f} seconds, its bound"
        if self.code is None:
            return f"it could not be started: {self.stderr}"
        if self.code not in self.command.ends:
            return f"it ended with {self.code}: {self.stderr.strip()[-2000:] or self.stdout.strip()[-2000:]}"
        return ""


def run(command: Command, scratch: Path, tick: Callable[[float], None] = lambda _: None) -> Output:
    """Run it to its end or its bound; `tick` is called with its seconds until then. Ctrl-C ends it first."""
    out, err = scratch / "stdout", scratch / "stderr"
    begun = time.monotonic()
    with out.open("wb") as stdout, err.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                command.words, cwd=ROOT, env=os.environ | {"PYTHONPATH": str(ROOT), **dict(command.variables)},
                stdin=subprocess.DEVNULL, stdout=stdout, stderr=stderr, start_new_session=True,
            )  # fmt: skip
        except OSError as error:
            return Output(command, None, 0.0, "", str(error))
        late = False
        try:
            while process.poll() is None:
                seconds = time.monotonic() - begun
                if late := seconds > command.bound:
                    break
                tick(seconds)
                _wait(process, min(0.5, max(command.bound - seconds, 0.0) + 0.01))
        finally:
            _end(process)
    return Output(command, process.returncode, time.monotonic() - begun, _text(out), _text(err), late)


def _end(process: subprocess.Popen[bytes]) -> None:
    """End its whole group; one that is asked first can clean up after itself."""
    if process.poll() is None:
        _signal(process, signal.SIGINT)
        _wait(process, GRACE)
    _signal(process, signal.SIGKILL)  # also whoever it left behind in its group
    process.wait()


def _signal(process: subprocess.Popen[bytes], number: int) -> None:
    try:
        os.killpg(process.pid, number)
    except ProcessLookupError:
        pass


def _wait(process: subprocess.Popen[bytes], seconds: float) -> None:
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        pass


def _text(path: Path) -> str:
    with path.open("rb") as file:
        return file.read(MOST).decode("utf-8", "backslashreplace")


