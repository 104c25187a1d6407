"""What a session holds, and what that costs its next cells: descriptions of variables, and copies after checkpoints."""

from __future__ import annotations

import io
import itertools
import os
import signal
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack

from benchmarks.local import policy, repeated
from benchmarks.runner import Case, benchmark
from rlm_secure import REPLResult, Sandbox
from rlm_secure.broker.protocol import CellResult, check_nonce, decode, event, fresh_nonce
from rlm_secure.environments.repl import to_repl_result
from rlm_secure.guest import wire

IN_A_ROW = 20
HELD = {
    "20 lists of 1,000 dicts": "held = [[{'a': j, 'b': str(j)} for j in range(1000)] for i in range(20)]\n"
    + "\n".join(f"h{i} = held[{i}]" for i in range(20)),
    "255 ints": "\n".join(f"v{i} = {i}" for i in range(250)),
    "400,000 dicts": "d = [{'a': i} for i in range(400_000)]",
}


class PlainWorker:
    """A forked process that compiles, runs and answers in JSON, without any wall or check."""

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._pid = os.fork()
        if not self._pid:
            self._ours.close()
            space: dict[str, object] = {}
            while code := theirs.recv(1 << 16):
                exec(compile(code.decode(), "<cell>", "exec"), space)
                theirs.send(repr(space.get("x")).encode())
            os._exit(0)
        theirs.close()

    def run(self, code: str) -> str:
        """Run one cell. Returns the repr of `x`."""
        self._ours.send(code.encode())
        return self._ours.recv(1 << 16).decode()

    def close(self) -> None:
        """End it."""
        self._ours.close()
        os.waitpid(self._pid, 0)


class PlainProtocol:
    """A forked process without walls, which is asked and answers as a session is.

    It is the least that a cell can cost with what a session keeps whatever its walls are: a frame of JSON with a fresh
    nonce each way, the host's one decoder with its limits, a process that is stopped between cells, and a typed result.
    It compiles nothing twice, finds no changes, knows no limits, deadlines, turns or logs, and is not restored.
    """

    def __init__(self) -> None:
        self._ours, theirs = socket.socketpair()
        self._limits = policy().limits
        self._pid = os.fork()
        if not self._pid:
            self._ours.close()
            _answer_frames(theirs)
            os._exit(0)
        theirs.close()
        self._pidfd = os.pidfd_open(self._pid)
        self._signal(signal.SIGSTOP)

    def run(self, code: str) -> REPLResult:
        """Run one cell."""
        nonce, limits = fresh_nonce(), self._limits
        self._ours.send(wire.frame({"op": "exec", "code": code, "values": True, "nonce": nonce}))
        self._signal(signal.SIGCONT)
        data = self._ours.recv(1 << 16)
        self._signal(signal.SIGSTOP)
        frame = decode(data[4:], limit=limits.result_bytes)
        said = event(
            frame,
            value_bytes=limits.value_bytes,
            stdout_bytes=limits.stdout_bytes,
            result_bytes=limits.result_bytes,
        )
        check_nonce(frame, nonce)
        assert isinstance(said, CellResult)
        return to_repl_result(said, [])

    def _signal(self, number: signal.Signals) -> None:
        signal.pidfd_send_signal(self._pidfd, number)

    def close(self) -> None:
        """End it."""
        self._ours.close()
        self._signal(signal.SIGCONT)
        os.close(self._pidfd)
        os.waitpid(self._pid, 0)


def _answer_frames(channel: socket.socket) -> None:
    """Run what comes, until the other end is closed. Each frame is short, and so comes and goes in one piece."""
    space: dict[str, object] = {}
    known: dict[str, object] = {}
    while data := channel.recv(1 << 16):
        request = wire.loads(data[4:])
        code = request["code"]
        if code not in known:
            known[code] = compile(code, "<cell>", "exec")
        sys.stdout = printed = io.StringIO()
        exec(known[code], space)  # type: ignore[arg-type]
        value = space["x"]
        done = {
            "op": "done", "variables": {"x": {"type": type(value).__name__, "value": value, "whole": value}},
            "gone": [], "value": None, "files": {}, "answer": None, "error": None, "stdout": printed.getvalue(),
            "stderr": "", "dropped": 0, "peak": 0, "cpu": 0.0, "nonce": request["nonce"],
        }  # fmt: skip
        channel.send(wire.frame(done))


@benchmark("held-state", "`x = 1` in a session that holds much; the first is a plain process that holds nothing")
def held_state() -> Iterator[Sequence[Case]]:
    plain, framed = PlainWorker(), PlainProtocol()
    boxes = {"nothing": Sandbox(policy=policy(pool=0))}
    for name, setup in HELD.items():
        boxes[name] = Sandbox(policy=policy(pool=0))
        boxes[name].run(setup).check()
    boxes["a context of 2,000 dicts"] = Sandbox(
        policy=policy(pool=0), context=[{"a": number, "b": "t" * 20} for number in range(2000)]
    )
    cases = [
        Case("a plain process", repeated(lambda: plain.run("x = 1"), IN_A_ROW), units=IN_A_ROW),
        Case("a plain process with our protocol", repeated(lambda: framed.run("x = 1"), IN_A_ROW), units=IN_A_ROW),
    ]
    for name, box in boxes.items():
        cases.append(Case(f"{name} held", repeated(lambda box=box: box.run("x = 1"), IN_A_ROW), units=IN_A_ROW))  # type: ignore[misc]
    number, run = iter(range(1 << 60)), boxes["nothing"].run
    another = repeated(lambda: run(f"x = {next(number)}"), IN_A_ROW)
    cases.append(Case("nothing held, another cell each time", another, units=IN_A_ROW))
    yield cases
    for box in boxes.values():
        box.close()
    framed.close()  # first: it has the descriptors of the one that was forked before it
    plain.close()


#: Sessions of each kind that take turns: two that do the same differ by a tenth, by where the kernel puts their pages.
_SESSIONS = 3


def _steady(setup: str) -> Callable[[], Iterator[Sequence[Case]]]:
    def cases() -> Iterator[Sequence[Case]]:
        cell = "t = 0\nfor each in d: t += 1"
        kinds = {"without checkpoints": False, "with checkpoints": True, "others without": False}
        with ExitStack() as opened:
            boxes: dict[str, list[Sandbox]] = {name: [] for name in kinds}
            for _ in range(_SESSIONS):
                for name, kept in kinds.items():
                    box = opened.enter_context(Sandbox(policy=policy(pool=0, checkpoints=kept)))
                    box.run(setup).check()
                    boxes[name].append(box)

            def rest() -> None:  # as a session does while a model thinks: long enough for a checkpoint
                time.sleep(0.05)

            def spent(those: Sequence[Sandbox]) -> Callable[[], float]:
                turns = itertools.cycle(those)
                return lambda: next(turns).run(cell).check().cpu_seconds

            yield [Case(name, lambda: None, before=rest, value=spent(those)) for name, those in boxes.items()]

    return cases


for _name, _setup in {
    "empty": "d = []",
    "10mb": "d = list(range(300_000))",
    "400000-dicts": "d = [{'a': i} for i in range(400_000)]",
}.items():
    benchmark(f"checkpoints-{_name}", "CPU seconds of a cell that walks through what is held, after 50 ms of rest")(
        _steady(_setup)
    )
