"""The whole suite, in parts that run side by side: `python -m tests [-j N] [PART ...]`.

Each part is a pytest process of its own, small enough to fork fast and alone with its own threads, environment and
zygotes. A directory is a part, without the slow files that are parts of their own. `pytest` alone runs the same tests
one after the other.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[1]
CACHE = ROOT / ".pytest_cache" / "parts"
#: The corpus in each provider's sandbox is a part for each provider.
PROVIDERS = ("modal", "daytona", "e2b", "prime")
CORPUS = "tests/clouds/test_attacks.py"
#: Files that are parts of their own. What lasts longest comes first, and starts first.
ALONE = (
    "tests/clouds/test_faults.py",
    "tests/attacks/test_kernel.py",
    "tests/clouds/test_sessions.py",
    "tests/clouds/test_lifecycle.py",
    CORPUS,
    "tests/docker/test_corpus.py",
    "tests/docker/test_faults.py",
    "tests/clouds/test_fleet.py",
    "tests/local/test_faults.py",
    "tests/docker/test_loop.py",
    "tests/local/test_seccomp_profile.py",
    "tests/audit/test_environments.py",
)
#: Directories that last long as well.
LONG = ("tests", "tests/broker", "tests/clouds")
#: Plugins of pytest that cost a second or more, and what a file that wants them names. Hypothesis, loaded late in a
#: process that has used none of it, also runs into a bug of Python 3.11's parser.
PLUGINS = {"schemathesis": "schemathesis", "hypothesispytest": "hypothesis"}
NO_TESTS = 5  # pytest's exit status


@dataclass(frozen=True)
class Part:
    """What one process runs."""

    name: str
    paths: tuple[str, ...]
    chosen: str = ""

    def _names(self, word: str) -> bool:
        paths = [ROOT / path for path in self.paths]
        files = [file for path in paths for file in (path.rglob("*.py") if path.is_dir() else [path])]
        return any(word in file.read_text(encoding="utf-8") for file in files)

    def run(self, output: Path, *options: str) -> tuple[bool, float]:
        """Run it, its output to a file; whether everything passed, and the processor seconds that it took."""
        command = [sys.executable, "-m", "pytest", "-q", "-o", f"cache_dir={CACHE / self.name.replace('/', '.')}"]
        command += ["-p", "no:anyio"]
        for plugin, wanted in PLUGINS.items():
            command += [] if self._names(wanted) else ["-p", f"no:{plugin}"]
        if self.chosen:
            command += ["-k", self.chosen]
        with output.open("ab") as file:
            process = subprocess.Popen([*command, *options, *self.paths], cwd=ROOT, stdout=file, stderr=file)
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        return process.returncode in (0, NO_TESTS), used.ru_utime + used.ru_stime


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
    for directory in sorted(rest, key=lambda directory: (directory not in LONG, directory)):
        # What a directory leaves out by itself, it leaves out where it is named, and its files are not.
        whole = directory != "tests" and not any(name.startswith(f"{directory}/") for name in ALONE)
        found.append(Part(directory, (directory,) if whole else tuple(rest[directory])))
    return found[: len(LONG)] + alone + found[len(LONG) :]


def main() -> int:
    """Run the parts and say how each went; 0 when all passed."""
    parser = argparse.ArgumentParser(prog="python -m tests", description="Every test, in parts that run side by side.")
    parser.add_argument("part", nargs="*", help="parts whose names start so, or files (default: all)")
    parser.add_argument("-j", "--jobs", type=int, default=4, help="how many run at a time (default: 4; most wait)")
    parser.add_argument("--all", action="store_true", help="also what is marked exhaustive: half an hour more")
    parser.add_argument("-m", "--marks", default="", help="only tests whose marks match, as pytest's -m")
    parser.add_argument(
        "--again", action="store_true", help="run what failed once more, alone: what fails twice is broken"
    )
    options = parser.parse_args()
    every = parts()
    chosen = [] if options.part else every
    for name in options.part:
        found = [part for part in every if part.name.startswith(name)]
        if not found and not (ROOT / name).is_file():
            parser.error(
                f"{name} is no file, and no part starts so; there are {', '.join(part.name for part in every)}"
            )
        chosen += [part for part in found or [Part(name, (name,))] if part not in chosen]
    with tempfile.TemporaryDirectory(prefix="rlm-secure-tests") as directory:
        # Controls cost half a minute of processor time: the parts that need them share them.
        os.environ["RLM_SECURE_EXHAUSTIVE"] = str(int(options.all))  # tests/effort.py
        os.environ.setdefault("RLM_SECURE_CONTROLS", f"{directory}/controls.json")
        wanted = [f"({options.marks})"] if options.marks else []
        wanted += [] if options.all else ["not exhaustive"]
        marks = ("-m", " and ".join(wanted)) if wanted else ()
        failed = _run(chosen, Path(directory), options.jobs, *marks)
        if failed and options.again:
            print(f"once more, alone: {', '.join(part.name for part in failed)}", flush=True)
            failed = _run(failed, Path(directory), 1, *marks, "--last-failed", "--last-failed-no-failures", "all")
    print(
        f"{len(chosen) - len(failed)} of {len(chosen)} parts passed",
        *(f"FAILED {part.name}" for part in failed),
        sep="\n",
    )
    return bool(failed)


def _run(chosen: list[Part], directory: Path, jobs: int, *options: str) -> list[Part]:
    """The parts that failed. What they said is shown in full; of the others, the last line."""

    def one(part: Part) -> bool:
        started = time.monotonic()
        output = directory / part.name.replace("/", ".")
        output.unlink(missing_ok=True)
        passed, used = part.run(output, *options)
        said = output.read_text(encoding="utf-8", errors="replace")
        last = said.strip().rpartition("\n")[2]
        took = f"{time.monotonic() - started:6.0f} s  {used:4.0f} s cpu  {part.name:<42} {last}"
        print(took if passed else f"\n{said}\n", flush=True)
        return passed

    with ThreadPoolExecutor(jobs) as pool:
        return [part for part, passed in zip(chosen, pool.map(one, chosen), strict=True) if not passed]


if __name__ == "__main__":
    sys.exit(main())
