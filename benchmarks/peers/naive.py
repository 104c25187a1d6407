"""A worker process as most people write it: lines of JSON on its standard input and output, a dictionary of names.

It is the baseline, and what runs inside of those peers that wall in a command (bubblewrap, sandlock, srt).
"""

from __future__ import annotations

import json
import os
import selectors
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from typing import IO

from benchmarks.peers.peer import Missing, Model, Said, Session

#: The program in the process.
INSIDE = """
import contextlib, io, json, sys

names = {"__name__": "__main__"}

def say(message):
    sys.__stdout__.write(json.dumps(message) + "\\n")
    sys.__stdout__.flush()

def llm_query_batched(prompts):
    say({"prompts": list(prompts)})
    return json.loads(sys.stdin.readline())["replies"]

names["llm_query_batched"] = llm_query_batched
names["llm_query"] = lambda prompt: llm_query_batched([prompt])[0]

def run(code):
    printed, error = io.StringIO(), None
    with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
        try:
            exec(compile(code, "<cell>", "exec"), names)
        except BaseException as raised:
            error = f"{type(raised).__name__}: {raised}"
    return {"stdout": printed.getvalue(), "error": error}

for line in sys.stdin:
    asked = json.loads(line)
    names.update(asked.get("bind", {}))
    say(run(asked["code"]))
"""
_CHUNK = 1 << 20


class Naive(Session):
    """The host's side of that process. Killed when a cell takes too long, and then the session is over."""

    def __init__(self, to: IO[bytes], back: IO[bytes], seconds: float, model: Model | None) -> None:
        self._to, self._back = to, back
        self._seconds, self._model = seconds, model
        self._kept = bytearray()
        self._over = ""

    def run(self, code: str) -> Said:
        return self._ask({"code": code})

    def load(self, text: str) -> None:
        self._ask({"code": "", "bind": {"context": text}})

    def close(self) -> None:
        self._over = self._over or "the session is closed"
        self.end()
        for end in (self._to, self._back):
            try:
                end.close()
            except OSError:
                pass  # a frame that nobody reads any more

    def end(self) -> None:
        """Kill the process."""
        raise NotImplementedError

    def _ask(self, frame: dict[str, object]) -> Said:
        if self._over:
            return Said(error=self._over)
        deadline = time.monotonic() + self._seconds
        try:
            self._send(frame)
            while "prompts" in (answer := self._line(deadline)):
                if self._model is None:
                    raise Missing("no model was given")
                self._send({"replies": self._model.many(answer["prompts"])})
            return Said(str(answer["stdout"]), answer["error"])
        except TimeoutError:
            why = f"stopped after {self._seconds:g} s"
        except (EOFError, BrokenPipeError):
            why = "the process ended"
        except (ValueError, KeyError, TypeError, RecursionError):
            why = "the process said what cannot be read"
        self._over = f"{why}, and the session with it"
        self.end()
        return Said(error=self._over)

    def _send(self, frame: dict[str, object]) -> None:
        self._to.write(json.dumps(frame).encode() + b"\n")
        self._to.flush()

    def _line(self, deadline: float) -> dict[str, object]:
        with selectors.DefaultSelector() as ready:
            ready.register(self._back, selectors.EVENT_READ)
            while (end := self._kept.find(b"\n")) < 0:
                if not ready.select(max(deadline - time.monotonic(), 0)):
                    raise TimeoutError
                if not (chunk := os.read(self._back.fileno(), _CHUNK)):
                    raise EOFError
                self._kept += chunk
        line = bytes(self._kept[:end])
        del self._kept[: end + 1]
        found = json.loads(line)
        if not isinstance(found, dict):
            raise TypeError
        return found


class Process(Naive):
    """The worker as a child of this process; `words` are command(), and what walls it in."""

    def __init__(self, words: Sequence[str], seconds: float, model: Model | None) -> None:
        self._child = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        assert self._child.stdin is not None
        assert self._child.stdout is not None
        super().__init__(self._child.stdin, self._child.stdout, seconds, model)

    def end(self) -> None:
        if self._child.returncode is None:
            os.killpg(self._child.pid, signal.SIGKILL)
            self._child.wait()


def command() -> list[str]:
    """The command line of the worker, with the interpreter outside of any virtual environment."""
    return [os.path.realpath(sys.executable), "-I", "-S", "-c", INSIDE]
