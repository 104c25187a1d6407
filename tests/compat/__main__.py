"""Upstream's own tests against rlm_secure.compat: `python -m tests.compat PATH_TO_UPSTREAM`.

PATH is a checkout of upstream's repository, or its source distribution (`pip download rlms --no-deps --no-binary
rlms`), which has some of its tests. Every test passes, or is in differences.toml with the reason. Fails for one that
fails or is skipped and is not there, and for one that is there as a difference although it passes. `--write` writes
docs/pages/migration/differences.md from that file, and names.md from the package of PyPI; neither needs a checkout.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path

from rlm_secure.removal import Scratch
from tests.compat import names
from tests.compat.differences import DOCUMENT, HERE, Difference, page, read
from tests.docs.needs import packages

#: Not in the source distribution, although tests import it.
MISSING = "tests/mock_lm.py"


def main() -> int:
    """The exit code: 0 where every difference is listed."""
    parser = argparse.ArgumentParser(prog="python -m tests.compat", description=__doc__)
    parser.add_argument("path", nargs="?", type=Path, help="a checkout of upstream, or its source distribution")
    parser.add_argument("--write", action="store_true", help="write the pages of docs/pages/migration that are made here")
    options = parser.parse_args()
    differences, skipped = read(), read("skipped")
    if options.write:
        DOCUMENT.write_text(page(differences, skipped), encoding="utf-8")
        names.KEPT.write_text(json.dumps(names.read(packages("rlms")), indent=1) + "\n", encoding="utf-8")
        names.DOCUMENT.write_text(names.page(), encoding="utf-8")
    if options.path is None:
        return 0
    outcomes = run(options.path.resolve())
    problems = compared(outcomes, differences, skipped)
    print(*problems, sep="\n")
    passed = sum(outcome == "passed" for outcome in outcomes.values())
    print(f"{passed} of upstream's tests pass, {len(problems)} problems")
    return 1 if problems or not passed else 0


def run(path: Path) -> dict[str, str]:
    """What becomes of each test of upstream, by its id."""
    ignored = [] if (path / MISSING).exists() else _needs_missing(path)
    with Scratch(prefix="rlm-secure-compat") as scratch:
        outcomes = scratch / "outcomes.json"
        environ = {
            **os.environ,
            "PYTHONPATH": os.pathsep.join([str(HERE), *filter(None, [os.environ.get("PYTHONPATH")])]),
            "PYTHONDONTWRITEBYTECODE": "1",
            "RLM_SECURE_OUTCOMES": str(outcomes),
        }
        command = [sys.executable, "-m", "pytest", "-q", "-p", "upstream_plugin", "-p", "no:cacheprovider", "tests"]
        command += ["-o", "addopts=", "--tb=no", "--timeout=120", *(f"--ignore={each}" for each in ignored)]
        subprocess.run(command, cwd=path, env=environ, check=False)
        found: dict[str, str] = json.loads(outcomes.read_text(encoding="utf-8"))
        return found


def _needs_missing(path: Path) -> list[Path]:
    return [each for each in sorted(path.glob("tests/**/*.py")) if "tests.mock_lm" in each.read_text(encoding="utf-8")]


def compared(
    outcomes: dict[str, str], differences: tuple[Difference, ...], skipped: tuple[Difference, ...]
) -> list[str]:
    """A line for each failure and each skip that is not listed, and for each listed failure that is none any more.

    Upstream skips whole files where something is missing, Docker for example: then they compare nothing.
    """
    listed = {test for difference in differences for test in difference.tests}
    not_run = listed | {test for each in skipped for test in each.tests}
    files = tuple(f"{each}::" for each in listed if "::" not in each)
    others = {test: outcome for test, outcome in sorted(outcomes.items()) if not test.startswith(files)}
    return [
        *(
            f"differs, and is not in differences.toml: {test}"
            for test, outcome in others.items()
            if outcome == "failed" and test not in listed
        ),
        *(
            f"is skipped, and is not in differences.toml: {test}"
            for test, outcome in others.items()
            if outcome == "skipped" and test not in not_run
        ),
        *(f"passes, and is in differences.toml: {test}" for test in sorted(listed) if outcomes.get(test) == "passed"),
    ]


if __name__ == "__main__":
    sys.exit(main())
