"""What was measured, put together: for each trusted file the lines and branches that no test ran.

Every branch of every trusted file is asked for. What no test can reach says so beside itself, with its reason:
`# pragma: no cover - why` for lines, `# pragma: no branch - why` for one way of a branch.
"""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

from tests.branches import tracer
from tests.trusted import ROOT, trusted

_CONFIG = """[run]
branch = true
parallel = true
data_file = {data}
patch = subprocess
plugins = tests.branches.plugin
disable_warnings = no-data-collected, module-not-measured, couldnt-parse
include =
{include}

[report]
exclude_lines =
    pragma: no cover - \\w+
    if TYPE_CHECKING:
    ^\\s*\\.\\.\\.$
    \\.\\.\\.\\s*$
partial_branches =
    pragma: no branch - \\w+
"""
#: Trusted files with branches that no test runs yet, and why. The aim is an empty table.
PENDING: dict[str, str] = {}


def prepare(directory: Path) -> None:
    """Make `directory` ready to be written to by whoever is measured."""
    directory.mkdir(exist_ok=True)
    directory.chmod(0o777)
    include = "\n".join(f"    {ROOT / path}" for path in trusted())
    (directory / "coveragerc").write_text(_CONFIG.format(data=directory / "host", include=include))
    (directory / "names.json").write_text(json.dumps(names()))
    with table(directory).open("wb") as file:
        file.truncate(len(names()) * tracer.SIZE)
    table(directory).chmod(0o666)


def table(directory: Path) -> Path:
    """The file that traced processes share."""
    return directory / "arcs"


def names() -> list[str]:
    """The ends of the paths of trusted files, in the order of the table; in the bundle the guest lies by itself."""
    return [path.removeprefix("rlm_secure/") if path.startswith("rlm_secure/guest/") else path for path in trusted()]


def measured(directory: Path) -> dict[str, Any]:
    """coverage.py's report on what was measured in `directory`: by path, as in its JSON."""
    from coverage import Coverage, CoverageData

    data = CoverageData(str(directory / "host.traced"))
    data.add_arcs(_arcs(table(directory)))
    data.write()
    merged = Coverage(data_file=str(directory / "all"), config_file=str(directory / "coveragerc"))
    merged.combine([str(path) for path in directory.glob("host.*")], keep=True)
    merged.save()
    outfile = directory / "report.json"
    merged.json_report(outfile=str(outfile))
    found: dict[str, Any] = json.loads(outfile.read_text())["files"]
    return {os.path.relpath(ROOT / path, ROOT): about for path, about in found.items()}


def _arcs(path: Path) -> dict[str, set[tuple[int, int]]]:
    marks = path.read_bytes()
    found: dict[str, set[tuple[int, int]]] = {}
    for index, name in enumerate(trusted()):
        piece = marks[index * tracer.SIZE : (index + 1) * tracer.SIZE]
        arcs = {divmod(match.start(), 2 * tracer.LINES) for match in re.finditer(b"\1", piece)}
        found[str(ROOT / name)] = {(_line(begin), _line(end)) for begin, end in arcs}
    return found


def _line(number: int) -> int:
    return number if number < tracer.LINES else tracer.LINES - number


def missing(about: dict[str, Any]) -> str:
    """Lines and branches of a file that nobody ran, on one line; "" where there are none."""
    lines = about["missing_lines"]
    branches = [(a, b) for a, b in about.get("missing_branches", []) if a not in lines]
    said = [f"lines {_ranges(lines)}"] if lines else []
    said += ["branches " + " ".join(f"{a}->{'exit' if b < 0 else b}" for a, b in branches)] if branches else []
    return ", ".join(said)


def _ranges(lines: list[int]) -> str:
    runs: list[list[int]] = []
    for line in lines:
        if runs and line == runs[-1][1] + 1:
            runs[-1][1] = line
        else:
            runs.append([line, line])
    return " ".join(str(a) if a == b else f"{a}-{b}" for a, b in runs)


def failures(directory: Path, *, whole: bool = True) -> list[str]:
    """Print the report; return what is wrong. Where only some parts ran (not `whole`), nothing is."""
    found = measured(directory)
    wrong: list[str] = []
    for path in trusted():
        about = found.get(path)
        left = "nothing of it ran" if about is None else missing(about)
        percent = 0.0 if about is None else about["summary"]["percent_covered"]
        print(f"{percent:6.1f} %  {path:<48} {left}")
        if left and path not in PENDING:
            wrong.append(f"{path}: {left}")
    return wrong if whole else []
