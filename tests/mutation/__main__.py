"""`python -m tests.mutation FILE ...`, or `all`: which small changes of a file its tests do not notice.

`--record` keeps what a run of whole files found in tests/mutation.json, with the digest of the text that it was
found for: `--json`, which tests/evidence reads, says whether that is still the text.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rlm_secure.removal import Scratch
from tests.mutation.collected import FAILED, UNDECIDED
from tests.mutation.record import RECORD, TESTS, digest, keep, recorded
from tests.mutation.survivors import SURVIVORS
from tests.mutation.trial import Trial


def main() -> int:
    """Print the mutants that survive; 0 where each of them is explained."""
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description="Which changes no test notices.")
    parser.add_argument("file", choices=[*sorted(TESTS), "all"], nargs="+")
    parser.add_argument("--sample", type=int, default=0, help="so many of each file's mutants, chosen by --seed")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--line", type=int, action="append", help="only the mutants of these lines")
    parser.add_argument("--seconds", type=float, default=3600.0, help="no new mutant of a file is tried after so long")
    parser.add_argument("-j", "--jobs", type=int, default=2)
    parser.add_argument("-v", "--verbose", action="store_true", help="tell by which test each was noticed, and how soon")
    parser.add_argument("--quick", action="store_true", help="try nothing a second time that the quick way has tried")
    parser.add_argument("--json", action="store_true", help="print one JSON document, with what is recorded")
    parser.add_argument("--record", action="store_true", help=f"keep what was found in tests/{RECORD.name}")
    options = parser.parse_args()
    found: dict[str, dict[str, Any]] = {}
    with Scratch(prefix="rlm-secure-mutation") as scratch:
        os.environ["HYPOTHESIS_STORAGE_DIRECTORY"] = str(scratch / "hypothesis")
        os.environ["PYTEST_DEBUG_TEMPROOT"] = str(scratch)  # of `tmp_path`
        for name in sorted(TESTS) if "all" in options.file else options.file:
            found[name] = _tried(name, options, scratch)
            if not options.json:
                _say(name, found[name])
            if options.record and not options.quick and found[name]["tried"] == found[name]["mutants"]:
                keep(name, found[name])
    if options.json:
        print(json.dumps({"files": found, "recorded": recorded(), "survivors": SURVIVORS}, indent=2))
    return int(any(each["unexplained"] for each in found.values()))


def _tried(name: str, options: argparse.Namespace, scratch: Path) -> dict[str, Any]:
    begun, used = time.monotonic(), _used()
    trial = Trial(name, TESTS[name], scratch)
    every = [mutant for mutant in trial.mutants if not options.line or mutant.line in options.line]
    count = min(options.sample or len(every), len(every))
    chosen = [every[index] for index in sorted(random.Random(options.seed).sample(range(len(every)), count))]
    trial.prepare()
    verdicts = trial.run(chosen, options.jobs, begun + options.seconds, again=not options.quick)
    for mutant, verdict in verdicts.items() if options.verbose else ():
        print(f"{verdict.seconds:6.1f} s  line {mutant.line}: {mutant.key}  {verdict.test or verdict.status}")
    alive = {mutant: verdict for mutant, verdict in verdicts.items() if verdict.status != FAILED}
    unexplained = [mutant for mutant in alive if mutant.key not in SURVIVORS.get(name, {})]
    return {
        "sha256": digest(name),
        "when": datetime.now(UTC).date().isoformat(),
        "mutants": len(trial.mutants),
        "tried": len(verdicts),
        "survived": len(alive),
        "seconds": round(time.monotonic() - begun),
        "processor_seconds": round(_used() - used),
        "unexplained": [
            {"line": each.line, "change": each.key, **({"undecided": True} if alive[each].status == UNDECIDED else {})}
            for each in sorted(unexplained, key=lambda each: (each.line, each.key))
        ],
    }


def _used() -> float:
    """Processor time of all processes that have ended."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def _say(name: str, found: dict[str, Any]) -> None:
    survived = f"{found['survived']} survived, {len(found['unexplained'])} unexplained"
    took = f"{found['seconds']} s ({found['processor_seconds']} s of processor time)"
    print(f"{name}: {found['tried']} of {found['mutants']} mutants tried in {took}, {survived}")
    for each in found["unexplained"]:
        print(f"  line {each['line']}: {each['change']}{', undecided' if 'undecided' in each else ''}")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
