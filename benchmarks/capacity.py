"""How much work fits on how many nodes, and what ends first: `python -m benchmarks.capacity`.

A discrete-event simulation of batches under engine="ray". Its figures for one node are measured in the same run: the
processor time of a run, the bytes of its log, the time that the driver spends on a message and on a lease, and the
memory of a session. The simulated batch of one node is then compared with a measured one. What cannot be measured here
(the provider's quota, the network, prices) are assumptions, all in `Assumed`, and printed with the results.
"""

from __future__ import annotations

import heapq
import math
import os
import pickle
import resource
import sys
import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import psutil

from rlm_secure import RLM, RLMLogger, Sandbox
from rlm_secure.removal import Scratch
from rlm_secure.rlm.budget import Allowance, Ledger, Spent
from rlm_secure.scale.leases import Account, LeaseNeed, Leases

CELL = "```repl\nfinal_answer(llm_query(context))\n```"
CALLS = 2
NODES = (1, 10, 100, 10_000)
#: Messages of a run to the driver: the account at the start and at the end of each call, and the item.
MESSAGES = 2 * CALLS + 1


@dataclass(frozen=True)
class Measured:
    """Of one node, in seconds and bytes. `driver_lease` is for each node: the driver looks at all accounts."""

    cpu_run: float
    log_bytes: float
    driver_message: float
    driver_lease: float
    session_bytes: float
    node_bytes: float


@dataclass(frozen=True)
class Assumed:
    """What depends on where it runs. `quota`: calls a second; `link`: bytes a second into the driver's machine."""

    call_seconds: float = 2.0
    quota: float = 500.0
    link: float = 125e6
    registry: float = 1.25e9
    image_bytes: float = 600e6
    processors: int = 8
    node_memory: float = 32e9
    slots: int = 256
    dollars_processor_hour: float = 0.04


class Server:
    """Work that waits in order for one of `width` places; `busy` is the sum of what was done, in seconds."""

    def __init__(self, clock: Clock, width: int) -> None:
        self.clock, self.free, self.width = clock, width, width
        self.waiting: deque[tuple[float, Callable[[], None]]] = deque()
        self.busy = 0.0

    def work(self, seconds: float, then: Callable[[], None]) -> None:
        """Do something that takes so long, and then go on."""
        self.waiting.append((seconds, then))
        self._next()

    def _next(self) -> None:
        if self.free and self.waiting:
            seconds, then = self.waiting.popleft()
            self.free -= 1
            self.busy += seconds
            self.clock.after(seconds, lambda: self._done(then))

    def _done(self, then: Callable[[], None]) -> None:
        self.free += 1
        then()
        self._next()

    def share(self) -> float:
        """The part of its time that it was busy."""
        return self.busy / (self.width * self.clock.now) if self.clock.now else 0.0


class Clock:
    """Simulated time."""

    def __init__(self) -> None:
        self.now = 0.0
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._number = 0

    def after(self, seconds: float, then: Callable[[], None]) -> None:
        """Call `then` so much later."""
        self._number += 1
        heapq.heappush(self._events, (self.now + seconds, self._number, then))

    def run(self) -> None:
        """Until nothing is left."""
        while self._events:
            self.now, _, then = heapq.heappop(self._events)
            then()


@dataclass(frozen=True)
class Outcome:
    """A simulated batch: its seconds, and how busy each part was. `leases` is how many were asked for."""

    seconds: float
    runs: int
    shares: dict[str, float]
    leases: int

    @property
    def first(self) -> str:
        """What ends first as more nodes come: the busiest part."""
        return max(self.shares, key=lambda name: self.shares[name])


def simulate(measured: Measured, assumed: Assumed, nodes: int, runs: int, allowance: int = 10**7) -> Outcome:
    """A batch of `runs` prompts, of which each node runs `slots` at a time."""
    clock = Clock()
    driver, link, provider = Server(clock, 1), Server(clock, 1), Server(clock, 1)
    processors = [Server(clock, assumed.processors) for _ in range(nodes)]
    left, leased, todo, asked = [0] * nodes, 0, runs, 0

    def take(node: int) -> None:
        nonlocal todo
        if todo:
            todo -= 1
            processors[node].work(measured.cpu_run / (CALLS + 1), lambda: call(node, CALLS))

    def call(node: int, more: int) -> None:
        nonlocal leased, asked
        if not more:
            told = lambda: driver.work(measured.driver_message, lambda: take(node))  # noqa: E731
            link.work(measured.log_bytes / assumed.link, told)
            return
        if left[node]:
            left[node] -= 1
            made(node, more)
            return
        share = max(1, (allowance - leased) // (2 * nodes))
        leased, asked = leased + share, asked + 1
        left[node] += share
        driver.work(measured.driver_lease * nodes, lambda: call(node, more))

    def made(node: int, more: int) -> None:
        driver.work(2 * measured.driver_message, lambda: None)  # its account, before the call and after it
        step = measured.cpu_run / (CALLS + 1)
        back = lambda: processors[node].work(step, lambda: call(node, more - 1))  # noqa: E731
        provider.work(1 / assumed.quota, lambda: clock.after(assumed.call_seconds, back))

    for node in range(nodes):
        for _ in range(min(assumed.slots, -(-runs // nodes))):
            take(node)
    clock.run()
    busiest = max(processors, key=lambda each: each.busy)
    shares = {"provider's quota": provider, "driver": driver, "logs": link, "processors": busiest}
    return Outcome(clock.now, runs, {name: each.share() for name, each in shares.items()}, asked)


def measure(runs: int, concurrency: int, call_seconds: float, folder: Path) -> tuple[Measured, float]:
    """The figures of this machine, and the seconds of a batch here."""
    rlm = RLM(
        backend="scripted",
        backend_kwargs={"turns": [CELL], "replies": "r", "delay": call_seconds},
        logger=RLMLogger(folder / "logs"),
    )
    rlm.batch(["warm"] * concurrency, concurrency=concurrency)
    before, began = used(), time.perf_counter()
    items = rlm.batch(["a prompt"] * runs, concurrency=concurrency)
    seconds, cpu = time.perf_counter() - began, used() - before
    logs = [file.stat().st_size for file in (folder / "logs").iterdir()]
    leases = Leases(Ledger(Allowance(10**9, 10**12, 1e9, 1e6)))
    for number in range(100):
        leases.join(str(number))
    need = LeaseNeed((400, None, None), 357, 0.0, False)
    lease = timed(lambda: leases.lease("1", need), 300) / 100
    answer = pickle.dumps(([(1, ("item", (items[0], {"log": b"x" * 2000})))], 1, Account(Spent(1))))
    message = timed(lambda: (pickle.loads(answer), leases.report("1", Account())), 300)
    mine = psutil.Process().memory_info().rss
    sandboxes = [Sandbox() for _ in range(16)]
    try:
        zygotes = psutil.Process().children()
        zygote = sum(held_by(each, "pss") for each in zygotes)
        workers = [each for child in zygotes for each in child.children(recursive=True)]
        session = sum(held_by(each, "uss") for each in workers) / len(sandboxes)
    finally:
        for sandbox in sandboxes:
            sandbox.close()
    return Measured(cpu / runs, sum(logs) / len(items), message, lease, session, mine + zygote), seconds


def held_by(process: psutil.Process, kind: str) -> int:
    """Bytes that a process holds, by the `kind` of psutil; 0 where it has just ended."""
    try:
        return int(getattr(process.memory_full_info(), kind))
    except psutil.NoSuchProcess:
        return 0


def used() -> float:
    """Processor seconds of this process and of all below it."""
    own = resource.getrusage(resource.RUSAGE_SELF)
    family = 0.0
    for child in psutil.Process().children(recursive=True):
        try:
            times = child.cpu_times()
        except psutil.Error:
            continue
        family += times.user + times.system + times.children_user + times.children_system
    return own.ru_utime + own.ru_stime + family


def timed(work: Callable[[], object], times: int) -> float:
    """Seconds of one, as the best of five."""
    best = math.inf
    for _ in range(5):
        began = time.perf_counter()
        for _ in range(times):
            work()
        best = min(best, (time.perf_counter() - began) / times)
    return best


def main(runs: int = 200, concurrency: int = 16, call_seconds: float = 0.1) -> float:
    """Measure, compare, simulate and print. Returns the simulated time of one node, to the measured."""
    with Scratch() as folder:
        measured, seconds = measure(runs, concurrency, call_seconds, Path(folder))
    here = replace(Assumed(), call_seconds=call_seconds, quota=1e9, processors=os.cpu_count() or 1, slots=concurrency)
    ratio = simulate(measured, here, 1, runs).seconds / seconds
    print(f"measured: {measured}")
    print(f"one node, {runs} runs: measured {seconds:.2f} s, simulated {ratio * seconds:.2f} s ({ratio:.2f}x)\n")
    assumed = Assumed()
    print(f"assumed: {assumed}; {MESSAGES} messages a run\n")
    waiting = CALLS * assumed.call_seconds
    print(f"live sessions for each processor: {waiting / measured.cpu_run:,.0f} (their models take {waiting:g} s)")
    fit = (assumed.node_memory - measured.node_bytes) / measured.session_bytes
    print(f"live sessions for each GB: {1e9 / measured.session_bytes:,.0f}; {fit:,.0f} in a node of the assumed memory")
    print(f"memory of a program with its zygote: {measured.node_bytes / 1e6:.0f} MB")
    print(f"runs for each dollar of processors: {3600 / assumed.dollars_processor_hour / measured.cpu_run:,.0f}\n")
    heads = " ".join(f"{each:>7}" for each in ("quota", "driver", "logs", "cpu"))
    print(f"{'nodes':>7} {'runs/s':>9} {heads} {'leases':>9} {'images':>8}  first")
    for limited in (True, False):
        print("with the provider's quota" if limited else "without a quota")
        for nodes in NODES:
            slots = assumed.slots if nodes <= 100 else 16  # more are more events, and no other answer
            given = replace(assumed, slots=slots, quota=assumed.quota if limited else 1e12)
            got = simulate(measured, given, nodes, 3 * slots * nodes if nodes <= 100 else slots * nodes)
            parts = " ".join(f"{share:>7.0%}" for share in got.shares.values())
            images = nodes * assumed.image_bytes / assumed.registry
            rate = got.runs / got.seconds
            print(f"{nodes:>7,} {rate:>9,.1f} {parts} {got.leases:>9,} {images:>6,.0f} s  {got.first}")
    return ratio


if __name__ == "__main__":
    sys.exit(0 if 0.5 < main() < 2 else 1)
