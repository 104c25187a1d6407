"""Which wall of the kernel layer catches what. As root, because an attack that needs root has no control elsewhere:

    rlm-secure arena --share . -- python -m tests.attacks.matrix > MATRIX.new && mv MATRIX.new tests/attacks/MATRIX.md

Every raw attack whose control wins is tried under eleven plans: all walls, each single wall taken away, and each
single wall alone. `--json` prints what was measured beside what MATRIX.md says of it, for tests/evidence; then anyone
but root measures the walls taken away alone, and `--every N` tries each N-th attack only.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rlm_secure.environments.local import pool
from rlm_secure.environments.local.zygote import Plan, zygote
from rlm_secure.testing import battery, corpus, judge, unscreened
from rlm_secure.testing.corpus import Attack, Layer, Win
from rlm_secure.testing.target import Target
from rlm_secure.testing.verdict import Result

DOCUMENT = Path(__file__).with_name("MATRIX.md")
WALLS = ("namespaces", "landlock", "seccomp", "rlimits", "mdwe")
#: Attacks on time, on the protocol and on output are held by the host's own clock, decoder and caps, which no plan
#: switches off.
MEASURED = (Win.REVEALS, Win.PRINTS, Win.CONNECTS, Win.WRITES, Win.SIGNALS, Win.REMAINS)

#: Why it is acceptable that one wall alone stands in the way, by wall.
REASONS = {
    "seccomp": (
        "Only the filter takes whole system calls away. What these attacks reach without it stays inside the session: "
        "a socket in a network without interfaces, shared memory and queues in an IPC namespace of its own, keys of a "
        "uid that nobody else has, timers and names of its own process. Two kinds are more than untidy. Memory that "
        "RLIMIT_DATA does not count (shared, System V) is bounded by RLIMIT_AS alone, and the calls "
        "behind userfaultfd, perf_event_open and modify_ldt are where kernel bugs live. So `isolation.local` requires "
        "seccomp in every shipped policy, its absence refuses the session, and the filter is proved by a killed probe "
        "at boot."
    ),
    "rlimits": (
        "Private memory and page tables have no other bound on a machine that gives us no cgroup. Where there is one, "
        "memory.max is a second wall; here it is switched off together with the rlimits, to measure them alone."
    ),
}


@dataclass(frozen=True)
class Row:
    """One attack: the plans under which it got through."""

    attack: Attack
    without: frozenset[str]
    alone: frozenset[str]


def plans() -> dict[tuple[str, str], Plan]:
    found = {("without", "nothing"): Plan()}
    for wall in WALLS:
        found["without", wall] = Plan(**{wall: False})
        found["alone", wall] = Plan(**{each: each == wall for each in WALLS})
    return found


def candidates() -> list[Attack]:
    """The raw attacks that a wall of the kernel layer has to stop."""
    return [attack for attack in corpus.load() if attack.layer is Layer.KERNEL and attack.wins in MEASURED]


def measurable() -> list[Attack]:
    """Those of them whose control wins on this machine."""
    controls = battery.controls(candidates())
    return [attack for attack in candidates() if controls[attack.name].won]


def measure(attacks: list[Attack], kinds: tuple[str, ...] = ("without", "alone")) -> list[Row]:
    """Try every attack under every plan of `kinds`."""
    low = judge.policy("strict")
    # Nothing here runs for running's sake: a slow machine must not look like a wall.
    patient = low.limits.model_copy(update={"cell_seconds": 20.0, "cell_cpu_seconds": 20.0})
    policy = low.model_copy(update={"limits": patient})
    won: dict[tuple[str, str], frozenset[str]] = {}
    for (kind, wall), plan in plans().items():
        if kind not in kinds:
            continue
        # One by one: without walls between them, sessions under the weaker plans disturb each other.
        with Target() as target:
            won[kind, wall] = frozenset(
                attack.name
                for attack in attacks
                if judge.attempt(
                    attack, lambda plan=plan: unscreened(policy=policy, plan=plan), target, policy, afterwards=False
                ).result
                is Result.WON
            )
        pool.drain()
        zygote(plan).retire()
    return [
        Row(
            attack,
            frozenset(wall for kind, wall in won if kind == "without" and attack.name in won[kind, wall]),
            frozenset(wall for kind, wall in won if kind == "alone" and attack.name in won[kind, wall]),
        )
        for attack in attacks
    ]


def render(rows: list[Row]) -> str:
    """MATRIX.md."""
    lines = [
        "# Which wall catches which raw attack",
        "",
        "Written by `python -m tests.attacks.matrix` in an arena of root on an x86_64 machine, checked by",
        "`tests/attacks/test_matrix.py`. Each row is a file in `sandboxes/attacks`, run as plain Python with ctypes; the",
        "control of each got through in that arena. WON: it got through. A dot: it did not.",
        "",
        "The first five columns take one wall away and leave the others; the last five leave one wall alone. The walls",
        "that no plan takes away stand in all of them: a separate process, its empty environment, no inherited",
        "descriptor, an unprivileged uid, no capabilities, no_new_privs, not dumpable. `namespaces` stands for the user,",
        "mount, PID, network and IPC namespaces and the empty root together.",
        "",
        "## What only one wall catches",
        "",
    ]
    for wall in WALLS:
        alone = sorted(row.attack.name for row in rows if wall in row.without)
        if alone:
            lines += [f"**{wall}** ({len(alone)} of {len(rows)}): {REASONS[wall]}", ""]
            lines += [f"- `{name}`" for name in alone] + [""]
    held = [wall for wall in WALLS if not any(wall in row.without for row in rows)]
    lines += [f"Taking away {' or '.join(held)} lets nothing through: the other walls catch all of it.", ""]
    header = " | ".join(
        ("attack", "guarantee", *(f"no {wall}" for wall in WALLS), *(f"{wall} alone" for wall in WALLS))
    )
    lines += ["## The table", "", f"| {header} |", f"|{'---|' * (2 + 2 * len(WALLS))}"]
    for row in rows:
        cells = ["WON" if wall in row.without else "." for wall in WALLS]
        cells += ["WON" if wall in row.alone else "." for wall in WALLS]
        lines.append(f"| {row.attack.name} | {row.attack.guarantee} | {' | '.join(cells)} |")
    stopped = [str(sum(wall not in row.without for row in rows)) for wall in WALLS]
    stopped += [str(sum(wall not in row.alone for row in rows)) for wall in WALLS]
    lines.append(f"| **stopped, of {len(rows)}** | | {' | '.join(stopped)} |")
    return "\n".join(lines) + "\n"


def documented() -> dict[str, tuple[list[str], list[str]]]:
    """attack -> (plans without one wall, plans with one wall) under which MATRIX.md says that it gets through."""
    found = {}
    for line in DOCUMENT.read_text(encoding="utf-8").splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 2 + 2 * len(WALLS) and set(cells[2:]) <= {"WON", "."}:
            marks = [cell == "WON" for cell in cells[2:]]
            found[cells[0]] = tuple(
                [wall for wall, mark in zip(WALLS, part, strict=True) if mark] for part in (marks[:5], marks[5:])
            )
    return found


def compared(rows: list[Row], kinds: tuple[str, ...]) -> list[dict[str, object]]:
    """The rows as plain values, with what MATRIX.md says of the same plans; None where it has no such row."""
    said = documented()
    found = []
    for row in rows:
        of_document = said.get(row.attack.name)
        found.append(
            {
                "attack": row.attack.name,
                "guarantee": row.attack.guarantee.value,
                "without": sorted(row.without),
                "alone": sorted(row.alone) if "alone" in kinds else None,
                "documented_without": None if of_document is None else sorted(of_document[0]),
                "documented_alone": None if of_document is None else sorted(of_document[1]),
            }
        )
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Print MATRIX.md, or what was measured as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.attacks.matrix", description="Which wall catches what.")
    parser.add_argument("--json", action="store_true", help="print rows beside those of MATRIX.md")
    parser.add_argument("--every", type=int, default=1, metavar="N", help="with --json: each N-th attack only")
    options = parser.parse_args(arguments)
    if not options.json:
        sys.stdout.write(render(measure(measurable())))
        return 0
    kinds = ("without", "alone") if os.getuid() == 0 else ("without",)
    every = candidates()
    controls = battery.controls(every[:: options.every])
    able = [attack for attack in every[:: options.every] if controls[attack.name].won]
    told = {
        "walls": WALLS,
        "plans": [" ".join(plan) for plan in plans() if plan[0] in kinds],
        "candidates": len(every),
        "tried": len(able),
        "without_control": [attack.name for attack in every[:: options.every] if not controls[attack.name].won],
        "rows": compared(measure(able, kinds), kinds),
    }
    print(json.dumps(told, indent=2))
    return 0


if __name__ == "__main__":
    sys.exit(main())
