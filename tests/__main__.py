"""The whole suite, in parts that run side by side: `python -m tests [-j N] [PART ...]`.

Each part is a pytest process of its own, small enough to fork fast and alone with its own threads, environment and
zygotes. A directory is a part, without the slow files that are parts of their own. What runs attacks in its own process
runs in an arena: it cannot harm this machine. No attack that got through is given a second chance.

pytest-xdist does not fit. Its workers are copies of one process, and any of them may run any test; parts need
different processes: one an arena with its own users and network, another an arena that is given a Docker engine, a third
none, and each its own plugins and cache. A worker of xdist lives for the whole run, so the memory, threads and signals of
one test are those of the next; and it starts a worker that crashed anew and goes on, where an attack has just got through.

Of what tests/share.py lists, a push runs its share; all of it runs every night, and where parts or marks are named.
`--quick` is what to run after each change: tests/quick.py lists it. `--junit FILE` writes one report for all parts.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from rlm_secure.removal import Scratch
from tests import junit, quick, share, signals
from tests.branches import report

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".pytest_cache" / "parts"
#: The corpus in each provider's sandbox is a part for each provider.
PROVIDERS = ("modal", "daytona", "e2b", "prime")
CORPUS = "tests/clouds/test_attacks.py"
#: Files that are parts of their own. What lasts longest comes first, and starts first.
ALONE = (
    "tests/scale/test_ray.py",
    "tests/attacks/test_kernel.py",
    "tests/attacks/test_habits.py",
    "tests/local/test_faults.py",
    "tests/attacks/test_harm.py",
    "tests/docker/test_corpus.py",
    "tests/docker/test_escapes.py",
    "tests/clouds/test_faults.py",
    "tests/attacks/test_packages.py",
    "tests/local/test_seccomp_profile.py",
    CORPUS,
    "tests/clouds/test_live.py",
    "tests/clouds/test_pods_attacked.py",
)
#: Where a Docker engine listens.
ENGINE = "/run/docker.sock"
#: What runs attacks in its own process, and so in an arena; with what that is given for a Docker engine.
IN_ARENA: dict[str, tuple[str, ...]] = {
    "tests/attacks": (),
    "tests/bypasses": (),
    "tests/crawler": (),
    CORPUS: (),
    "tests/clouds/test_live.py": (),
    "tests/local/test_seccomp_profile.py": (),
    "tests/clouds/test_pods_attacked.py": ("--share", ENGINE),
    "tests/docker/test_corpus.py": ("--share", ENGINE),
    # Its control is a container in the host's network, which has to reach what this process listens on.
    "tests/docker/test_escapes.py": ("--share", ENGINE, "--share-network"),
}
#: So many tests may need a second run, when nothing else runs, before the whole is taken for broken.
MOST_RERUNS = 3
#: Directories that last long as well, and start first: most of them wait.
LONG = (
    "tests/broker", "tests/local", "tests/clouds", "tests/docker", "tests", "tests/clients", "tests/attacks", "tests/guest",
    "tests/docs", "tests/crawler", "tests/bypasses",
)  # fmt: skip
#: Plugins of pytest that cost a second or more, and what a file that wants them imports. Hypothesis, loaded late in a
#: process that has used none of it, also runs into a bug of Python 3.11's parser.
PLUGINS = {"schemathesis": "schemathesis", "hypothesispytest": "hypothesis"}
#: Parts that run what tests/trusted.py lists, with files of theirs: `--coverage` measures which branches of it.
MEASURED = (
    "tests",
    "tests/agents",
    "tests/arena",
    "tests/attacks",
    "tests/broker",
    "tests/clients",
    "tests/docker",
    "tests/environments",
    "tests/local",
    "tests/logger",
    "tests/packages",
    "tests/packaging",
    "tests/policy",
    "tests/rlm",
    "tests/scale",
    "tests/testing",
    "tests/tools",
)
#: Parts of these that are not: they measure memory and time, or attack for minutes, and run no branch that others do not.
UNMEASURED = (
    "tests/attacks/test_harm.py",
    "tests/attacks/test_kernel.py",
    "tests/attacks/test_packages.py",
    "tests/docker/test_corpus.py",
    "tests/docker/test_escapes.py",
    "tests/local/test_faults.py",
    "tests/scale/test_ray.py",
)
JOBS = 5
NO_TESTS = 5  # pytest's exit status
AGAIN = ("--last-failed", "--last-failed-no-failures", "none")
#: The last line of a pytest that came to its end.
ENDED = re.compile(r"\bin \d+(\.\d+)?s\b")


@dataclass(frozen=True)
class Part:
    """What one process runs."""

    name: str
    paths: tuple[str, ...]
    chosen: str = ""

    def has(self, pattern: str) -> bool:
        """Whether one of its files has the pattern in a line of it."""
        paths = [ROOT / path for path in self.paths]
        files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
        lines = re.compile(pattern, re.MULTILINE)
        return any(lines.search(file.read_text(encoding="utf-8")) for file in files)

    @property
    def given(self) -> tuple[str, ...] | None:
        """What its arena is given beside the checkout; None where it needs no arena."""
        found = [given for place, given in IN_ARENA.items() if all(path.startswith(place) for path in self.paths)]
        return found[0] if found else None

    @property
    def attacks(self) -> bool:
        """Whether a test of it may carry the mark `attack`, which tests/conftest.py gives to all that needs an arena."""
        return self.given is not None or self.has(r"mark\.attack")

    @property
    def measured(self) -> bool:
        """Whether `--coverage` measures it."""
        within = self.name.endswith(".py") and Path(self.name).parent.as_posix() in MEASURED
        return (within or self.name in MEASURED) and self.name not in UNMEASURED

    def told(self, directory: Path, *, again: bool = False) -> Path:
        """Where its JUnit report is, or that of its second run: an arena writes nowhere else."""
        return directory / "shared" / f"{'again' if again else 'first'}.{self.name.replace('/', '.')}.xml"

    def run(self, directory: Path, *options: str) -> tuple[bool, float]:
        """Run it, its output to a file; whether everything passed, and the processor seconds that it took."""
        name = self.name.replace("/", ".")
        output = directory / name
        cache = CACHE / name if self.given is None else f"/tmp/{name}"
        every = os.environ.get("RLM_SECURE_COVERAGE_HOST") == "1"
        measured = os.environ.get("RLM_SECURE_COVERAGE", "") if self.measured or every else ""
        runner = ["coverage", "run", f"--rcfile={measured}/coveragerc", "-m"] if measured else []
        command = [sys.executable, "-m", *runner, "pytest", "-q", "-p", "no:anyio", "-o", f"cache_dir={cache}"]
        for plugin, wanted in PLUGINS.items():
            command += [] if self.has(rf"^\s*(from|import) {wanted}\b") else ["-p", f"no:{plugin}"]
        if self.chosen:
            command += ["-k", self.chosen]
        command += [*options, f"--junit-xml={self.told(directory, again=AGAIN[0] in options)}", *self.paths]
        if self.given is not None:
            given = ["--share", str(ROOT), "--share", f"{directory / 'shared'}:rw"]
            if self.given and (Path(ENGINE).exists() or os.environ.get("RLM_SECURE_CI") == "1"):
                subprocess.run([ROOT / "tests/docker/base_image.sh", "rlm-secure-test-base"], check=True)
                # An engine outside sees what it is told to mount only in a directory that both have.
                given += [*self.given, "--share", f"/tmp/rlm-secure-{os.getpid()}-{name}:rw"]
            command = [sys.executable, "-m", "rlm_secure", "arena", *given, "--", *command]
        environment = os.environ | {"RLM_SECURE_PART": self.name, "RLM_SECURE_COVERAGE": measured}
        if AGAIN[0] in options:  # what failed is all that is collected: a share of that could be nothing
            environment["RLM_SECURE_TURN"] = ""
        with output.open("ab") as file:
            process = subprocess.Popen(command, cwd=ROOT, stdout=file, stderr=file, env=environment)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        nothing_to_run = process.returncode == NO_TESTS and AGAIN[0] not in options
        return process.returncode == 0 or nothing_to_run, used.ru_utime + used.ru_stime


def parts() -> list[Part]:
    """Every test file in exactly one part, or in one for each provider; the slow ones first."""
    alone, found = [], []
    for name in ALONE:
        assert (ROOT / name).is_file(), f"{name} is not there: mend ALONE"
        whole = Part(name, (name,))
        alone += [Part(f"{name}-{each}", (name,), each) for each in PROVIDERS] if name == CORPUS else [whole]
    rest: dict[str, list[str]] = {}
    for path in sorted((ROOT / "tests").rglob("test_*.py")):
        name = path.relative_to(ROOT).as_posix()
        if name not in ALONE:
            rest.setdefault("/".join(name.split("/")[:-1][:2]), []).append(name)
    for directory in sorted(rest, key=lambda directory: (LONG.index(directory) if directory in LONG else len(LONG), directory)):
        # What a directory leaves out by itself, it leaves out where it is named, and its files are not.
        whole = directory != "tests" and not any(name.startswith(f"{directory}/") for name in ALONE)
        found.append(Part(directory, (directory,) if whole else tuple(rest[directory])))
    return found[: len(LONG)] + alone + found[len(LONG) :]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tests", description="Every test, in parts that run side by side.")
    parser.add_argument("part", nargs="*", help="parts whose names start so, or files (default: all)")
    parser.add_argument("-j", "--jobs", type=int, help="how many run at a time (default: 5, as most wait; --quick: 3)")
    parser.add_argument("--quick", action="store_true", help="the heart alone, in a minute: see tests/quick.py")
    parser.add_argument("--all", action="store_true", help="also what is marked exhaustive: half an hour more")
    parser.add_argument(
        "--turn", help="which share of what the pushes run in turn: a number, or `all` (default: by the number of commits;"
        " all where parts or marks are named)",
    )
    parser.add_argument(
        "-m", "--marks", default="", help="only tests whose marks match, as pytest's -m; `-m attack` is the corpus"
    )
    parser.add_argument(
        "--again", action="store_true", help="run what failed once more, alone: what fails twice is broken"
    )
    parser.add_argument("--junit", type=Path, metavar="FILE", help="write what every test did to FILE, as JUnit's XML")
    parser.add_argument(
        "--coverage", nargs="?", const="also", choices=("also", "only", "host"), help="measure the branches of the trusted"
        " files that run, and ask for all of them; `only`: leave out the parts that are not measured; `host`: measure every"
        " part, and the lines of all host code",
    )
    parser.add_argument(
        "--gather", type=Path, metavar="FOLDER", help="with --coverage: add what was measured to FOLDER, and report on that"
    )
    return parser


def _chosen(options: argparse.Namespace, parser: argparse.ArgumentParser) -> list[Part]:
    """The parts to run; ends with a usage error where a name is none."""
    if options.quick:
        if options.part or options.all or options.coverage:
            parser.error("--quick is a choice of its own: name no parts, and neither --all nor --coverage")
        return [Part(name, paths, words) for name, (paths, words) in quick.PARTS.items()]
    every = parts()
    chosen = [] if options.part else [part for part in every if options.coverage != "only" or part.measured]
    for name in options.part:
        found = [part for part in every if part.name.startswith(name)]
        if not found and not (ROOT / name).is_file():
            parser.error(
                f"{name} is no file, and no part starts so; there are {', '.join(part.name for part in every)}"
            )
        chosen += [part for part in found or [Part(name, (name,))] if part not in chosen]
    chosen = [part for part in chosen if part.attacks] if options.marks == "attack" else chosen
    others = {f"{CORPUS}-{each}" for each in PROVIDERS} - {f"{CORPUS}-{each}" for each in share.share(PROVIDERS, 4)}
    return [part for part in chosen if part.name not in others]


def _turn(options: argparse.Namespace, parser: argparse.ArgumentParser) -> str:
    """For RLM_SECURE_TURN: "" where everything is tried."""
    if options.turn not in (None, "all") and not options.turn.isdecimal():
        parser.error(f"--turn is a number or `all`, not {options.turn!r}")
    whole = options.all or options.part or options.marks or options.quick or options.coverage
    if options.turn is None:
        return "" if whole else str(share.of_this_push())
    return "" if options.turn == "all" else str(options.turn)


def _marks(options: argparse.Namespace) -> tuple[str, ...]:
    """What pytest is told to select."""
    wanted = [f"({options.marks})"] if options.marks else []
    wanted += [quick.MARKS] if options.quick else [] if options.all else ["not exhaustive"]
    return ("-m", " and ".join(wanted)) if wanted else ()


def main() -> int:
    """Run the parts and say how each went; 0 when all passed."""
    signals.reset()
    started = time.monotonic()
    parser = _parser()
    options = parser.parse_args()
    os.environ["RLM_SECURE_TURN"] = turn = _turn(options, parser)
    chosen = _chosen(options, parser)
    if turn:
        print(f"of what the pushes run in turn (tests/share.py): --turn {turn}", flush=True)
    if options.quick and (missing_wall := quick.missing()):
        print(f"--quick proves nothing here: {missing_wall}; `rlm-secure doctor` says more", file=sys.stderr)
        return 2
    with Scratch(prefix="rlm-secure-tests") as directory:
        # Controls cost half a minute of processor time: the parts that need them share them.
        os.environ["RLM_SECURE_EXHAUSTIVE"] = str(int(options.all))  # tests/effort.py
        shared = directory / "shared"
        shared.mkdir()
        shared.chmod(0o777)  # for the users of arenas; the directory above is closed to everybody else
        os.environ.setdefault("RLM_SECURE_CONTROLS", f"{shared}/controls.json")
        os.environ["RLM_SECURE_FAILED"] = f"{shared}/failed"
        os.environ.pop("RLM_SECURE_COVERAGE", None)
        if options.coverage:
            report.prepare(shared / "coverage", host=options.coverage == "host")
            os.environ["RLM_SECURE_COVERAGE_HOST"] = str(int(options.coverage == "host"))
            os.environ["RLM_SECURE_COVERAGE"] = f"{shared}/coverage"
        marks = _marks(options)
        failed, reruns = _run(chosen, directory, options.jobs or (quick.JOBS if options.quick else JOBS), *marks), 0
        if failed and options.again:
            failed, reruns = _again(failed, directory, marks)
        if options.junit:
            junit.merge(((part.name, _told(part, directory)) for part in chosen), options.junit)
        missing = _covered(shared / "coverage", options) if options.coverage else []
    print(*(f"NOT RUN {each}" for each in missing), sep="\n", end="\n" if missing else "")
    print(
        f"{len(chosen) - len(failed)} of {len(chosen)} parts passed, {reruns} tests run a second time",
        *(f"FAILED {part.name}" for part in failed),
        sep="\n",
    )
    if reruns > MOST_RERUNS:
        print(f"FAILED: more than {MOST_RERUNS} tests needed a second run")
    if options.quick:
        print(f"{time.monotonic() - started:.0f} seconds")
    return bool(failed or missing) or reruns > MOST_RERUNS


def _covered(directory: Path, options: argparse.Namespace) -> list[str]:
    """Print what was measured; what is missing of the trusted files."""
    if options.gather:
        report.gather(directory, options.gather)
        directory = options.gather
    missing = report.failures(directory, whole=not options.part)
    if options.coverage == "host":
        print(*report.lines(directory), sep="\n")
    return missing


def _told(part: Part, directory: Path) -> list[Path]:
    """Its JUnit reports, in order."""
    again = part.told(directory, again=True)
    return [part.told(directory), *([again] if again.exists() else [])]


def _again(failed: list[Part], directory: Path, marks: tuple[str, ...]) -> tuple[list[Part], int]:
    """What failed, once more and alone: the parts that are broken, and how many tests were run a second time."""
    told = Path(os.environ["RLM_SECURE_FAILED"])
    rows = [json.loads(line) for line in told.read_text().splitlines()] if told.exists() else []
    final, others = [], []
    for part in failed:
        own = [row for row in rows if row["part"] == part.name]
        if any(row["attack"] for row in own) or part.given is not None:
            reason = "what carries the mark `attack` has lost when it loses once"
        elif not own or not ENDED.search(_last_line(directory, part)):
            reason = "it did not come to its end"  # and nobody knows what else would have failed
        else:
            reason = ""
        (final if reason else others).append(part)
        if reason:
            print(f"no second run for {part.name}: {reason}")
    reruns = sum(row["part"] == part.name for part in others for row in rows)
    if not others or reruns > MOST_RERUNS:
        return failed, reruns
    print(f"once more, alone: {', '.join(part.name for part in others)}", flush=True)
    return final + _run(others, directory, 1, *marks, *AGAIN), reruns


def _output(directory: Path, part: Part) -> Path:
    return directory / part.name.replace("/", ".")


def _last_line(directory: Path, part: Part) -> str:
    return _output(directory, part).read_text(encoding="utf-8", errors="replace").strip().rpartition("\n")[2]


def _run(chosen: list[Part], directory: Path, jobs: int, *options: str) -> list[Part]:
    """The parts that failed. What they said is shown in full; of the others, the last line."""

    def one(part: Part) -> bool:
        started = time.monotonic()
        output = _output(directory, part)
        output.unlink(missing_ok=True)
        passed, used = part.run(directory, *options)
        said = output.read_text(encoding="utf-8", errors="replace")
        took = f"{time.monotonic() - started:6.0f} s  {used:4.0f} s cpu  {part.name:<42} {_last_line(directory, part)}"
        print(took if passed else f"\n{said}\n", flush=True)
        return passed

    with ThreadPoolExecutor(jobs) as pool:
        return [part for part, passed in zip(chosen, pool.map(one, chosen), strict=True) if not passed]


if __name__ == "__main__":
    sys.exit(main())
