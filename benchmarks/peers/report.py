"""Writes benchmarks/RESULTS.md and its plots from benchmarks/results/results.json, and nothing that is not in there."""

from __future__ import annotations

import datetime
import json
import math
import os
import platform
import statistics
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from benchmarks.peers.build import ROOT, Recipe
from benchmarks.peers.driver import GRACE_SECONDS, ROWS, TIGHT, Row
from benchmarks.peers.probes import CATEGORIES, OUTCOMES, PROBES
from benchmarks.peers.snippets import SNIPPETS

PAGE: Final = ROOT / "benchmarks" / "RESULTS.md"
OURS: Final = "rlm_secure"
#: The share of a ratio within which two figures are called equal: runs of one machine differ by as much.
SAME: Final = 1.05
_HOW: Final = """
The peers take turns in each round, so that a slow minute of the machine is everybody's. Times are wall time as the host
sees it; beside them stands the processor time of the host and all its processes. **Bold: better than ours.** A dash is
explained below its table. Compare ratios: absolute figures are those of one machine.
"""
_DONE: Final = """
Each peer runs in its own interpreter, behind one class in `benchmarks/peers/adapters/`; versions are pinned in
`benchmarks/peers/versions.toml`. Each is used as its documentation says, and told limits where it takes some.

bubblewrap, sandlock and sandbox-runtime wall in a command; the command is the plain worker of the baseline row. What
its results and its output lose is the worker's.

Those in process have no isolation: their figures say what walls cost, not what walls are worth. Their batch is a Python
function of the host with a thread for each prompt; rlms asks its own handler, 16 at a time, DSPy as `dspy.RLM` does, 8
at a time, monty through `asyncio.gather`.

A pool is monty's own and ours; the others have none. Processor time counts what fills it again. `cold` counts the end
of each session in its processor time, not in its wall time. `start` begins with the host's process: it imports the
library, opens a session and runs a cell. The other rows leave out what a process pays once.

A context is given as the peer's users give it: ours to a new `Sandbox(context=...)`, whose start is in the time; to a
kernel through a file; to workers as JSON. In process it is the host's own object.

DSPy's program for Deno imports one function from deno.land; it is replaced by the same function in a file.

The figures are in [results/results.json](results/results.json), each sample of them.
"""
#: Colours that can be read on a white and on a dark page: a picture does not learn which one it is on.
_STYLE: Final = "text{fill:#757d87}.o{fill:#2da44e}.p{fill:#8c959f}"
_WIDTH, _BAR, _GAP, _LEFT, _RIGHT = 800, 18, 8, 320, 110

Results = dict[str, Any]


def machine() -> dict[str, str]:
    """What the figures were measured on."""
    cpu = platform.processor() or platform.machine()
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        cpu = next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return {
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d"),
        "cpu": cpu,
        "cores": str(os.cpu_count()),
        "kernel": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "user": "root" if os.geteuid() == 0 else "an unprivileged user",
    }


def write(results: Results, into: Path) -> Path:
    """Write `into`/RESULTS.md, `into`/results/results.json and the plots. Returns the path of the page."""
    folder = into / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results) + "\n", encoding="utf-8")
    for name, picture in plots(results).items():
        (folder / f"{name}.svg").write_text(picture, encoding="utf-8")
    page = into / PAGE.name
    page.write_text(text(results), encoding="utf-8")
    return page


def read(into: Path) -> Results:
    """The results that `write` has written there."""
    found: Results = json.loads((into / "results" / "results.json").read_text(encoding="utf-8"))
    return found


def new(recipes: Mapping[str, Recipe]) -> Results:
    """Results without any figure."""
    peers = {name: {"label": recipe.label, "versions": {}, "reason": ""} for name, recipe in recipes.items()}
    return {"machine": machine(), "smoke": False, "load": "", "peers": peers, "rows": {}, "checks": {}, "idle": []}


# -- figures -------------------------------------------------------------------------------------------------


def median(samples: Sequence[float]) -> float | None:
    """The median, or None of nothing."""
    return statistics.median(samples) if samples else None


def low(samples: Sequence[float]) -> float | None:
    """The tenth percentile, or None of nothing."""
    return sorted(samples)[int(len(samples) * 0.1)] if samples else None


def short(value: float) -> str:
    """Three digits."""
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3
    return f"{value:,.{digits}f}"


def shown(value: float, unit: str) -> str:
    """Seconds as milliseconds, or bytes as megabytes."""
    return short(value * 1e3 if unit == "ms" else value / 1e6)


def summary(row: Row, own: Mapping[str, Any] | None, ours: float | None) -> str:
    """The median of a row, in bold if it is better than ours."""
    middle = None if own is None else median(own["samples"])
    if middle is None:
        return "—"
    written = shown(middle, row.unit)
    return f"**{written}**" if ours and middle * SAME < ours else written


def ratio(value: float) -> str:
    """The ratio to ours; one below 1 is better than ours, and is in bold."""
    written = f"{short(value)}x"
    return f"**{written}**" if value < 1 / SAME else written


def counts(outcomes: Mapping[str, str]) -> dict[str, int]:
    """How many probes had each outcome."""
    return {each: sum(found == each for found in outcomes.values()) for each in OUTCOMES}


# -- the page ------------------------------------------------------------------------------------------------


def text(results: Results) -> str:
    """The page."""
    about = results["machine"]
    lines = [
        "# Ours and other sandboxes, in one run",
        "",
        flat(
            f"""Measured on {about["date"]} by `make bench-peers`, as {about["user"]}, on {about["cpu"]},
            {about["cores"]} cores, {about["kernel"]}, CPython {about["python"]} for every peer that runs CPython
            natively. {results["load"]}"""
        ) + ".",
        "",
    ]
    if results["smoke"]:
        lines += ["**A trial run, each case once: no figure here means anything.**", ""]
    lines += [
        flat(_HOW) + ".",
        "",
        *_versions(results),
        "",
        "## Speed and memory",
        "",
        *_speed(results),
        *_containment(results),
        *_compatibility(results),
        "## What was done",
        "",
        *_method(),
    ]
    return "\n".join(lines).rstrip() + "\n"


def _versions(results: Results) -> list[str]:
    lines = ["| peer | versions |", "| --- | --- |"]
    for peer in results["peers"].values():
        said = ", ".join(f"{name} {version}" for name, version in peer["versions"].items())
        lines.append(f"| {peer['label']} | {said or flat(peer['reason'] or 'not run')} |")
    return lines


def _speed(results: Results) -> list[str]:
    """The medians of all rows side by side, then each row with all its figures and its plot."""
    peers, rows = results["peers"], results["rows"]
    columns = [row for row in ROWS.values() if row.name in rows]
    if not columns:
        return ["Nothing was measured."]
    ours = {row.name: median(rows[row.name].get(OURS, {}).get("samples", [])) for row in columns}
    lines = ["| peer | " + " | ".join(f"{row.name}, {row.unit}" for row in columns) + " |"]
    lines.append("| --- |" + " ---: |" * len(columns))
    for name, peer in peers.items():
        found = [summary(row, rows[row.name].get(name), ours[row.name]) for row in columns]
        lines.append(f"| {peer['label']} | " + " | ".join(found) + " |")
    lines += ["", *_better(results), ""]
    absent = [f"- {peer['label']}: {flat(peer['reason'])}." for peer in peers.values() if peer["reason"]]
    lines += [*(["Without any figure:", "", *absent, ""] if absent else [])]
    for row in columns:
        lines += [f"### {row.name}: {row.title}", "", *_detail(results, row, ours[row.name]), ""]
        if any(own["samples"] for own in rows[row.name].values()):
            lines += [f"![{caption(row.name)}](results/{row.name}.svg)", ""]
    return lines


def _detail(results: Results, row: Row, ours: float | None) -> list[str]:
    processor = any(own["cpu"] for own in results["rows"][row.name].values())
    head = ["peer", f"median, {row.unit}", "p10", *(["processor time, ms"] if processor else []), "to ours", "samples"]
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    notes = []
    for name, peer in results["peers"].items():
        own = results["rows"][row.name].get(name)
        if own is None:
            continue  # it has no figure in any row; why not is said above
        if own["reason"]:
            early = "" if not own["samples"] else "stopped early: "
            notes.append(f"- {peer['label']}: {early}{flat(own['reason'])}.")
        middle, least, cpu = median(own["samples"]), low(own["samples"]), median(own["cpu"])
        if middle is None or least is None:
            lines.append(f"| {peer['label']} |" + " — |" * (len(head) - 1))
            continue
        figures = [shown(middle, row.unit), shown(least, row.unit)]
        figures += ["—" if cpu is None else shown(cpu, "ms")] if processor else []
        figures += ["1" if name == OURS or not ours else ratio(middle / ours), str(len(own["samples"]))]
        lines.append(f"| {peer['label']} | " + " | ".join(figures) + " |")
    return [*lines, *([""] if notes else []), *notes]


def better(results: Results) -> dict[str, list[tuple[str, float]]]:
    """For each row, the peers whose median is better than ours by more than SAME, with the ratio, best first."""
    found: dict[str, list[tuple[str, float]]] = {}
    for name, row in results["rows"].items():
        ours = median(row.get(OURS, {}).get("samples", []))
        if ours:
            theirs = {peer: median(own["samples"]) for peer, own in row.items() if peer != OURS}
            ratios = [(peer, value / ours) for peer, value in theirs.items() if value is not None]
            found[name] = sorted((pair for pair in ratios if pair[1] * SAME < 1), key=lambda pair: pair[1])
    return found


def _better(results: Results) -> list[str]:
    lines = ["Where ours is not the best:", ""]
    peers = results["peers"]
    for name, pairs in better(results).items():
        if pairs:
            said = ", ".join(f"{peers[peer]['label']} ({short(value)}x)" for peer, value in pairs)
            what = "less" if ROWS[name].unit == "MB" else "faster"
            lines.append(f"- {ROWS[name].title}: {what} in {said}.")
    return lines if len(lines) > 2 else ["In no row is a peer better than ours."]


def _containment(results: Results) -> list[str]:
    if "containment" not in results["checks"]:
        return []
    checks, peers = results["checks"]["containment"], results["peers"]
    judged = [probe for probe in PROBES if any(probe.name in own["outcomes"] for own in checks.values())]
    lines = [
        "## Containment",
        "",
        flat(
            f"""{len(judged)} probes, each harmless where it wins, in an arena (`rlm_secure.testing.arena`); a probe is
            judged only if plain Python in the same place loses to it{_idle(results)}. *Escaped*: a secret, file,
            listener, process or the host itself was reached. *Hung*: no answer {GRACE_SECONDS:.0f} s after the limit of
            {TIGHT.seconds:.0f} s. *Unlimited*: more memory than {TIGHT.memory_bytes >> 20} MB, or output, processes,
            threads or disk without end, where a limit was told if there is one to tell. *Spoofed*: the host believed a
            result that was not one. What escapes through a limit, as a host that dies, counts as escaped"""
        ) + ".",
        "",
        "| peer | " + " | ".join(OUTCOMES) + " |",
        "| --- " + "| ---: " * len(OUTCOMES) + "|",
    ]
    notes = []
    for name, peer in peers.items():
        own = checks.get(name)
        if own is None or own["reason"]:
            lines.append(f"| {peer['label']} | " + " | ".join(["—"] * len(OUTCOMES)) + " |")
            notes.append(f"- {peer['label']}: {flat((own or peer)['reason'] or 'not run')}.")
        else:
            lines.append(f"| {peer['label']} | " + " | ".join(map(str, counts(own["outcomes"]).values())) + " |")
    lines += ["", *notes, *([""] if notes else [])]
    lines += ["![probes that did not hold](results/containment.svg)", ""] if "containment" in plots(results) else []
    lines += ["What did not hold, by kind:", ""]
    for name, own in checks.items():
        if not own["reason"]:
            lost = [probe for probe in judged if own["outcomes"].get(probe.name, "held") != "held"]
            kinds = {kind: [probe.name for probe in lost if probe.category == kind] for kind in CATEGORIES}
            said = "; ".join(f"{kind}: {', '.join(names)}" for kind, names in kinds.items() if names)
            lines.append(f"- {peers[name]['label']}: {said or 'nothing'}.")
    return [*lines, ""]


def _idle(results: Results) -> str:
    return f" ({', '.join(results['idle'])} did not, and are left out)" if results["idle"] else ""


def _compatibility(results: Results) -> list[str]:
    if "compatibility" not in results["checks"]:
        return []
    checks, peers = results["checks"]["compatibility"], results["peers"]
    lines = [
        "## Compatibility",
        "",
        f"{len(SNIPPETS)} pieces of ordinary Python as models write it: how many run and print what Python prints.",
        "",
        "| peer | run | what does not |",
        "| --- | ---: | --- |",
    ]
    for name, peer in peers.items():
        own = checks.get(name)
        if own is None or own["reason"]:
            lines.append(f"| {peer['label']} | — | {flat((own or peer)['reason'] or 'not run')} |")
            continue
        fails = [snippet for snippet, outcome in own["outcomes"].items() if outcome != "runs"]
        lines.append(f"| {peer['label']} | {len(own['outcomes']) - len(fails)} | {', '.join(fails)} |")
    return [*lines, ""]


def _method() -> list[str]:
    return [f"- {flat(paragraph)}." for paragraph in _DONE.strip().split("\n\n")]


def flat(reason: str) -> str:
    """A reason on one line of a table, without its full stop."""
    return " ".join(reason.split()).replace("|", "\\|").rstrip(".")


# -- plots ---------------------------------------------------------------------------------------------------


def caption(name: str) -> str:
    """What a plot shows."""
    if name in ROWS:
        return f"{ROWS[name].title}, {ROWS[name].unit}, median"
    return "probes that did not hold"


def plots(results: Results) -> dict[str, str]:
    """SVG pictures by name. Their colours can be read on a white and on a dark page."""
    found = {}
    labels = {name: peer["label"] for name, peer in results["peers"].items()}
    for row in ROWS.values():
        values = {
            labels[name]: middle * (1e3 if row.unit == "ms" else 1e-6)
            for name, own in results["rows"].get(row.name, {}).items()
            if (middle := median(own["samples"])) is not None
        }
        if values:
            found[row.name] = bars(caption(row.name), values, labels[OURS], logarithmic=True)
    checks = results["checks"].get("containment", {})
    lost = {
        labels[name]: float(sum(outcome != "held" for outcome in own["outcomes"].values()))
        for name, own in checks.items()
        if not own["reason"]
    }
    if lost:
        found["containment"] = bars(caption("containment"), lost, labels[OURS], logarithmic=False)
    return found


def bars(title: str, values: Mapping[str, float], ours: str, *, logarithmic: bool) -> str:
    """Horizontal bars, the smallest first; ours has another colour."""
    ordered = sorted(values.items(), key=lambda pair: pair[1])
    height = 44 + len(ordered) * (_BAR + _GAP)
    room = _WIDTH - _LEFT - _RIGHT
    positive = [value for value in values.values() if value > 0]
    least, most = (min(positive), max(positive)) if positive else (1.0, 1.0)
    floor = 10 ** math.floor(math.log10(least)) / 2
    parts = [
        (
            f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" width="{_WIDTH}" '
            f'height="{height}" role="img" aria-label="{escape(title)}" font-family="system-ui, sans-serif" '
            'font-size="13">'
        ),
        f"<style>{_STYLE}</style>",
        f'<text x="8" y="20" font-weight="600">{escape(title)}{" (logarithmic)" if logarithmic else ""}</text>',
    ]
    for number, (label, value) in enumerate(ordered):
        y = 34 + number * (_BAR + _GAP)
        if logarithmic:
            share = math.log(value / floor) / math.log(most / floor) if value > 0 and most > floor else 0.0
        else:
            share = value / most if most else 0.0
        length = max(share * room, 1.0)
        kind = "o" if label == ours else "p"
        written = f"{value:.0f}" if not logarithmic else short(value)
        parts += [
            f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{escape(label.replace("`", ""))}</text>',
            f'<rect class="{kind}" x="{_LEFT}" y="{y}" width="{length:.1f}" height="{_BAR}" rx="2"/>',
            f'<text x="{_LEFT + length + 6:.1f}" y="{y + 14}">{written}</text>',
        ]
    return "\n".join([*parts, "</svg>", ""])
