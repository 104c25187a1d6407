"""What the report asks, section by section: the command of each, and how what it printed is read.

A reader returns facts and tables, which are in both forms of the report, and the whole document where the command
printed one, which is in the JSON alone. What a reader cannot read raises, and its section has not run.
"""

from __future__ import annotations

import json
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, TypeAlias

from benchmarks.runner import figure
from tests.evidence.run import ROOT, Command, Output

Cell: TypeAlias = str | int | float | bool | None

#: Benchmarks of the report. The others need Docker or Ray, measure the machine full, or say the same of other code.
BENCHMARKS = (
    "cold-session", "pooled-session", "warm-cell", "held-state", "context-100mb", "batch-16-at-1", "memory",
    "llm-query",
)  # fmt: skip
#: The policy with all modules of the others: what its cells reach, those of each other one reach as well.
CRAWLED = "research"
#: Parts that a quick report measures: seconds each, and they run some trusted files whole.
FEW_PARTS = ("tests/logger", "tests/tools")


@dataclass(frozen=True)
class Table:
    """Rows of plain values."""

    title: str
    columns: tuple[str, ...]
    rows: list[list[Cell]]


@dataclass
class Content:
    """What a section says. `found`: what whoever reads the report must look at, in one sentence; "" for nothing."""

    facts: dict[str, Cell] = field(default_factory=dict)
    tables: list[Table] = field(default_factory=list)
    document: Any = None
    found: str = ""


@dataclass(frozen=True)
class Choice:
    """What was chosen for all sections."""

    quick: bool = False
    seed: int = 1
    fuzz_seconds: float = 30.0
    mutants: int = 0
    patience: float = 1.0

    def command(self, *words: str, bound: float, ends: tuple[int, ...] = (0, 1), **variables: str) -> Command:
        """A module of this Python, with its arguments; its bound, as patient as was chosen."""
        return Command((sys.executable, "-m", *words), bound * self.patience, tuple(variables.items()), ends)


@dataclass(frozen=True)
class Section:
    """One question. `about` says what the answer means, and what it does not."""

    name: str
    title: str
    about: str
    command: Callable[[Choice], Command]
    read: Callable[[Output], Content]


# -- the machine, and its walls ------------------------------------------------------------------


def _machine(output: Output) -> Content:
    told = json.loads(output.stdout)
    commit = told["commit"]
    packages = sorted(told["packages"].items(), key=lambda row: row[0].lower())
    tree = "unknown"
    if commit:
        tree = "clean" if commit["clean"] else f"{len(commit['changed'])} files differ"
    facts: dict[str, Cell] = {
        "commit": commit["id"] if commit else "not a checkout of git",
        "tree": tree,
        "kernel": f"{told['kernel']}, {told['kernel_build']}",
        "distribution": told["distribution"],
        "C library": told["libc"],
        "processor": f"{told['processor']}, {told['architecture']}, {told['processors']} for this process",
        "memory": f"{told['memory_bytes'] / 2**30:.1f} GiB",
        "load when asked": " ".join(f"{each:.2f}" for each in told["load"]),
        "user": f"uid {told['uid']}",
        "security modules": told["security_modules"] or "not to be seen",
        "Python": told["python"],
        **{name: said or "none" for name, said in told["programs"].items()},
    }
    rows: list[list[Cell]] = [[name, version] for name, version in packages]
    return Content(facts, [Table("Packages of this Python", ("package", "version"), rows)], told)


def _doctor(output: Output) -> Content:
    told = json.loads(output.stdout)
    tables, facts, missing = [], {"policy": told["policy"]}, []
    for each in told["environments"]:
        name = each["environment"]
        if not each["available"]:
            facts[name] = each["reason"]
            continue
        facts[name] = f"{len(each['walls'])} walls, {len(each['missing'])} missing"
        missing += [f"{wall} of {name}" for wall in each["missing"]]
        rows = [[row["wall"], row["level"], row["evidence"]] for row in each["walls"]]
        tables.append(Table(f"Walls of {name}, each tried", ("wall", "holds", "evidence"), rows))
    found = f"missing: {', '.join(missing)}" if missing else "no environment could be started" if not tables else ""
    return Content(facts, tables, told, found or _ended(output))


def _ended(output: Output) -> str:
    return "" if output.code == 0 else f"the command ended with {output.code}"


# -- attacks --------------------------------------------------------------------------------------


def _audit(output: Output) -> Content:
    told = json.loads(output.stdout)
    summary = told["summary"]
    facts: dict[str, Cell] = {
        "policy": told["policy"], "targets": ", ".join(told["targets"]),
        "checks": summary["checks"], "passed": summary["passed"],
        "findings": ", ".join(f"{count} {level}" for level, count in summary["findings"].items()),
        "accepted by the policy": summary["ignored"], "not checked": summary["not_checked"],
        **{f"arena of {each['name']}": each["arena"] or "none" for each in told["environments"]},
    }  # fmt: skip
    rows = [
        [each["rule"], each["severity"], f"{each['file']}:{each['line']}", each["message"], each["hint"]]
        for each in told["findings"]
    ]
    tables = [
        Table("Findings", ("rule", "severity", "place", "what", "do"), rows),
        Table("Not checked", ("what", "why"), [[each["what"], each["reason"]] for each in told["not_checked"]]),
    ]
    return Content(facts, tables, told, f"findings at {told['fail_on']} or above" if told["exit_code"] else "")


def _corpus(output: Output) -> Content:
    told = json.loads(output.stdout)
    facts: dict[str, Cell] = {}
    tables, through = [], []
    for each in told["environments"]:
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for probe in each["probes"]:
            counts[probe["guarantee"]][_outcome(probe)] += 1
        sums = Counter(_outcome(probe) for probe in each["probes"])
        through += [probe["attack"] for probe in each["probes"] if probe["result"] in ("won", "errored")]
        facts[each["name"]] = (
            f"{sums.total()} attacks, {sums['held']} held, {sums['reached']} reached, {sums['surface']} surface,"
            f" {sums['not checked']} not checked, {sums['errored']} errored, {each['left_out']} left out"
        )
        outcomes = ("held", "reached", "surface", "not checked", "errored")
        rows: list[list[Cell]] = [
            [name, found.total(), *(found[outcome] for outcome in outcomes)] for name, found in sorted(counts.items())
        ]
        rows.append(["all", sums.total(), *(sums[outcome] for outcome in outcomes)])
        tables.append(Table(f"Attacks on {each['name']}, by guarantee", ("guarantee", "attacks", *outcomes), rows))
        walls = Counter(probe["wall"] for probe in each["probes"] if probe["wall"])
        stopped: list[list[Cell]] = [[wall, count] for wall, count in walls.most_common()]
        tables.append(Table(f"What stopped them in {each['name']}", ("wall", "attacks"), stopped))
        others = [probe for probe in each["probes"] if _outcome(probe) != "held"]
        said = [[probe["attack"], probe["guarantee"], _outcome(probe), probe["evidence"]] for probe in others]
        columns = ("attack", "guarantee", "outcome", "evidence")
        tables.append(Table(f"Attacks on {each['name']} that were not held", columns, said))
    if not told["environments"]:
        return Content(facts, tables, None, "nothing was attacked")
    return Content(facts, tables, None, f"won or errored: {', '.join(through)}" if through else "")


def _outcome(probe: dict[str, Any]) -> str:
    result = probe["result"]
    if result == "won":
        return "surface" if probe["reach"] == "surface" else "reached"
    return {"stopped": "held", "contained": "held", "not-checked": "not checked"}.get(result, result)


def _matrix(output: Output) -> Content:
    told = json.loads(output.stdout)
    rows, walls = told["rows"], told["walls"]
    columns = ("attack", "guarantee", *(f"no {wall}" for wall in walls), *(f"{wall} alone" for wall in walls))
    table: list[list[Cell]] = []
    differs = []
    for row in rows:
        alone = row["alone"]
        cells: list[Cell] = ["WON" if wall in row["without"] else "." for wall in walls]
        cells += ["" if alone is None else "WON" if wall in alone else "." for wall in walls]
        table.append([row["attack"], row["guarantee"], *cells])
        documented = row["documented_without"] is not None
        if documented and (row["without"] != row["documented_without"] or alone not in (None, row["documented_alone"])):
            differs.append(row["attack"])
    # Each wall alone means something in an arena of root only.
    kinds = ("without", "alone") if rows and rows[0]["alone"] is not None else ("without",)
    stopped: list[list[Cell]] = [
        [wall, *(sum(wall not in row[kind] for row in rows) for kind in kinds)] for wall in walls
    ]
    whole = [row["attack"] for row in rows if "nothing" in row["without"]]
    facts: dict[str, Cell] = {
        "attacks of the corpus on the kernel": told["candidates"], "tried": told["tried"],
        "plans of walls": len(told["plans"]), "got through all walls": len(whole),
        "without a control on this machine": ", ".join(told["without_control"]) or "none",
        "differ from tests/attacks/MATRIX.md": ", ".join(differs) or "none",
    }  # fmt: skip
    head = ("wall", "stopped without it", "stopped by it alone")[: 1 + len(kinds)]
    tables = [Table("Attacks stopped", head, stopped), Table("WON: it got through under that plan", columns, table)]
    found = f"through all walls: {', '.join(whole)}" if whole else "MATRIX.md says something else" if differs else ""
    return Content(facts, tables, told, found if rows else "no attack was tried")


_REACHED = re.compile(r"^(\w+): (\d+) callables reached, (\d+) of them called, (\d+) calls; .*$", re.MULTILINE)
_BEGAN = re.compile(r"^(\w+) on Python (\S+): (\d+) slices", re.MULTILINE)
_SESSIONS = re.compile(r"(\d+) sessions, (\d+) of them lost; (\d+) recorders refused; (\d+) s; (\d+) findings")
_GIVEN = re.compile(r"hooks were given (\d+) values of (\d+) kinds")


def _crawler(output: Output) -> Content:
    began, ended = _BEGAN.search(output.stdout), _REACHED.search(output.stdout)
    assert began and ended, f"no figures: {output.stdout[-1000:]}"
    sessions, given = _SESSIONS.search(ended[0]), _GIVEN.search(ended[0])
    assert sessions and given, f"no figures: {ended[0]}"
    facts: dict[str, Cell] = {
        "policy": ended[1], "Python": began[2], "callables within reach of a cell": int(ended[2]),
        "of them called": int(ended[3]), "calls": int(ended[4]), "values that hooks were given": int(given[1]),
        "kinds of values": int(given[2]), "sessions": int(sessions[1]), "sessions lost": int(sessions[2]),
        "recorders that no cell can make": int(sessions[3]),
        "findings": int(sessions[5]),
    }  # fmt: skip
    found = [line.removeprefix("FOUND: ") for line in output.stdout.splitlines() if line.startswith("FOUND: ")]
    tables = [Table("Findings", ("what",), [[each] for each in found])]
    return Content(facts, tables, None, f"{len(found)} findings" if found or output.code else "")


_FUZZED = re.compile(
    r"^(\S+) +seed (\d+): ([\d,]+) inputs, ([\d,]+) bytes, (\d+) s; slowest (\d+) ms"
    r" \(input (-?\d+), ([\d,]+) bytes\); (\d+) findings$",
    re.MULTILINE,
)


def _fuzz(output: Output) -> Content:
    last = {found[1]: found for found in _FUZZED.finditer(output.stdout)}
    assert last, f"no figures: {output.stdout[-1000:]}"
    rows: list[list[Cell]] = [
        [name, int(each[2]), _number(each[3]), _number(each[4]), int(each[5]), int(each[6]), int(each[9])]
        for name, each in last.items()
    ]
    columns = ("reader", "seed", "inputs", "bytes", "seconds", "slowest, ms", "findings")
    again = [line.strip() for line in output.stdout.splitlines() if line.lstrip().startswith(("FOUND", "again:"))]
    told: list[list[Cell]] = [[each] for each in again]
    tables = [Table("Readers of foreign bytes", columns, rows), Table("Findings", ("what",), told)]
    inputs, findings = (sum(_number(each[at]) for each in last.values()) for at in (3, 9))
    facts: dict[str, Cell] = {"inputs": inputs, "findings": findings}
    return Content(facts, tables, None, f"{facts['findings']} findings" if output.code else "")


def _number(text: str) -> int:
    return int(text.replace(",", ""))


# -- the code -------------------------------------------------------------------------------------


def _coverage(output: Output) -> Content:
    rows = [(found[2], float(found[1]), found[3].strip()) for found in _COVERED.finditer(output.stdout)]
    assert rows, f"no file was measured: {output.stdout[-1000:]}"
    complete = [row for row in rows if not row[2]]
    ran = [row for row in rows if row[2] != "nothing of it ran"]
    parts = _PARTS.search(output.stdout)
    facts: dict[str, Cell] = {
        "trusted files": len(rows), "with every line and branch run": len(complete), "of which something ran": len(ran),
        "parts of the tests": parts[0] if parts else "",
    }  # fmt: skip
    excused = [[path, number, line] for path in (row[0] for row in rows) for number, line in _excused(path)]
    tables = [
        Table("Trusted files", ("file", "run, %", "not run"), [[path, percent, left] for path, percent, left in rows]),
        Table("Left out, each with its reason beside it", ("file", "line", "reason"), excused),
    ]
    failed = re.findall(r"^FAILED (\S+)", output.stdout, re.MULTILINE)
    holes = [path for path, _, left in rows if left]
    sampled = any(word.startswith("tests/") for word in output.command.words)
    found = f"{len(holes)} files with holes" if holes and not sampled else ""
    if failed:
        found = f"parts that failed: {', '.join(failed)}"
    return Content(facts, tables, None, found)


_COVERED = re.compile(r"^ *(\d+\.\d) %  (rlm_secure/\S+) *(.*)$", re.MULTILINE)
_PARTS = re.compile(r"^\d+ of \d+ parts passed.*$", re.MULTILINE)
_EXCUSED = re.compile(r"# pragma: (no (?:cover|branch) - .+)$")


def _excused(path: str) -> list[tuple[int, str]]:
    lines = (ROOT / path).read_text(encoding="utf-8").splitlines()
    return [(number, found[1]) for number, line in enumerate(lines, 1) if (found := _EXCUSED.search(line))]


def _mutation(output: Output) -> Content:
    told = json.loads(output.stdout)
    columns = ("file", "mutants", "tried", "noticed", "survived", "without a reason")
    tables = [
        Table("Tried for this report", columns, [_mutated(name, each) for name, each in told["files"].items()]),
        Table("Recorded runs of whole files", (*columns, "when", "of"), [
            [*_mutated(name, each), each["when"], "this text" if each["current"] else "an earlier text"]
            for name, each in told["recorded"].items()
        ]),
        Table("Survivors, each with its reason", ("file", "change", "reason"), [
            [name, change, why] for name, changes in told["survivors"].items() for change, why in changes.items()
        ]),
        Table("Survivors without a reason", ("file", "line", "change"), [
            [name, row["line"], row["change"]] for name, each in told["files"].items() for row in each["unexplained"]
        ]),
    ]  # fmt: skip
    tried, survived = (sum(each[key] for each in told["files"].values()) for key in ("tried", "survived"))
    unexplained = sum(len(each["unexplained"]) for each in told["files"].values())
    facts: dict[str, Cell] = {"mutants tried": tried, "survived": survived, "without a reason": unexplained}
    return Content(facts, tables, told, f"{unexplained} survivors without a reason" if unexplained else "")


def _mutated(name: str, each: dict[str, Any]) -> list[Cell]:
    tried, survived = each["tried"], each["survived"]
    return [name, each["mutants"], tried, tried - survived, survived, len(each["unexplained"])]


def _benchmarks(output: Output) -> Content:
    told = json.loads(output.stdout)
    rows: list[list[Cell]] = [
        [
            name, line["case"], figure(line["median"], line["unit"]), figure(line["p90"], line["unit"]),
            round(line["ratio"], 2), line["rounds"],
        ]
        for name, lines in told.items()
        for line in lines
    ]  # fmt: skip
    smoke = "--smoke" in output.command.words
    facts: dict[str, Cell] = {
        "benchmarks": len(told),
        "rounds": "two each: they only have to run" if smoke else "as many as fit in 4 s, 300 at most",
    }  # fmt: skip
    columns = ("benchmark", "case", "median", "p90", "to the first", "rounds")
    return Content(facts, [Table("Figures", columns, rows)], told, _ended(output))


def _sbom(output: Output) -> Content:
    told = json.loads(output.stdout)
    components = told["components"]
    rows: list[list[Cell]] = [
        [each["name"], each.get("version", ""), _licences(each), each.get("purl", "")] for each in components
    ]
    facts: dict[str, Cell] = {
        "format": f"{told['bomFormat']} {told['specVersion']}", "components": len(components),
        "SHA-256 of the document": sha256(output.stdout.encode()).hexdigest(),
    }  # fmt: skip
    columns = ("name", "version", "licence", "package URL")
    return Content(facts, [Table("Components", columns, rows)], told, _ended(output))


def _licences(component: dict[str, Any]) -> str:
    found = []
    for each in component.get("licenses", ()):
        licence = each.get("license", {})
        found.append(each.get("expression") or licence.get("id") or licence.get("name", "")[:80])
    return ", ".join(dict.fromkeys(found))


# -- the table ------------------------------------------------------------------------------------


def _attacked(choice: Choice) -> Command:
    return choice.command("rlm_secure", "audit", "--format", "json", *(["--quick"] if choice.quick else []), bound=2400)


def _plans(choice: Choice) -> Command:
    every = ["--every", "20"] if choice.quick else []
    inside = [sys.executable, "-m", "tests.attacks.matrix", "--json", *every]
    return choice.command("rlm_secure", "arena", "--share", str(ROOT), "--", *inside, bound=2400, ends=(0,))


def _crawled(choice: Choice) -> Command:
    sample = ["--sessions", "3"] if choice.quick else []
    words = ["--policy", CRAWLED, "--at-once", "--steps", "200", "--seed", str(choice.seed), "--shrink", "20", *sample]
    # An order of hashing makes the crawl the same again; no PATH, as in a worker.
    return choice.command("tests.crawler", *words, bound=1800, PYTHONHASHSEED="0", PATH="", PYTHONWARNINGS="ignore")


def _fuzzed(choice: Choice) -> Command:
    seconds = min(choice.fuzz_seconds, 3.0) if choice.quick else choice.fuzz_seconds
    words = ["all", "--seconds", f"{seconds:g}", "--seed", str(choice.seed), "--directory", "build/fuzz-findings"]
    return choice.command("tests.fuzz", *words, bound=120 + 8 * seconds)


def _covered(choice: Choice) -> Command:
    parts = FEW_PARTS if choice.quick else ()
    return choice.command("tests", "--coverage", "only", *parts, bound=5400)


def _changed(choice: Choice) -> Command:
    sample = min(choice.mutants or 3, 3) if choice.quick else choice.mutants
    words = ["all", "--sample", str(sample), "--seed", str(choice.seed), "--seconds", "600", "--json"]
    return choice.command("tests.mutation", *words, bound=7200)


def _measured(choice: Choice) -> Command:
    words = ["--smoke", *BENCHMARKS[:3]] if choice.quick else BENCHMARKS
    return choice.command("benchmarks", "--json", *words, bound=900)


def _listed(choice: Choice) -> Command:
    words = ["environment", "--output-reproducible", "--of", "JSON", sys.executable]
    return choice.command("cyclonedx_py", *words, bound=300, ends=(0,))


SECTIONS: tuple[Section, ...] = (
    Section(
        "machine", "The machine and the commit", "What all figures below depend on.",
        lambda choice: choice.command("tests.evidence.machine", bound=60, ends=(0,)), _machine,
    ),
    Section(
        "doctor", "The walls of this machine",
        "Each wall is built and tried under the policy strict. Clouds are not tried.",
        lambda choice: choice.command("rlm_secure", "doctor", "--json", bound=300), _doctor,
    ),
    Section(
        "audit", "The audit",
        "The shipped policy strict, the installed packages, and attacks on the local environment, in an arena.",
        _attacked, _audit,
    ),
    Section(
        "corpus", "The attacks",
        "The probes of the audit above, by guarantee. Held: a wall stopped it, or it reached nothing. Reached: the host"
        " saw it outside. Surface: a call succeeded that should not have, and nothing outside was reached. Not checked:"
        " it could not run, or the same attack does not win without walls here, so that its defeat proves nothing.",
        _attacked, _corpus,
    ),
    Section(
        "matrix", "Which wall stops which attack",
        "Attacks on the kernel whose control wins, with each wall taken away and with each alone.",
        _plans, _matrix,
    ),
    Section(
        "crawler", "What a cell can reach",
        f"Calls what cells of the policy {CRAWLED} reach, with objects whose every hook is the cell's.",
        _crawled, _crawler,
    ),
    Section(
        "fuzz", "Foreign bytes",
        "The readers of what comes from outside, for a bounded time each. The seed makes the same inputs again.",
        _fuzzed, _fuzz,
    ),
    Section(
        "coverage", "Branches of the trusted files",
        "Which lines and branches the tests run, in the host, supervisors, zygotes and sealed workers. A"
        " quick report runs a few parts only, so that most files show holes.",
        _covered, _coverage,
    ),
    Section(
        "mutation", "Changes that no test notices",
        "One small change at a time in a file; the tests of that file must fail.",
        _changed, _mutation,
    ),
    Section(
        "benchmarks", "What the walls cost",
        "Compare ratios: absolute figures are those of one machine, as busy as it was.",
        _measured, _benchmarks,
    ),
    Section(
        "sbom", "Bill of materials",
        "Every package of the environment that the report was made in; the JSON has the whole document.",
        _listed, _sbom,
    ),
)  # fmt: skip
NAMES = tuple(each.name for each in SECTIONS)


def chosen(only: Sequence[str], skip: Sequence[str]) -> tuple[Section, ...]:
    """The sections that were asked for, in the order of the table."""
    return tuple(each for each in SECTIONS if (not only or each.name in only) and each.name not in skip)
