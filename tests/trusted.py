"""The files that are trusted, from the one place that says so: their own docstrings.

A paragraph `Guards: what it guards` makes a file trusted. `python -m tests.trusted` writes the tables of
threat-model.md from these paragraphs; tests/test_threat_model.py holds both together, and `python -m tests --coverage`
asks for every branch of these files.
"""

from __future__ import annotations

import ast
import re
import sys
from functools import cache
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "rlm_secure"
DOCUMENT = ROOT / "threat-model.md"

_GUARDS = re.compile(r"^Guards: (.+?)(?:\n\s*\n|\Z)", re.MULTILINE | re.DOTALL)
_BEGIN, _END = "<!-- {}: written by `python -m tests.trusted` from the docstrings -->", "<!-- {}: end -->"


def guards(source: str) -> str | None:
    """What a module says that it guards, on one line; None where it says nothing."""
    if "\nGuards: " not in source:
        return None
    found = _GUARDS.search(ast.get_docstring(ast.parse(source)) or "")
    return " ".join(found[1].split()).rstrip(".") if found else None


@cache
def trusted() -> dict[str, str]:
    """Every trusted file, as a path from the root of the project, and what it guards; read once."""
    found = {path.relative_to(ROOT).as_posix(): guards(path.read_text(encoding="utf-8")) for path in _modules()}
    return {path: what for path, what in found.items() if what is not None}


def _modules() -> list[Path]:
    return sorted(path for path in PACKAGE.rglob("*.py") if "_data" not in path.parts)


def tables(files: dict[str, str]) -> dict[str, str]:
    """The tables of threat-model.md, by the name in their markers."""
    proofs = {path: what for path, what in files.items() if path.startswith("rlm_secure/testing/")}
    boundary = {path: what for path, what in files.items() if path not in proofs}
    return {"trusted files": _table("file", boundary), "trusted by proofs": _table("trusted by proofs", proofs)}


def _table(header: str, files: dict[str, str]) -> str:
    rows = [f"| {header} | guards |", "| --- | --- |", *(f"| `{path}` | {what} |" for path, what in files.items())]
    return "\n".join(rows)


def written(document: str, found: dict[str, str]) -> str:
    """`document` with these tables between their markers. Raises ValueError where a marker is missing."""
    for name, table in found.items():
        begin, end = _BEGIN.format(name), _END.format(name)
        head, middle, rest = document.partition(begin)
        _, last, tail = rest.partition(end)
        if not (middle and last):
            raise ValueError(f"threat-model.md has no {begin} ... {end}")
        document = f"{head}{begin}\n{table}\n{end}{tail}"
    return document


def main() -> int:
    """Write the tables."""
    DOCUMENT.write_text(written(DOCUMENT.read_text(encoding="utf-8"), tables(trusted())), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
