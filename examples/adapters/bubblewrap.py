"""Bubblewrap with the usual recipe around a Python process that keeps its names (apt install bubblewrap).

    rlm-secure audit --env examples.adapters.bubblewrap:open_session

New namespaces, a file system of /usr and the interpreter alone, no capabilities, an empty environment. It limits
neither memory nor processes nor the processor, and filters no system calls. --die-with-parent means the thread that
opened the session: it has to live as long as the session.
"""

from __future__ import annotations

import json
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

from rlm_secure.testing import Adapter, Said

#: The program in there. It reads a frame of JSON a line, and answers with a line: the error, or null. What the code
#: prints goes straight to descriptors 1 and 2, that of its child processes too.
INSIDE = """
import json, os, sys

frames, answers = os.fdopen(os.dup(0), "rb"), os.fdopen(int(sys.argv.pop()), "w")
os.set_inheritable(answers.fileno(), False)
os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
printed, names, process = {1: os.dup(1), 2: os.dup(2)}, {"__name__": "__main__"}, os.getpid()

def run(frame):
    try:
        exec(compile(json.loads(frame), "<cell>", "exec"), names)
    except BaseException as raised:
        try:
            return f"{type(raised).__name__}: {raised}"
        except BaseException:
            return "an exception that does not let itself be shown"

for frame in frames:
    sys.stdout, sys.stderr = (
        open(os.dup2(printed[number], number), "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        for number in (1, 2)  # anew each time: the code may have closed or replaced them
    )
    error = run(frame)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except BaseException:
            pass
    if os.getpid() != process:  # the code forked, and this is its child
        os._exit(0)
    answers.write(json.dumps(error) + "\\n")
    answers.flush()
"""

START_SECONDS = 20.0
#: How long what is in the sandbox may outlive bwrap, which the kernel kills it with.
END_SECONDS = 2.0
CHUNK = 2**16
#: No more than this is kept of what a run prints, of each stream.
MOST_PRINTED = 64 * 2**20
#: A longer answer is not waited for.
MOST_ANSWERED = 2**20


class Bubblewrap(Adapter):
    """One process behind bwrap. Killed when a run takes too long, and then the session is over."""

    def __init__(self) -> None:
        self._over: str | None = None
        self._answers, answering = os.pipe()
        try:
            self._child = subprocess.Popen(
                [*walls(), "--", interpreter(), "-I", "-c", INSIDE, str(answering)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=[answering],
            )
        except OSError:
            os.close(self._answers)
            raise
        finally:
            os.close(answering)
        assert self._child.stdin and self._child.stdout and self._child.stderr
        self._frames, self._out, self._err = self._child.stdin, self._child.stdout, self._child.stderr
        for end in (self._frames.fileno(), self._out.fileno(), self._err.fileno(), self._answers):
            os.set_blocking(end, False)
        started = self.run("", START_SECONDS)
        if started.error is not None:
            self.close()
            raise RuntimeError(f"bubblewrap does not start here: {started.stderr.strip() or started.error}")

    def run(self, code: str, timeout: float) -> Said:
        """Send `code`, and collect what it prints until the answer comes."""
        if self._over:
            return Said(error=self._over)
        printed = {self._out.fileno(): bytearray(), self._err.fileno(): bytearray()}
        error: str | None = None
        try:
            answer = self._ask(json.dumps(code).encode() + b"\n", printed, time.monotonic() + timeout)
            error = None if answer is None else str(answer)
        except TimeoutError:
            error = self._kill(f"stopped after {timeout:g} s, and the session with it")
        except EOFError:
            error = self._kill("the process in the sandbox ended, and the session with it")
        except (ValueError, RecursionError):
            error = self._kill("the answer was no answer; the session is over")
        for end, kept in printed.items():
            drain(end, kept)
        out, err = (kept.decode("utf-8", "replace") for kept in printed.values())
        return Said(out, err, error)

    def load_context(self, context: Any) -> None:
        """Read it from JSON in there."""
        said = self.run(f"context = __import__('json').loads({json.dumps(context)!r})", START_SECONDS)
        if said.error is not None:
            raise RuntimeError(f"the context was not loaded: {said.error}")

    def close(self) -> None:
        """Kill bwrap: everything in its namespace of processes goes with it."""
        if self._answers < 0:
            return
        self._kill("the session is closed")
        for end in (self._frames, self._out, self._err):
            try:
                end.close()
            except OSError:  # a frame that was never sent
                pass
        os.close(self._answers)
        self._answers = -1

    def _ask(self, frame: bytes, printed: dict[int, bytearray], deadline: float) -> Any:
        """Send the frame and read the answer, while what is printed is taken off the pipes."""
        answer, frames = bytearray(), self._frames.fileno()
        with selectors.DefaultSelector() as ready:
            ready.register(frames, selectors.EVENT_WRITE)
            for end in (*printed, self._answers):
                ready.register(end, selectors.EVENT_READ)
            while b"\n" not in answer:
                if (left := deadline - time.monotonic()) <= 0:
                    raise TimeoutError
                for key, _ in ready.select(left):
                    if key.fd == frames:
                        frame = send(frames, frame)
                        if not frame:
                            ready.unregister(frames)
                    elif not (chunk := os.read(key.fd, CHUNK)):
                        if key.fd == self._answers:
                            raise EOFError
                        ready.unregister(key.fd)
                    elif key.fd == self._answers:
                        answer += chunk
                    else:
                        keep(printed[key.fd], chunk)
                if len(answer) > MOST_ANSWERED:
                    raise ValueError
        return json.loads(answer.partition(b"\n")[0])

    def _kill(self, why: str) -> str:
        self._over = self._over or why
        self._child.kill()
        self._child.wait()
        wait_for_end(self._answers, END_SECONDS)
        return why


def walls() -> list[str]:
    """The recipe: what there is in the sandbox, and nothing else."""
    recipe = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session", "--cap-drop", "ALL", "--clearenv"]
    recipe += ["--setenv", "PATH", "/usr/bin:/bin", "--setenv", "HOME", "/tmp", "--setenv", "LANG", "C.UTF-8"]
    recipe += ["--ro-bind", "/usr", "/usr", "--ro-bind-try", "/etc/ld.so.cache", "/etc/ld.so.cache"]
    for top in (Path("/bin"), Path("/sbin"), Path("/lib"), Path("/lib64")):
        if top.is_symlink():
            recipe += ["--symlink", str(top.readlink()), str(top)]
        elif top.is_dir():
            recipe += ["--ro-bind", str(top), str(top)]
    recipe += ["--proc", "/proc", "--dev", "/dev", "--tmpfs", "/tmp", "--chdir", "/tmp"]
    prefix = Path(sys.base_prefix).resolve()
    if not prefix.is_relative_to("/usr"):
        recipe += ["--ro-bind", str(prefix), str(prefix)]
    return recipe


def interpreter() -> str:
    """The Python that runs this one, outside of any virtual environment."""
    return str(Path(sys.executable).resolve())


def send(end: int, frame: bytes) -> bytes:
    """Write as much as the pipe takes; what is left of the frame."""
    try:
        return frame[os.write(end, frame[:CHUNK]) :]
    except BrokenPipeError:  # nobody reads: the answer will not come, and its end says so
        return b""


def keep(kept: bytearray, chunk: bytes) -> None:
    """Add the chunk, as far as there is room."""
    kept += chunk[: MOST_PRINTED - len(kept)]


def drain(end: int, kept: bytearray) -> None:
    """Take what is still in the pipe, which may be filled again at the same time: no more than there is room for."""
    try:
        while len(kept) < MOST_PRINTED and (chunk := os.read(end, CHUNK)):
            keep(kept, chunk)
    except BlockingIOError:
        pass


def wait_for_end(end: int, seconds: float) -> None:
    """Wait until nobody holds the other end of the pipe any more."""
    deadline = time.monotonic() + seconds
    with selectors.DefaultSelector() as ready:
        ready.register(end, selectors.EVENT_READ)
        while (left := deadline - time.monotonic()) > 0 and (not ready.select(left) or os.read(end, CHUNK)):
            pass


def open_session() -> Adapter:
    """A session behind bwrap."""
    return Bubblewrap()
