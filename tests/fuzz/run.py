"""Runs a fuzzer: makes inputs from a seed, looks at what each does and costs, and makes what it finds small."""

from __future__ import annotations

import random
import re
import resource
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from tests.fuzz.mutate import changed
from tests.fuzz.targets import Fuzzer
from tests.growth.cost import Endless, stopped_after

#: Seconds of the processor that one input may cost, and for each byte of it: it is read whole, in pieces, and again.
#: An answer under a schema of 200 patterns takes 12 microseconds a byte, more where others use the processor's caches.
#: On a processor that is slower than the one on which these were measured, they are as many times longer.
SECONDS, SECONDS_A_BYTE = 0.2, 20e-6
#: Seconds of that processor for the work of `slowness`, and how much slower another one may be.
_PACE, _SLOWEST = 0.03, 5.0
#: Bytes of memory that one input may add to the most that the process has held, and for each byte of it.
MEMORY, MEMORY_A_BYTE = 96 << 20, 1000
#: Tries to make a finding smaller.
_SMALLER = 400


@dataclass
class Finding:
    """An input that shows a bug; `number` and the seed make it again."""

    fuzzer: str
    number: int
    data: bytes
    said: str


@dataclass
class Figures:
    """What a run did."""

    fuzzer: str
    seed: int
    inputs: int = 0
    size: int = 0
    seconds: float = 0.0
    slowest: float = 0.0
    slowest_number: int = -1
    slowest_size: int = 0
    findings: list[Finding] = field(default_factory=list)
    interrupted: bool = False

    def __str__(self) -> str:
        return (
            f"{self.fuzzer:<10} seed {self.seed}: {self.inputs:,} inputs, {self.size:,} bytes, {self.seconds:.0f} s; slowest"
            f" {self.slowest * 1000:.0f} ms (input {self.slowest_number}, {self.slowest_size:,} bytes);"
            f" {len(self.findings)} findings"
        )


def made(fuzzer: Fuzzer, seed: int, number: int) -> bytes:
    """The input of that number: the seeds as they are, and then changes of them."""
    if number < len(fuzzer.seeds):
        return fuzzer.seeds[number]
    chance = random.Random(f"{fuzzer.name} {seed} {number}")
    # Short ones are run through so often that they are chosen more often: a run looks at more ways to be wrong.
    weights = [1 / (200 + len(each)) for each in fuzzer.seeds]
    return changed(chance.choices(fuzzer.seeds, weights)[0], fuzzer.words, fuzzer.seeds, chance)


def slowness() -> float:
    """How many times longer the processor takes at this moment than the one of the bounds: 1 to `_SLOWEST`."""

    def work() -> float:
        begin, total = time.process_time(), 0
        for number in range(1_000_000):
            total += number & 7
        return time.process_time() - begin

    return min(max(sorted(work() for _ in range(3))[1] / _PACE, 1.0), _SLOWEST)


def problem(fuzzer: Fuzzer, data: bytes, seed: int) -> tuple[str, float]:
    """What is wrong with what an input does, or nothing; and its seconds of the processor."""
    allowed = SECONDS + SECONDS_A_BYTE * len(data)
    held = _most_held()
    begin = time.process_time()
    try:
        with stopped_after(_SLOWEST * allowed):
            fuzzer.check(data, random.Random(f"{seed} pieces"))
    except Endless:
        most = _SLOWEST * allowed
        return f"TooSlow: more than {most:.2f} s of the processor for {len(data)} bytes", most
    except Exception as error:  # whatever it is: it is no error that the reader promises
        return f"{type(error).__name__}: {ascii(str(error))[:500]}", time.process_time() - begin
    took = time.process_time() - begin
    if took > allowed and took > allowed * slowness():  # it is measured only where it matters
        return f"TooSlow: {took:.2f} s of the processor for {len(data)} bytes", took
    grown = _most_held() - held
    if grown > MEMORY + MEMORY_A_BYTE * len(data):
        return f"TooLarge: {grown:,} bytes of memory for {len(data)} bytes", took
    return "", took


def confirmed(fuzzer: Fuzzer, data: bytes, seed: int, said: str) -> bool:
    """Whether it is wrong in the same way again, on a busy machine as well; memory that is held is not asked for again."""
    kind = said.partition(":")[0]
    return kind == "TooLarge" or problem(fuzzer, data, seed)[0].startswith(kind)


def run(
    fuzzer: Fuzzer,
    seed: int,
    *,
    seconds: float = float("inf"),
    inputs: int | None = None,
    most: int = 1,
    progress: Callable[[Figures], None] = lambda _: None,
) -> Figures:
    """Until so many seconds are over, inputs are looked at, or findings are made, one of a kind; Ctrl-C ends it, too."""
    figures = Figures(fuzzer.name, seed)
    begin = shown = time.monotonic()
    kinds: set[str] = set()
    try:
        while (
            figures.seconds < seconds and (inputs is None or figures.inputs < inputs) and len(figures.findings) < most
        ):
            number = figures.inputs
            data = made(fuzzer, seed, number)
            said, took = problem(fuzzer, data, seed)
            figures.inputs += 1
            figures.size += len(data)
            if took > figures.slowest:
                figures.slowest, figures.slowest_number, figures.slowest_size = took, number, len(data)
            if said and _kind(said) not in kinds and confirmed(fuzzer, data, seed, said):
                kinds.add(_kind(said))
                small = smaller(fuzzer, data, seed, said)
                said = said if small == data else problem(fuzzer, small, seed)[0] or said
                figures.findings.append(Finding(fuzzer.name, number, small, said))
            now = time.monotonic()
            figures.seconds = now - begin
            if now - shown > 10:
                shown = now
                progress(figures)
    except KeyboardInterrupt:
        figures.seconds = time.monotonic() - begin
        figures.interrupted = True
    return figures


def smaller(fuzzer: Fuzzer, data: bytes, seed: int, said: str) -> bytes:
    """A part of `data` that is wrong in the same way, as small as a few hundred tries make it."""
    kind = said.partition(":")[0]
    if kind in ("TooSlow", "TooLarge"):
        return data  # each try would take as long, and what is slow is long
    tries, size = 0, max(len(data) // 2, 1)
    end = time.monotonic() + 20
    while size and tries < _SMALLER and time.monotonic() < end:
        at, found = 0, False
        while at < len(data) and tries < _SMALLER and time.monotonic() < end:
            tries += 1
            shorter = data[:at] + data[at + size :]
            if problem(fuzzer, shorter, seed)[0].startswith(kind):
                data, found = shorter, True
            else:
                at += size
        size = size if found and size == 1 else size // 2
    return data


def keep(finding: Finding, seed: int, directory: Path) -> Path:
    """Write it to a file, and return its path."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / f"{finding.fuzzer}-{seed}-{finding.number}"
    path.write_bytes(finding.data)
    return path


def _kind(said: str) -> str:
    """What a finding says, without the values that differ from input to input."""
    return re.sub(r"[0-9]+|b?'[^']*'|b?\"[^\"]*\"", "_", said)[:60]


def _most_held() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss << 10
