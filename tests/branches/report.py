"""What was measured, put together: for each trusted file the lines and branches that no test ran.

With `host`, the lines of all host code are measured as well, whatever runs them. What several runs measured can be
gathered in one directory, a part of the tests at a time.

Every branch of every trusted file is asked for. What no test can reach says so beside itself, with its reason:
`# pragma: no cover - why` for lines, `# pragma: no branch - why` for one way of a branch.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import sqlite3
from pathlib import Path
from typing import Any

from tests.branches import tracer
from tests.trusted import PACKAGE, ROOT, trusted

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
#: Percent of the lines of host code that the tests are to run.
LEAST = 95
#: Trusted files with branches that no test runs yet, and why. The aim is an empty table.
PENDING: dict[str, str] = {}


def prepare(directory: Path, *, host: bool = False) -> None:
    """Make `directory` ready to be written to by whoever is measured."""
    directory.mkdir(parents=True, exist_ok=True)
    directory.chmod(0o777)
    include = "\n".join(f"    {ROOT / path}" for path in (*trusted(), *(host_code() if host else ())))
    (directory / "coveragerc").write_text(_CONFIG.format(data=directory / "host", include=include))
    branches, lines = names(), _others() if host else []
    (directory / "names.json").write_text(json.dumps([branches, lines]))
    with table(directory).open("wb") as file:
        file.truncate(tracer.size(branches, lines))
    table(directory).chmod(0o666)


def host_code() -> list[str]:
    """The files of host code, as paths from the root of the project."""
    files = (path.relative_to(ROOT).as_posix() for path in sorted(PACKAGE.rglob("*.py")))
    return [path for path in files if not path.startswith(("rlm_secure/guest/", "rlm_secure/_data/"))]


def _others() -> list[str]:
    """Host code that is not trusted: of it, lines are measured."""
    return [path for path in host_code() if path not in trusted()]


def gather(directory: Path, kept: Path) -> None:
    """Add what was measured in `directory` to what is in `kept`. Raises ValueError where that is of other sources."""
    sources = "".join((ROOT / path).read_text(encoding="utf-8") for path in (*trusted(), *host_code()))
    digest = hashlib.sha256(sources.encode()).hexdigest()
    if not (kept / "sources").exists():
        prepare(kept, host=True)
        (kept / "sources").write_text(digest)
    if (kept / "sources").read_text() != digest:
        raise ValueError(f"{kept} has what other sources ran: remove it, or name another folder")
    for path in _written(directory):
        shutil.copyfile(path, kept / f"{path.name}.{os.getpid()}")
    both = int.from_bytes(table(kept).read_bytes(), "little") | int.from_bytes(table(directory).read_bytes(), "little")
    table(kept).write_bytes(both.to_bytes(table(directory).stat().st_size, "little"))


def _written(directory: Path) -> list[Path]:
    """The data files of processes that came to their end: one that is killed while it writes leaves a piece of one."""
    found = []
    for path in sorted(directory.glob("host.*")):
        with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(sqlite3.connect(path)) as data:
            if data.execute("select count(*) from sqlite_master where name = 'arc'").fetchone() == (1,):
                data.execute("select count(*) from arc").fetchone()
                found.append(path)
    return found


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
    merged.combine([str(path) for path in _written(directory)], keep=True)
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
    lines = marks[len(trusted()) * tracer.SIZE :]
    for index, name in enumerate(_others() if lines else ()):
        piece = lines[index * tracer.MOST_LINES : (index + 1) * tracer.MOST_LINES]
        # How a line was reached is not known, and nobody asks for the branches of these files.
        found[str(ROOT / name)] = {(-1, match.start()) for match in re.finditer(b"\1", piece)}
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


def lines(directory: Path) -> list[str]:
    """A table of the lines of host code: the whole, and each file below LEAST."""
    found = measured(directory)
    rows = []
    for path in host_code():
        about = found.get(path)
        if about is None:  # whoever imports a file runs some of it
            rows.append((path, 0, 1, "nothing of it ran"))
        else:
            summary = about["summary"]
            rows.append((path, summary["covered_lines"], summary["num_statements"], _ranges(about["missing_lines"])))
    ran, every = (sum(row[at] for row in rows) for at in (1, 2))
    said = [f"host code: {100 * ran / every:.1f} % of {every} lines ran, in {len(rows)} files"]
    below = sorted((100 * row[1] / row[2], row) for row in rows if row[2] and 100 * row[1] < LEAST * row[2])
    said.append(f"{len(below)} files below {LEAST} %")
    return said + [f"{percent:6.1f} %  {row[0]:<48} lines {row[3]}" for percent, row in below]


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
