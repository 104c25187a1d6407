"""Fuzzes the readers of foreign bytes: `python -m tests.fuzz NAME [--seconds N] [--seed S]`.

The inputs follow from the seed. What is found is written to a file, and named with what makes it again; the exit
status is 1 then.
"""

from __future__ import annotations

import argparse
import resource
import secrets
import sys
from pathlib import Path

from tests.fuzz import readers
from tests.fuzz.run import Figures, keep, made, problem, run
from tests.fuzz.targets import FUZZERS

#: Bytes of memory that the whole may take: a reader without bounds is stopped here, and not by the machine.
_MEMORY = 4 << 30


def main() -> int:
    """Run what was asked for; 1 where something was found."""
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description="Fuzzes the readers of foreign bytes.")
    parser.add_argument("name", choices=(*FUZZERS, "all"), help="which one; all: one after the other")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long each runs (default: 60)")
    parser.add_argument(
        "--seed", type=int, default=None, help="where the inputs come from (default: a new one, printed)"
    )
    parser.add_argument("--findings", type=int, default=10, help="kinds of findings after which one ends (default: 10)")
    parser.add_argument("--directory", type=Path, default=Path("fuzz-findings"), help="where inputs are written")
    parser.add_argument("--input", type=int, default=None, help="look at the input of this number alone")
    parser.add_argument("--file", type=Path, default=None, help="look at the input in this file alone")
    options = parser.parse_args()
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    resource.setrlimit(resource.RLIMIT_DATA, (_MEMORY, hard))
    seed = secrets.randbelow(1 << 32) if options.seed is None else options.seed
    chosen = list(FUZZERS.values()) if options.name == "all" else [FUZZERS[options.name]]
    if options.input is not None or options.file is not None:
        data = options.file.read_bytes() if options.file else made(chosen[0], seed, options.input)
        said, took = problem(chosen[0], data, seed)
        print(f"{data[:2000]!r}\n{len(data):,} bytes, {took * 1000:.0f} ms: {said or 'as it should be'}")
        return bool(said)
    print(f"seed {seed}", flush=True)
    done: list[Figures] = []
    for fuzzer in chosen:
        figures = run(
            fuzzer, seed, seconds=options.seconds, most=options.findings, progress=lambda each: print(each, flush=True)
        )
        done.append(figures)
        print(figures, flush=True)
        for finding in figures.findings:
            path = keep(finding, seed, options.directory)
            print(f"  FOUND {finding.said}\n    {len(finding.data)} bytes in {path}: {finding.data[:200]!r}")
            print(f"    again: python -m tests.fuzz {fuzzer.name} --seed {seed} --input {finding.number}", flush=True)
        if figures.interrupted:
            print("interrupted", file=sys.stderr)
            break
    readers.forget_listener()
    return any(each.findings for each in done)


if __name__ == "__main__":
    sys.exit(main())
