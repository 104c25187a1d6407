"""Starts the host processes of the peers, gives them their turns, and bounds them in time from outside.

A peer that dies, hangs or answers what cannot be read has a row that says so; the others go on.
"""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.build import ROOT, Place
from benchmarks.peers.peer import Limits
from benchmarks.peers.probes import PROBES, WAYS, Probe
from benchmarks.peers.snippets import SNIPPETS
from rlm_secure.testing.arena import Arena, ArenaProcess, ArenaRefused, Share

HERE: Final = Path(__file__).parent
CONTROLS: Final = ("in_process", "worker")
"""What a probe has to win against before it is judged anywhere: either of them."""
MOST_BYTES: Final = 1 << 20
"""Longest answer of a host that is read."""
START_SECONDS: Final = 60.0
OPEN_SECONDS: Final = 40.0
ANSWER_SECONDS: Final = 180.0
"""How long a host may take to load its peer, to open a session, and for one turn."""
REST_SECONDS: Final = 30.0
"""The same for closing what is kept between turns."""
GENEROUS: Final = Limits(120.0, 4 << 30, 64 << 20, 64)
"""What is told to peers that are measured."""
TIGHT: Final = Limits(5.0, 256 << 20, 1 << 20, 32)
"""What is told to peers that are probed."""
GRACE_SECONDS: Final = 4.0
"""How much longer than TIGHT says an answer may take before the peer counts as hung."""

Say = Callable[[str], None]


class Gone(Exception):
    """A host that is of no use any more. The message says why; `late` if it did not answer in time."""

    def __init__(self, why: str, *, late: bool = False, nonsense: bool = False) -> None:
        super().__init__(why)
        self.late, self.nonsense = late, nonsense


@dataclass
class Measured:
    """The figures of one peer in one row; a `reason` where there are none."""

    samples: list[float] = field(default_factory=list)
    cpu: list[float] = field(default_factory=list)
    reason: str = ""
    spent: float = 0.0


@dataclass(frozen=True)
class Row:
    """One kind of work. `fresh`: each turn has a host process of its own."""

    name: str
    op: str
    title: str
    rounds: int
    unit: str = "ms"
    fresh: bool = False
    most_seconds: float = 40.0


ROWS: Final = {
    row.name: row
    for row in (
        Row("cold", "cold", "cold session to its first result", 15),
        Row("pool", "pool", "the same from a pool that is full", 10),
        Row("warm", "warm", "a cell `x = 1` in a session that is there", 15),
        Row("held", "held", "the same with 20 lists of 1,000 dicts held", 15),
        Row("batch", "batch", "64 model calls of 50 ms in one batch", 10),
        Row("context", "context", "100 MB of text into a session, and its length", 6, most_seconds=90.0),
        Row("memory", "memory", "memory of one more session (proportional set size)", 3, unit="MB"),
        Row("start", "first", "process start to first result", 10, fresh=True),
    )
}
"""The timed rows, in the table's order; the processor time of `cold` is one of its own there."""
CHECKS: Final = ("containment", "compatibility")


class Link:
    """Lines of JSON to and from a host, which is not trusted to keep to them."""

    def __init__(self, end: socket.socket) -> None:
        self._end = end
        self._kept = bytearray()
        self._number = 0
        self.broken = False

    def ask(self, op: str, seconds: float, **more: Any) -> dict[str, Any]:
        """The answer to a request. Raises Gone, after which it is `broken`."""
        broken, self.broken = self.broken, True
        if broken:
            raise Gone("its host process had failed before")
        answer = self._asked(op, seconds, more)
        self.broken = False
        return answer

    def _asked(self, op: str, seconds: float, more: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        deadline = time.monotonic() + seconds
        try:
            self._end.sendall(json.dumps({"id": self._number, "op": op, **more}).encode() + b"\n")
            line = self._line(deadline, seconds)
        except OSError as error:
            raise Gone(f"its host process ended ({error.strerror})") from None
        try:
            answer = json.loads(line)
            if answer["id"] != self._number:
                raise ValueError
        except (ValueError, TypeError, KeyError, RecursionError):
            raise Gone("its host process answered what cannot be read", nonsense=True) from None
        return dict(answer)

    def _line(self, deadline: float, seconds: float) -> bytes:
        while (end := self._kept.find(b"\n")) < 0:
            if len(self._kept) > MOST_BYTES:
                raise Gone("its host process answered without end", nonsense=True)
            if not select.select([self._end], [], [], max(deadline - time.monotonic(), 0))[0]:
                raise Gone(f"no answer within {seconds:.0f} s", late=True)
            if not (chunk := self._end.recv(1 << 16)):
                raise Gone("its host process ended")
            self._kept += chunk
        line = bytes(self._kept[:end])
        del self._kept[: end + 1]
        return line

    def close(self) -> None:
        """Close our end, which ends the host."""
        self._end.close()


class Hosted:
    """A host process outside of an arena, for work that is measured."""

    def __init__(self, name: str, place: Place, program: Path = HERE / "host.py") -> None:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                command(name, place, theirs.fileno(), program),
                pass_fds=[theirs.fileno()],
                env={**os.environ, **place.environment},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=None if os.environ.get("PEERS_DEBUG") else subprocess.DEVNULL,
                start_new_session=True,
            )
        self.link = Link(ours)

    def load(self, limits: Limits) -> None:
        """Import the peer there. Raises Gone."""
        answer = self.link.ask("load", START_SECONDS, limits=limits)
        if "failed" in answer:
            raise Gone(f"it does not load: {answer['failed']}")

    def close(self) -> None:
        """End the process and what it started. Idempotent."""
        if not self.link.broken:
            with contextlib.suppress(Gone):
                self.link.ask("rest", REST_SECONDS)
        self.link.close()
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(0 if self.link.broken else 2)
        for each in descendants(self._process.pid):
            with contextlib.suppress(ProcessLookupError):
                os.kill(each, signal.SIGKILL)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


def command(name: str, place: Place, descriptor: int, program: Path = HERE / "host.py") -> list[str]:
    """The command line of a peer's host process."""
    return [str(place.python), "-P", "-B", str(program), str(descriptor), name]


def descendants(pid: int) -> list[int]:
    """The processes below one that still lives."""
    import psutil

    try:
        return [child.pid for child in psutil.Process(pid).children(recursive=True)]
    except psutil.Error:
        return []


# -- what is measured ------------------------------------------------------------------------------------------


class Turns:
    """The measured rows: each peer has its turn in each round, so that a slow minute of the machine is everybody's."""

    def __init__(
        self, places: Mapping[str, Place], say: Say, *, program: Path = HERE / "host.py", once: bool = False
    ) -> None:
        self._places, self._say, self._program = places, say, program
        self._once = {"once": True} if once else {}
        self._hosts: dict[str, Hosted] = {}

    def row(self, row: Row, rounds: int) -> dict[str, Measured]:
        """The figures of a row for each peer."""
        found = {name: Measured() for name in self._places}
        for number in range(rounds):
            self._say(f"{row.name}: round {number + 1} of {rounds}")
            for name, own in found.items():
                if own.reason or own.spent > row.most_seconds:
                    continue
                began = time.monotonic()
                try:
                    self._turn(row, name, own)
                except Gone as gone:
                    own.reason = str(gone)
                    self._drop(name)
                own.spent += time.monotonic() - began
        for name in found:
            if name in self._hosts:
                try:
                    self._hosts[name].link.ask("rest", REST_SECONDS)
                except Gone:
                    self._drop(name)
        return found

    def versions(self) -> dict[str, dict[str, str]]:
        """What each peer says of its versions; nothing for one that does not load."""
        found: dict[str, dict[str, str]] = {}
        for name in self._places:
            try:
                found[name] = self._host(name).link.ask("versions", START_SECONDS).get("versions", {})
            except Gone:
                self._drop(name)
        return found

    def close(self) -> None:
        """End every host. Idempotent."""
        for name in list(self._hosts):
            self._drop(name)

    def _turn(self, row: Row, name: str, own: Measured) -> None:
        if row.fresh:
            self._drop(name)
            began = time.perf_counter()
        host = self._host(name)
        answer = host.link.ask(row.op, ANSWER_SECONDS, **self._once)
        if row.fresh:
            answer["samples"] = [time.perf_counter() - began] if "samples" in answer else []
            self._drop(name)
        if reason := answer.get("missing") or answer.get("failed"):
            own.reason = str(reason)[:300]
            return
        try:
            own.samples += [float(f"{each:.5g}") for each in answer["samples"]]
            own.cpu += [] if answer.get("cpu") is None else [float(f"{answer['cpu']:.5g}")]
        except (KeyError, TypeError, ValueError):
            raise Gone("its host process answered what cannot be read") from None

    def _host(self, name: str) -> Hosted:
        if name not in self._hosts:
            host = self._hosts[name] = Hosted(name, self._places[name], self._program)
            host.load(GENEROUS)
        return self._hosts[name]

    def _drop(self, name: str) -> None:
        if (host := self._hosts.pop(name, None)) is not None:
            host.close()


# -- what is checked --------------------------------------------------------------------------------------------


@dataclass
class Checked:
    """The outcomes of one peer's probes or snippets, by their names; a `reason` where it could not be tried."""

    outcomes: dict[str, str] = field(default_factory=dict)
    reason: str = ""


class Ground:
    """One host process in an arena of its own, with plant.py beside it: made for one probe, and thrown away."""

    def __init__(self, name: str, place: Place) -> None:
        self._stack = contextlib.ExitStack()
        try:
            self._begin(name, place)
        except BaseException:
            self.close()
            raise

    def _begin(self, name: str, place: Place) -> None:
        self._secrets = {kind: secrets.token_hex(12) for kind in ("file", "environment", "memory", "decoy")}
        control, theirs = socket.socketpair()
        link, host = socket.socketpair()
        self._stack.callback(control.close)
        self.link = Link(link)
        self._stack.callback(self.link.close)
        with theirs, host:
            plant = [sys.executable, "-I", "-B", str(HERE / "plant.py"), str(theirs.fileno())]
            self._arena: ArenaProcess = self._stack.enter_context(
                Arena(shares(place)).start(
                    [*plant, *command(name, place, host.fileno())],
                    environment=dict(place.environment),
                    stdout=subprocess.DEVNULL,
                    stderr=None if os.environ.get("PEERS_DEBUG") else subprocess.DEVNULL,
                    descriptors=(theirs.fileno(), host.fileno()),
                )
            )
        control.settimeout(START_SECONDS)
        self._control = self._stack.enter_context(control.makefile("rw"))
        self._tell(json.dumps(self._secrets))
        self._facts = self._asked("facts")
        answer = self.link.ask("load", START_SECONDS, limits=TIGHT, secret=self._secrets["memory"])
        if "failed" in answer:
            raise Gone(f"it does not load: {answer['failed']}")
        self._facts |= {"ADDRESS": answer["address"]}

    def open(self, name: str) -> None:
        """Open a session. Raises Gone."""
        answer = self.link.ask("open", OPEN_SECONDS, name=name)
        if "failed" in answer:
            raise Gone(f"no session opens: {answer['failed']}")

    def run(self, name: str, code: str) -> dict[str, Any]:
        """Run a cell in the session. Raises Gone."""
        for fact, value in self._facts.items():
            code = code.replace(f"@{fact}@", str(value))
        return self.link.ask("run", TIGHT.seconds + GRACE_SECONDS, name=name, code=code)

    def rest(self) -> None:
        """Close the sessions. Raises Gone."""
        self.link.ask("rest", REST_SECONDS)

    def won(self, probe: Probe, said: Sequence[dict[str, Any]], gone: Gone | None) -> str:
        """How the probe has won: a key of WAYS, or "" if it has not."""
        heard = "".join(str(each.get(key)) for each in said for key in ("stdout", "error", "failed"))
        seen = self._asked("look")
        if any(secret in heard for secret in self._secrets.values()):
            return "secret"
        for way in ("written", "heard"):
            if seen[way]:
                return way
        if not seen["decoy"]:
            return "decoy"
        if gone is not None and gone.late:
            return "late"
        if gone is not None and gone.nonsense:
            return probe.way if WAYS[probe.way] == "spoofed" else "host"
        if gone is not None or not seen["host"]:
            return "host"
        last = said[-1] if said else {}
        if probe.way == "won" and any("WON" in str(each.get("stdout")) for each in said):
            return "won"
        if probe.way == "silent" and last.get("error", "") is None:
            return "silent"
        if probe.way == "forged" and "FORGED" in str(last.get("stdout")):
            return "forged"
        return ""

    def close(self) -> None:
        """Kill everything in the arena."""
        self._stack.close()

    def _tell(self, line: str) -> None:
        self._control.write(line + "\n")
        self._control.flush()

    def _asked(self, what: str) -> dict[str, Any]:
        try:
            self._tell(what)
            return dict(json.loads(self._control.readline()))
        except (OSError, ValueError, TypeError) as error:
            raise Gone(f"what stands beside it in the arena is gone ({type(error).__name__})") from None


def shares(place: Place) -> tuple[Share, ...]:
    """What an arena has to show that it would hide: the benchmarks, and what the peer is made of."""
    found = Arena().hides([str(ROOT / "benchmarks"), *map(str, place.folders)])
    return tuple(Share(path) for path in sorted(set(found)))


class Judge:
    """Tries probes on one peer.

    A host in which every probe so far was held takes the next one as well, in a new session, which has to compute
    first. What a probe wins there it has to win again in a host of its own; what attacks results always has its own.
    """

    def __init__(self, name: str, place: Place) -> None:
        self._name, self._place = name, place
        self._ground: Ground | None = None

    def outcome(self, probe: Probe) -> str:
        """What became of one probe: one of probes.OUTCOMES. Raises Gone if it could not be tried."""
        if self._ground is not None and WAYS[probe.way] != "spoofed":
            with contextlib.suppress(Gone):
                found = self._tried(probe)
                if found == "held":
                    return found
                if found == "hung":  # the session has worked just before
                    self.close()
                    return found
        self.close()
        try:
            found = self._tried(probe)
        except Gone:  # once more: a machine that is busy may have been late
            self.close()
            found = self._tried(probe)
        if found != "held" or WAYS[probe.way] == "spoofed":
            self.close()
        return found

    def close(self) -> None:
        """End the host. Idempotent."""
        if self._ground is not None:
            self._ground.close()
            self._ground = None

    def _tried(self, probe: Probe) -> str:
        if self._ground is None:
            self._ground = Ground(self._name, self._place)
        ground, name = self._ground, probe.name
        ground.open(name)
        if (works := ground.run(name, "print(6 * 7)")).get("stdout", "").strip() != "42":
            raise Gone(f"a cell that prints 42 does not: {works.get('error') or works.get('failed')}")
        said: list[dict[str, Any]] = []
        gone: Gone | None = None
        try:
            for number, cell in enumerate(probe.cells):
                if probe.second and number == len(probe.cells) - 1:
                    name += ", second"
                    ground.open(name)
                said.append(ground.run(name, cell))
        except Gone as raised:
            gone = raised
        way = ground.won(probe, said, gone)
        if gone is None:
            ground.rest()
        return WAYS[way] if way else "held"


def contain(
    places: Mapping[str, Place], control: Place, say: Say, probes: Sequence[Probe] = PROBES
) -> tuple[dict[str, Checked], list[str]]:
    """The outcomes of all probes for each peer, and the names of those that won no control and were not judged.

    As many peers at a time as there are processors: nothing is timed here but what exceeds a limit by seconds.
    """
    stopping = threading.Event()

    def control_of(probe: Probe) -> bool:
        if stopping.is_set():
            raise Gone("stopped")
        say(f"containment: control of {probe.name}")
        return controlled(control, probe)

    def outcomes_of(name: str, judged: Sequence[Probe]) -> Checked:
        own, judge = Checked(), Judge(name, places[name])
        try:
            for number, probe in enumerate(judged):
                if stopping.is_set():
                    raise Gone("stopped")
                say(f"containment: {name}, {probe.name}, {number + 1} of {len(judged)}")
                own.outcomes[probe.name] = judge.outcome(probe)
        except Gone as error:
            own.reason = str(error)
        finally:
            judge.close()
        return own

    # An arena lives no longer than the thread that made it: a peer has one thread for all of its probes.
    with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        try:
            wins = list(pool.map(control_of, probes))
            judged = [probe for probe, won in zip(probes, wins, strict=True) if won]
            found = dict(zip(places, pool.map(lambda name: outcomes_of(name, judged), places), strict=True))
        except (Gone, ArenaRefused) as error:
            stopping.set()
            return {name: Checked(reason=f"the control could not be run: {error}") for name in places}, []
        except BaseException:  # Ctrl-C: each thread ends after its probe
            stopping.set()
            raise
    return found, [probe.name for probe in probes if probe not in judged]


def controlled(place: Place, probe: Probe) -> bool:
    """Whether the probe wins against plain Python. Raises Gone and ArenaRefused."""
    for name in CONTROLS:
        judge = Judge(name, place)
        try:
            if judge.outcome(probe) != "held":
                return True
        finally:
            judge.close()
    return False


def fits(said: Iterable[dict[str, Any]], wanted: str) -> bool:
    """Whether the last cell printed what it should, and none failed."""
    answers = list(said)
    return all(each.get("error", "") is None for each in answers) and answers[-1]["stdout"].strip() == wanted.strip()


def compatible(places: Mapping[str, Place], say: Say, snippets: Sequence[Any] = SNIPPETS) -> dict[str, Checked]:
    """Which snippets run and print the right thing, for each peer."""
    found = {name: Checked() for name in places}
    for name, own in found.items():
        say(f"compatibility: {name}")
        host: Hosted | None = None
        try:
            for number, (snippet, cells, wanted) in enumerate(snippets):
                if host is None:
                    host = Hosted(name, places[name])
                    host.load(GENEROUS)
                try:
                    opened = host.link.ask("open", OPEN_SECONDS, name=str(number))
                    if "failed" in opened:
                        raise Gone(f"no session opens: {opened['failed']}")
                    said = [host.link.ask("run", 30.0, name=str(number), code=cell) for cell in cells]
                    own.outcomes[snippet] = "runs" if fits(said, wanted) else "fails"
                    host.link.ask("rest", REST_SECONDS)
                except Gone as gone:
                    if not own.outcomes:
                        raise
                    own.outcomes[snippet] = f"fails: {gone}"
                    host.close()
                    host = None
        except Gone as gone:
            own.reason = str(gone)
        finally:
            if host is not None:
                host.close()
    return found


@contextlib.contextmanager
def taking_turns(places: Mapping[str, Place], say: Say, **more: Any) -> Iterator[Turns]:
    """Turns, whose hosts are ended in any case."""
    turns = Turns(places, say, **more)
    try:
        yield turns
    finally:
        turns.close()


def as_plain(found: Mapping[str, Any]) -> dict[str, Any]:
    """Dataclasses as what JSON can hold."""
    return {name: asdict(own) for name, own in found.items()}
