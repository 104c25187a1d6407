"""A table that a model will be asked about: columns of plain data, what is told of them, and their digest."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final

from rlm_secure.agents.tables import cells
from rlm_secure.agents.tables.read import LIMIT_BYTES, MEMORY_BYTES, SECONDS, parsed
from rlm_secure.errors import TableError
from rlm_secure.inert import excerpt
from rlm_secure.plural import counted

#: Different values of a column that are counted, cells of it that are looked at for that, and notes that are kept.
_DISTINCT: Final = 1_000
_NOTES: Final = 100
_FORMAT: Final = b"rlm_secure.Table 1\n"
_BATCH: Final = 10_000

#: How a kind is called. All others are "mixed".
_NAMES: Final = {
    bool: "bool", int: "int", float: "float", str: "str", bytes: "bytes", Decimal: "decimal",
} | {kind: kind.__name__ for kind in cells.KINDS if kind.__module__ == "datetime"}  # fmt: skip
_ORDERED: Final = frozenset({"int", "float", "decimal", "date", "datetime", "time", "timedelta"})


class Table:
    """Columns of one length, by name and in order. `notes` says what was changed so that it is a table.

    A cell is None, a bool, int, float, str, bytes, Decimal, date, datetime, time or timedelta. A column without a name
    is called "column 3" by its place, and the second one of a name "name (2)". Raises TableError for what is no table,
    and for more than 5,000,000 rows, 16,384 columns, 20,000,000 cells, `limit_bytes` bytes, a name of 1,000 characters
    or a cell of 10,000,000.
    """

    __slots__ = ("_columns", "notes", "rows", "sheet")

    def __init__(
        self,
        columns: Mapping[Any, Iterable[Any]],
        *,
        limit_bytes: int = LIMIT_BYTES,
        notes: Iterable[str] = (),
        sheet: str | None = None,
    ) -> None:
        self._build(list(columns), [columns[name] for name in columns], limit_bytes, notes, sheet)

    def _build(
        self, names: list[Any], given: list[Iterable[Any]], limit_bytes: int, notes: Iterable[str], sheet: str | None
    ) -> None:
        if len(names) > cells.COLUMNS:
            raise TableError(
                f"a table has at most {cells.COLUMNS:,} columns, and this one has {len(names):,}; keep what is needed"
            )
        named, said = _named(names)
        columns: dict[str, tuple[Any, ...]] = {}
        total = sum(map(len, named))
        count = rows = 0
        for at, (name, values) in enumerate(zip(named, given, strict=True)):
            if isinstance(values, str | bytes | Mapping):
                raise TableError(
                    f"the column {excerpt(name, 80)!r} is a {type(values).__name__}; give it a list of values"
                )
            column = tuple(itertools.islice(values, cells.ROWS + 1))
            rows = len(column) if at == 0 else rows
            count += len(column)
            if rows > cells.ROWS or len(column) > cells.ROWS:
                raise TableError(
                    f"a table has at most {cells.ROWS:,} rows, and this one has more; keep those that are needed"
                )
            if count > cells.CELLS:
                raise TableError(
                    f"a table has at most {cells.CELLS:,} cells, and this one has more; keep what is needed"
                )
            if len(column) != rows:
                raise TableError(
                    f"the column {excerpt(name, 80)!r} has {counted(len(column), 'value')}, and the first one has "
                    f"{rows:,}; give all columns the same length"
                )
            columns[name] = column = _checked(column, name)
            total += sum(map(cells.size, column))
            if total > limit_bytes:
                raise TableError(
                    f"the table takes more than limits.context_bytes = {limit_bytes:,} bytes (reached in the column "
                    f"{excerpt(name, 80)!r}); give less, or raise the limit"
                )
        self._columns = columns
        self.rows = rows
        self.sheet = sheet
        self.notes = tuple(excerpt(note, 1000) for note in itertools.islice(itertools.chain(notes, said), _NOTES))

    @classmethod
    def of(cls, data: Any, *, limit_bytes: int = LIMIT_BYTES) -> Table:
        """`data` as a table: a Table, a list of dicts, a mapping from name to values, a DataFrame, or a path to read.

        Raises TableError, and MissingExtra for a file whose packages are not installed.
        """
        if isinstance(data, Table):
            return data
        if isinstance(data, str | os.PathLike):
            return cls.read(data, limit_bytes=limit_bytes)
        if isinstance(data, Mapping):
            return cls(data, limit_bytes=limit_bytes)
        pandas = sys.modules.get("pandas")
        if pandas is not None and isinstance(data, pandas.DataFrame):
            return cls._of_frame(data, limit_bytes)
        if isinstance(data, list | tuple):
            return cls.from_rows(data, limit_bytes=limit_bytes)
        raise TableError(
            f"a {type(data).__name__} is no table; give a list of dicts, a dict of lists, a DataFrame or a path"
        )

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], *, limit_bytes: int = LIMIT_BYTES) -> Table:
        """A table of dicts. Columns are in the order in which their names come first; a missing key is None."""
        if len(rows) > cells.ROWS:
            raise TableError(
                f"a table has at most {cells.ROWS:,} rows, and this one has {len(rows):,}; keep those that are needed"
            )
        columns: dict[Any, list[Any]] = {}
        for at, row in enumerate(rows):
            if not isinstance(row, Mapping):
                raise TableError(f"row {at:,} is a {type(row).__name__}; each row is a dict from column to value")
            for name, value in row.items():
                if name not in columns:
                    if (len(columns) + 1) * len(rows) > cells.CELLS or len(columns) >= cells.COLUMNS:
                        raise TableError(
                            f"a table has at most {cells.COLUMNS:,} columns and {cells.CELLS:,} cells (reached in "
                            f"row {at:,}); keep those that are needed"
                        )
                    columns[name] = [None] * len(rows)
                columns[name][at] = value
        return cls(columns, limit_bytes=limit_bytes)

    @classmethod
    def read(
        cls,
        path: str | os.PathLike[str],
        sheet: str | None = None,
        *,
        limit_bytes: int = LIMIT_BYTES,
        seconds: float = SECONDS,
        memory_bytes: int = MEMORY_BYTES,
    ) -> Table:
        """The table in a .csv, .tsv, .txt, .xlsx, .xlsm or .parquet file; `sheet` is the first visible one by default.

        A process of its own parses the file, with at most `seconds` and `memory_bytes`. A formula gives the value that
        was saved with it. Raises TableError and MissingExtra.
        """
        found = parsed(path, sheet, limit_bytes=limit_bytes, seconds=seconds, memory_bytes=memory_bytes)
        table = cls.__new__(cls)
        try:
            table._build(found.names, list(found.columns), limit_bytes, found.notes, found.sheet)
        except TableError as error:
            raise TableError(f"{excerpt(str(Path(path)))} cannot be taken: {error}") from None
        return table

    @classmethod
    def _of_frame(cls, frame: Any, limit_bytes: int) -> Table:
        rows, width = frame.shape
        if rows > cells.ROWS or width > cells.COLUMNS or rows * width > cells.CELLS:
            raise TableError(
                f"a table has at most {cells.ROWS:,} rows, {cells.COLUMNS:,} columns and {cells.CELLS:,} cells, and "
                f"this DataFrame has {rows:,} rows and {width:,} columns; keep those that are needed"
            )
        columns = []
        for at in range(width):
            series = frame.iloc[:, at]
            columns.append(series.astype(object).where(series.notna(), None).tolist())
        default = type(frame.index).__name__ == "RangeIndex" and frame.index.name is None
        notes = [] if default else ["the index of the DataFrame was left out; reset_index() makes it a column"]
        table = cls.__new__(cls)
        table._build(list(frame.columns), list(columns), limit_bytes, notes, None)
        return table

    @property
    def columns(self) -> Mapping[str, tuple[Any, ...]]:
        """The cells of each column, by name and in order. They cannot be changed."""
        return MappingProxyType(self._columns)

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(self._columns)

    def to_dict(self) -> dict[str, list[Any]]:
        """A new dict of lists, as a cell of a sandbox gets it."""
        return {name: list(column) for name, column in self._columns.items()}

    def records(self) -> Iterator[dict[str, Any]]:
        """Each row as a dict."""
        for row in zip(*self._columns.values(), strict=True):
            yield dict(zip(self._columns, row, strict=True))

    def __len__(self) -> int:
        return self.rows

    def __eq__(self, other: object) -> bool:
        """Whether all columns, their order and all cells are the same, as digest() has it."""
        return isinstance(other, Table) and (self is other or self.digest() == other.digest())

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"<Table of {counted(self.rows, 'row')} and {counted(len(self._columns), 'column')}>"

    def schema(self, samples: int = 5, *, most: int = 256) -> dict[str, Any]:
        """What a model is told about the table, as JSON that is safe to show: text is inert and at most 80 characters.

        Of each of the first `most` columns: its `name`, with `position` (from 0) and `name_altered` where the name is
        not shown as it is; its `kind` (bool, int, float, decimal, str, bytes, date, datetime, time, timedelta, mixed or
        empty); how many cells are `missing` (None and NaN); how many values are `distinct`, up to 1,000
        (`distinct_or_more` says that there may be more); `min` and `max` of numbers, dates and times; up to `samples`
        different short `examples`.
        """
        described = [
            _described(name, column, at, samples)
            for at, (name, column) in enumerate(itertools.islice(self._columns.items(), most))
        ]
        told: dict[str, Any] = {"rows": self.rows, "columns": described}
        if len(self._columns) > most:
            told["more_columns"] = len(self._columns) - most
        return told

    def schema_text(self, samples: int = 5, *, most: int = 256) -> str:
        """schema() as JSON, with a line for each column: a text of a cell is inside of a string of JSON."""
        told = self.schema(samples, most=most)
        lines = ",\n".join(f"  {json.dumps(each, ensure_ascii=False)}" for each in told.pop("columns"))
        head = "".join(f'"{key}": {value}, ' for key, value in told.items())
        return f'{{{head}"columns": [\n{lines}\n]}}' if lines else f'{{{head}"columns": []}}'

    def digest(self) -> str:
        """The SHA-256 of all that the table is, in hex: its columns in order, their names, and every cell of each row.

        Two tables have the same digest if all of that is the same, and what two cells being the same means is said in
        cells.py: 1, 1.0, True and "1" differ, so do 0.0 and -0.0, and every NaN is the same. Notes do not count.
        """
        sha = hashlib.sha256(_FORMAT + b"%d,%d;" % (self.rows, len(self._columns)))
        for name, column in self._columns.items():
            sha.update(cells.encoded(name))
            for begin in range(0, len(column), _BATCH):
                sha.update(b"".join(map(cells.encoded, column[begin : begin + _BATCH])))
        return sha.hexdigest()


def _named(names: list[Any]) -> tuple[list[str], list[str]]:
    """The names of columns, each once, and what was changed."""
    texts = [_name(name, at) for at, name in enumerate(names)]
    taken: set[str] = set(texts)
    used: set[str] = set()
    numbers: dict[str, int] = {}
    found: list[str] = []
    notes: list[str] = []
    for at, text in enumerate(texts):
        name = text or f"column {at + 1}"
        if name in used or (not text and name in taken):
            number = numbers.get(name, 1)
            base = name
            while name in used or name in taken:
                number += 1
                name = f"{base} ({number})"
            numbers[base] = number
        if name != text and len(notes) < _NOTES:
            why = f"has the name {excerpt(text, 80)!r} of another one" if text else "has no name"
            notes.append(f"column {at + 1} {why}, and is called {excerpt(name, 80)!r}")
        used.add(name)
        found.append(name)
    return found, notes


def _name(name: Any, at: int) -> str:
    try:
        cell = cells.plain(name)
    except TypeError:
        cell = name if not isinstance(name, tuple) else " / ".join(map(str, name))
    if cells.is_missing(cell) if type(cell) in cells.KINDS else False:
        return ""
    if type(cell) is bytes or type(cell) not in cells.KINDS:
        raise TableError(f"the name of column {at + 1} is a {type(cell).__name__}; name columns by text")
    text = cell if type(cell) is str else str(cells.shown(cell, cells.NAME_CHARACTERS))
    if len(text) > cells.NAME_CHARACTERS:
        raise TableError(
            f"the name of column {at + 1} has more than {cells.NAME_CHARACTERS:,} characters "
            f"({excerpt(text, 60)!r}); shorten it"
        )
    return text if text.strip() else ""


def _checked(column: tuple[Any, ...], name: str) -> tuple[Any, ...]:
    if not cells.KINDS.issuperset(map(type, column)):
        column = tuple(_plain(value, row, name) for row, value in enumerate(column))
    for row, cell in enumerate(column):
        if type(cell) in _SIZED and _SIZED[type(cell)](cell) > cells.CELL_SIZE:
            raise TableError(
                f"a cell has more than {cells.CELL_SIZE:,} characters, bytes or digits (row {row:,}, column "
                f"{excerpt(name, 80)!r}); shorten it"
            )
    return column


_SIZED: Final[Mapping[type, Callable[[Any], int]]] = {
    str: len,
    bytes: len,
    int: lambda value: value.bit_length() // 3,
    Decimal: lambda value: len(value.as_tuple().digits),
}


def _plain(value: Any, row: int, name: str) -> Any:
    try:
        return cells.plain(value)
    except TypeError:
        raise TableError(
            f"a {type(value).__name__} is no value of a table (row {row:,}, column {excerpt(name, 80)!r}); make it a "
            "text, number, date or None"
        ) from None


def _described(name: str, column: tuple[Any, ...], at: int, samples: int) -> dict[str, Any]:
    told: dict[str, Any] = {"name": cells.short(name)}
    if told["name"] != name:
        told |= {"position": at, "name_altered": True}
    filled = [cell for cell in column if not cells.is_missing(cell)]
    kinds = set(map(type, filled))
    kind = "empty" if not kinds else _NAMES.get(next(iter(kinds)), "mixed") if len(kinds) == 1 else "mixed"
    kind = "float" if kinds == {int, float} else kind
    distinct: dict[bytes, Any] = {}
    for cell in filled:
        distinct.setdefault(cells.encoded(cell), cell)
        if len(distinct) > _DISTINCT:
            break
    told |= {"kind": kind, "missing": len(column) - len(filled), "distinct": min(len(distinct), _DISTINCT)}
    if len(distinct) > _DISTINCT:
        told["distinct_or_more"] = True
    if kind in _ORDERED:
        try:
            told |= {"min": cells.shown(min(filled)), "max": cells.shown(max(filled))}
        except TypeError:
            pass  # moments with a time zone and without one have no order
    told["examples"] = [cells.shown(cell) for cell in itertools.islice(distinct.values(), max(samples, 0))]
    return told
