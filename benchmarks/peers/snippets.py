"""The snippets of the compatibility row: ordinary Python as models write it, and what it prints (snippets.txt)."""

from __future__ import annotations

from pathlib import Path
from typing import Final, NamedTuple

FILE: Final = Path(__file__).with_name("snippets.txt")


class Snippet(NamedTuple):
    """Cells that run one after the other in one session, and what the last of them prints."""

    name: str
    cells: tuple[str, ...]
    prints: str


def parsed(text: str) -> tuple[Snippet, ...]:
    """The snippets of a file: `== NAME`, cells with `-- next cell` between them, `-- prints` and the text."""
    found = []
    for part in f"\n{text}".split("\n== ")[1:]:
        name, _, rest = part.partition("\n")
        code, _, prints = rest.partition("\n-- prints\n")
        found.append(Snippet(name, tuple(code.split("\n-- next cell\n")), prints.strip("\n")))
    return tuple(found)


SNIPPETS: Final = parsed(FILE.read_text(encoding="utf-8"))
