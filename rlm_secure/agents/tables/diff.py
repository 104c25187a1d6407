"""What differs between two tables: columns, rows and cells, counted exactly and listed up to a limit.

With as many rows, cells are compared at their places. Else rows are aligned: those that are equal at the beginning and
at the end, and between them each row with an equal one that is left, in order; the rest was added or removed. Both take
time linear in the cells.
"""

from __future__ import annotations

import hashlib
import json
from collections import defaultdict, deque
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from rlm_secure.agents.tables import cells
from rlm_secure.agents.tables.table import Table
from rlm_secure.plural import counted

#: Changes of each kind that are listed.
LISTED: Final = 1_000
#: Characters of a name or a text in to_dict().
_SHOWN: Final = 200
_DIGEST: Final = 16


@dataclass(frozen=True, slots=True)
class CellChange:
    """A cell that has another value. `row` is its index from 0 in both tables."""

    row: int
    column: str
    """The name of its column."""
    before: Any
    """Its value in the old table."""
    after: Any
    """Its value in the new table."""


@dataclass(frozen=True, slots=True)
class TableDiff:
    """The difference. Counts are exact; `changes`, `added_rows` and `removed_rows` list the first 1,000 of each.

    `columns_reordered` says that the columns which both have are in another order; `rows_moved` is how many rows of a
    table with another number of rows come after one that they came before. Rows are compared in the columns that both
    have.
    """

    rows_before: int
    """Rows of the old table."""
    rows_after: int
    """Rows of the new table."""
    columns_added: tuple[str, ...]
    """Names of columns that the new table alone has."""
    columns_removed: tuple[str, ...]
    """Names of columns that the old table alone has."""
    columns_reordered: bool
    cells_changed: int
    """How many cells have another value."""
    changes: tuple[CellChange, ...]
    rows_added: int
    """How many rows the new table alone has."""
    added_rows: tuple[int, ...]
    rows_removed: int
    """How many rows the old table alone has."""
    removed_rows: tuple[int, ...]
    rows_moved: int

    @property
    def truncated(self) -> bool:
        """Whether there are more changes than are listed."""
        return (
            len(self.changes) < self.cells_changed
            or len(self.added_rows) < self.rows_added
            or len(self.removed_rows) < self.rows_removed
        )

    def __bool__(self) -> bool:
        """Whether anything differs."""
        return bool(
            self.columns_added
            or self.columns_removed
            or self.columns_reordered
            or self.cells_changed
            or self.rows_added
            or self.rows_removed
            or self.rows_moved
        )

    def summary(self) -> str:
        """One line that says what differs."""
        said = [
            f"{counted(number, noun)} {what}"
            for number, noun, what in (
                (self.cells_changed, "cell", "changed"),
                (self.rows_added, "row", "added"),
                (self.rows_removed, "row", "removed"),
                (self.rows_moved, "row", "moved"),
                (len(self.columns_added), "column", "added"),
                (len(self.columns_removed), "column", "removed"),
            )
            if number
        ]
        if self.columns_reordered:
            said.append("columns in another order")
        return ", ".join(said) or "nothing changed"

    def to_dict(self) -> dict[str, Any]:
        """As JSON that is safe to show: texts are inert, on one line and at most 200 characters."""
        return {
            "summary": self.summary(),
            "rows_before": self.rows_before,
            "rows_after": self.rows_after,
            "columns_added": [cells.short(name, _SHOWN) for name in self.columns_added[:LISTED]],
            "columns_removed": [cells.short(name, _SHOWN) for name in self.columns_removed[:LISTED]],
            "columns_reordered": self.columns_reordered,
            "cells_changed": self.cells_changed,
            "changes": [
                {
                    "row": each.row,
                    "column": cells.short(each.column, _SHOWN),
                    "before": cells.shown(each.before, _SHOWN),
                    "after": cells.shown(each.after, _SHOWN),
                }
                for each in self.changes
            ],
            "rows_added": self.rows_added,
            "added_rows": list(self.added_rows),
            "rows_removed": self.rows_removed,
            "removed_rows": list(self.removed_rows),
            "rows_moved": self.rows_moved,
            "truncated": self.truncated,
        }

    def __str__(self) -> str:
        return json.dumps(self.to_dict(), ensure_ascii=False)


def diff(before: Table, after: Table) -> TableDiff:
    """What differs between `before` and `after`. It is empty, and so false, exactly if their digests are equal."""
    old, new = before.columns, after.columns
    common = [name for name in old if name in new]
    changed = 0
    changes: list[CellChange] = []
    added: list[int] = []
    removed: list[int] = []
    moved = 0
    if before.rows != after.rows:
        added, removed, moved = _aligned([old[name] for name in common], [new[name] for name in common], before, after)
    else:
        for name in common:
            found = _changes(old[name], new[name])
            changed += len(found)
            room = LISTED - len(changes)
            changes += [CellChange(row, name, old[name][row], new[name][row]) for row in found[:room]]
    return TableDiff(
        rows_before=before.rows,
        rows_after=after.rows,
        columns_added=tuple(name for name in new if name not in old),
        columns_removed=tuple(name for name in old if name not in new),
        columns_reordered=common != [name for name in new if name in old],
        cells_changed=changed,
        changes=tuple(changes),
        rows_added=len(added),
        added_rows=tuple(added[:LISTED]),
        rows_removed=len(removed),
        removed_rows=tuple(removed[:LISTED]),
        rows_moved=moved,
    )


def _changes(old: Sequence[Any], new: Sequence[Any]) -> list[int]:
    return [
        row
        for row, (one, other) in enumerate(zip(old, new, strict=True))
        if one is not other and not cells.same(one, other)
    ]


def _aligned(
    old: Sequence[Sequence[Any]], new: Sequence[Sequence[Any]], before: Table, after: Table
) -> tuple[list[int], list[int], int]:
    """The rows that were added and removed, and how many were moved."""
    first, second = _rows(old, before.rows), _rows(new, after.rows)
    begin = 0
    while begin < min(len(first), len(second)) and first[begin] == second[begin]:
        begin += 1
    end, other = len(first), len(second)
    while end > begin and other > begin and first[end - 1] == second[other - 1]:
        end, other = end - 1, other - 1
    places: Mapping[bytes, deque[int]] = defaultdict(deque)
    for row in range(begin, end):
        places[first[row]].append(row)
    added = []
    moved = 0
    last = -1
    for row in range(begin, other):
        left = places.get(second[row])
        if not left:
            added.append(row)
            continue
        place = left.popleft()
        moved += place < last
        last = max(last, place)
    return added, sorted(row for left in places.values() for row in left), moved


def _rows(columns: Sequence[Sequence[Any]], count: int) -> list[bytes]:
    """A digest of each row. Encodings of cells say where they end, so no two rows are written alike."""
    if not columns:
        return [b""] * count
    return [
        hashlib.blake2b(b"".join(map(cells.encoded, row)), digest_size=_DIGEST).digest()
        for row in zip(*columns, strict=True)
    ]
