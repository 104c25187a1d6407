"""The host process of one peer: `python -P host.py DESCRIPTOR PEER`, in that peer's own interpreter.

Reads a request as a line of JSON from the descriptor, and answers with a line that has the request's number and

    samples    seconds of each operation; `cpu` its processor seconds (this process and all below it), or null
    missing    why the peer has no such thing
    failed     what went wrong

A request that says `once` is to be seen to work: what is short is done once, and one session is weighed.

Imports only the standard library before it has the peer's name.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import json
import os
import socket
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any

BEGAN = time.perf_counter()
ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from benchmarks.peers.peer import PROMPTS, Limits, Missing, Model, Peer, Session, plain_text, told  # noqa: E402

CELL = "x = 1 + 1"
WARM = "x = 1"
#: In two loops, as RestrictedPython's range() has fewer than 1,000.
HELD = "\n".join(
    f"held_{n} = [{{'a': i, 'b': str(i), 'c': i * 2}} for j in range(10) for i in range(100)]" for n in range(20)
)
CONTEXT = "lorem ipsum\n" * (100_000_000 // 12)
SIZE = "n = len(context)"
#: How long one turn repeats what is short, in seconds, and how often at most.
TURN_SECONDS, TURN_MOST = 0.3, 40
#: After how long no further session is opened to be weighed.
MEMORY_SECONDS = 5.0
#: What is kept of each end of what a cell printed, in characters.
SHOWN = 4_000
_PR_SET_CHILD_SUBREAPER = 36
_TICKS = os.sysconf("SC_CLK_TCK")

#: What a probe that reaches the memory of this process finds.
SECRET = ""
SECRET_BYTES = ctypes.create_string_buffer(64)


class Host:
    """The operations of one peer, by name."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._peer: Peer | None = None
        self._kept: dict[str, Session] = {}
        self._models: dict[str, Model] = {}
        self._warmed_up = False

    def answer(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Do what is asked."""
        try:
            return {"id": asked["id"], **getattr(self, f"do_{asked['op']}")(asked)}
        except Missing as reason:
            return {"id": asked["id"], "missing": plain_text(reason)}
        except Exception as error:
            traceback.print_exc()
            return {"id": asked["id"], "failed": plain_text(told(error))[:500]}

    def do_load(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Import the peer, and construct its adapter."""
        global SECRET
        SECRET = asked.get("secret", "")
        SECRET_BYTES.value = SECRET.encode()
        module = importlib.import_module(f"benchmarks.peers.adapters.{self._name}")
        self._peer = module.Adapter(Limits(*asked["limits"]))
        return {"pid": os.getpid(), "address": ctypes.addressof(SECRET_BYTES), "seconds": time.perf_counter() - BEGAN}

    def do_versions(self, _: dict[str, Any]) -> dict[str, Any]:
        return {"versions": self.peer.versions()}

    def do_cold(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Open a session and run a cell in it; the processor time counts its end as well."""
        return self._opened(self.peer.open, most(asked, TURN_MOST))

    def do_pool(self, asked: dict[str, Any]) -> dict[str, Any]:
        opened = self.peer.pool()
        time.sleep(0.1)  # the pool has filled
        return self._opened(opened, most(asked, 4))

    def do_first(self, _: dict[str, Any]) -> dict[str, Any]:
        """The first result of this process."""
        session = self.peer.open()
        ran(session, CELL)
        return {"samples": [time.perf_counter() - BEGAN], "cpu": None}

    def do_warm(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self._cells("warm", "", most(asked, TURN_MOST))

    def do_held(self, asked: dict[str, Any]) -> dict[str, Any]:
        return self._cells("held", HELD, most(asked, TURN_MOST))

    def do_batch(self, _: dict[str, Any]) -> dict[str, Any]:
        model = Model()
        session = self.peer.open(model)
        try:
            ran(session, WARM)
            seconds, cpu = timed(lambda: ran(session, self.peer.batch), live=True)
        finally:
            session.close()
        if model.asked not in (0, PROMPTS):  # 0: its own model was asked
            raise RuntimeError(f"the model was asked {model.asked} times")
        return {"samples": [seconds], "cpu": cpu}

    def do_context(self, _: dict[str, Any]) -> dict[str, Any]:
        session = self.peer.open()
        try:
            ran(session, WARM)

            def load() -> None:
                session.load(CONTEXT)
                ran(session, SIZE)

            seconds, cpu = timed(load)
        finally:
            session.close()
        return {"samples": [seconds], "cpu": cpu}

    def do_memory(self, asked: dict[str, Any]) -> dict[str, Any]:
        """What one more session adds to the proportional set size of this process and all below it, in bytes."""
        sessions: list[Session] = []
        first = self.peer.open()
        ran(first, CELL)
        try:
            before, began = memory(), time.monotonic()
            while not sessions or (len(sessions) < most(asked, 4) and time.monotonic() - began < MEMORY_SECONDS):
                sessions.append(self.peer.open())
                ran(sessions[-1], CELL)
            return {"samples": [max(memory() - before, 0) / len(sessions)], "cpu": None}
        finally:
            for session in (first, *sessions):
                session.close()

    def do_open(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Open the session `name`, with a model if its cells can ask one."""
        model = self._models[asked["name"]] = Model()
        try:
            self._kept[asked["name"]] = self.peer.open(model)
        except Missing:
            self._kept[asked["name"]] = self.peer.open()
        return {}

    def do_run(self, asked: dict[str, Any]) -> dict[str, Any]:
        """Run one cell in the session `name`."""
        said = self._kept[asked["name"]].run(asked["code"])
        printed = plain_text(said.stdout)
        shown = printed if len(printed) <= 2 * SHOWN else f"{printed[:SHOWN]}\n...\n{printed[-SHOWN:]}"
        return {
            "stdout": shown,
            "length": len(printed),
            "error": None if said.error is None else plain_text(said.error)[:SHOWN],
            "asked": self._models[asked["name"]].asked,
        }

    def do_rest(self, _: dict[str, Any]) -> dict[str, Any]:
        """Close the sessions that are kept between turns."""
        while self._kept:
            self._kept.popitem()[1].close()
        self.peer.close()
        return {}

    @property
    def peer(self) -> Peer:
        """The adapter."""
        if self._peer is None:
            raise RuntimeError("no peer was loaded")
        return self._peer

    def _opened(self, begin: Callable[[], Session], at_most: int) -> dict[str, Any]:
        if not self._warmed_up:  # what a process pays once is the row `start`
            self.peer.open().close()
            self._warmed_up = True
        samples: list[float] = []
        cpu, began = processor(), time.perf_counter()
        while not samples or (time.perf_counter() - began < TURN_SECONDS and len(samples) < at_most):
            start = time.perf_counter()
            session = begin()
            ran(session, CELL)
            samples.append(time.perf_counter() - start)
            session.close()
        return {"samples": samples, "cpu": (processor() - cpu) / len(samples)}

    def _cells(self, name: str, before: str, at_most: int) -> dict[str, Any]:
        if name not in self._kept:
            self._kept[name] = self.peer.open()
            ran(self._kept[name], before or WARM)
            for _ in range(5):
                ran(self._kept[name], WARM)
        session, samples = self._kept[name], []
        cpu, began = live_processor(), time.perf_counter()
        while not samples or (time.perf_counter() - began < TURN_SECONDS and len(samples) < at_most):
            start = time.perf_counter()
            ran(session, WARM)
            samples.append(time.perf_counter() - start)
        return {"samples": samples, "cpu": (live_processor() - cpu) / len(samples)}


def most(asked: dict[str, Any], number: int) -> int:
    """How often something is done for a request."""
    return 1 if asked.get("once") else number


def ran(session: Session, code: str) -> None:
    """Run a cell that has to work."""
    said = session.run(code)
    if said.error is not None:
        raise RuntimeError(f"a cell that should run did not: {plain_text(said.error)[:300]}")


def timed(action: Callable[[], None], *, live: bool = False) -> tuple[float, float]:
    """Seconds and processor seconds of an action."""
    clock = live_processor if live else processor
    cpu, start = clock(), time.perf_counter()
    action()
    return time.perf_counter() - start, clock() - cpu


# -- what this process and all below it use ------------------------------------------------------------------


def family() -> list[int]:
    """This process and all below it."""
    parents: dict[int, int] = {}
    for each in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, ValueError):
            parents[int(each)] = int(fields(each)[1])
    found = [os.getpid()]
    for pid in found:
        found += [child for child, parent in parents.items() if parent == pid]
    return found


def fields(pid: int | str) -> list[str]:
    """The fields of /proc/PID/stat after the program's name, which may hold anything: the state first."""
    return Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def processor() -> float:
    """Processor seconds of the family and of its dead, as ticks of the kernel count them (10 ms on most machines)."""
    total = 0
    for pid in family():
        with contextlib.suppress(OSError):
            total += sum(map(int, fields(pid)[11:15]))
    return total / _TICKS


def live_processor() -> float:
    """Processor seconds of the family's living threads, in nanoseconds of the scheduler."""
    total = 0
    for pid in family():
        with contextlib.suppress(OSError):
            for thread in os.listdir(f"/proc/{pid}/task"):
                with contextlib.suppress(OSError):
                    total += int(Path(f"/proc/{pid}/task/{thread}/schedstat").read_text(encoding="ascii").split()[0])
    return total / 1e9


def memory() -> int:
    """Proportional set size of the family in bytes. Raises Missing where a process may not be looked at."""
    total = 0
    for pid in family():
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="ascii").splitlines()
        except PermissionError:
            raise Missing("only root may look at the memory of its processes") from None
        except OSError:
            continue  # it has ended, or is a thread of the kernel
        total += sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))
    return total


def main() -> None:
    """Answer until the other end closes."""
    descriptor = int(sys.argv[1])
    os.set_inheritable(descriptor, False)
    ctypes.CDLL(None).prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)  # what a session leaves behind counts as well
    host = Host(sys.argv[2])
    with socket.socket(fileno=descriptor) as ours, ours.makefile("rwb") as lines:
        for line in lines:
            lines.write(json.dumps(host.answer(json.loads(line))).encode() + b"\n")
            lines.flush()
    os._exit(0)  # whatever a peer would still wait for


if __name__ == "__main__":
    main()
