"""Writes a table as .csv, .xlsx or .json, so that a spreadsheet that opens it runs nothing of it.

A program of spreadsheets takes a text that begins with =, +, - or @ as a formula, which can start a program or send
what is in other cells to a stranger. In CSV such a text gets an apostrophe before it, and every text is quoted, so
that no other delimiter divides it; in XLSX it is a cell of text, and says so in its style. Numbers stay numbers.
Controls and characters that deceive are written as their numbers, and nothing is a link.

Guards: that no cell of a written table is a formula, a link or a control character
"""

from __future__ import annotations

import contextlib
import datetime
import errno
import importlib.util
import io
import json
import math
import os
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any, Final

from rlm_secure import files
from rlm_secure.agents.tables.table import Table
from rlm_secure.errors import MissingExtra, TableError
from rlm_secure.inert import excerpt, inert

#: Rows of a sheet with the names, columns, and characters of a cell.
_SHEET_ROWS: Final = 1_048_576
_SHEET_COLUMNS: Final = 16_384
_SHEET_TEXT: Final = 32_767
#: The largest integer, and digits of a decimal, that a spreadsheet keeps exactly.
_EXACT: Final = 2**53
_DIGITS: Final = 15
#: Bits of an integer that is written with decimal digits.
_DIGITS_BITS: Final = 4096
#: The first year that a sheet has a number for.
_FIRST_YEAR: Final = 1901

#: A formula, after what programs skip before one: blanks, quotation marks, joiners. Signs of other widths and places
#: count as well, as an input method makes plain ones of them.
_FORMULA: Final = re.compile(
    r"[\s'\"`\u2018-\u201f\u200c\u200d\ufe00-\ufe0f]*"
    r"[=+\-@\uff1d\uff0b\uff0d\uff20\u2212\u207a\u207c\u208a\u208c\ufb29\ufe62\ufe63\ufe66\ufe6b\u2a75\u2a76]"
    r"|[\t\r\n]"
)
#: What Excel would read as a character by its number.
_ESCAPE: Final = re.compile(r"_(?=x[0-9A-Fa-f]{4}_)")
_NO_XML: Final = re.compile("[\ufffe\uffff]")


def write(table: Table, path: str | os.PathLike[str], *, overwrite: bool = False) -> tuple[str, ...]:
    """Write `table` to `path`, a .csv, .xlsx or .json; returns what is not as it was in the table, in sentences.

    The file is new, for its owner alone, and whole or not there; `overwrite` replaces one that exists, with its mode.
    Raises TableError, also for an existing file and a link in the path, and MissingExtra.
    """
    name = excerpt(os.fspath(path))
    notes = _Notes()
    data = _WRITERS[_kind(path)](table, notes)
    try:
        _store(path, data, overwrite=overwrite)
    except FileExistsError:
        raise TableError(f"{name} exists; name another file, or give overwrite=True") from None
    except (OSError, ValueError) as error:
        raise _unwritable(name, error) from None
    return notes.sentences()


def check(path: str | os.PathLike[str]) -> None:
    """Raise what write() would raise for a new file at `path` as things are now. For whoever has work to do before."""
    name = excerpt(os.fspath(path))
    _kind(path)
    try:
        with files.parent(path) as (folder, last), contextlib.suppress(FileNotFoundError):
            place, where = files.at(os.curdir, folder)
            if not os.access(place, os.W_OK, **where):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
            place, where = files.at(last, folder)
            os.stat(place, follow_symlinks=False, **where)  # noqa: PTH116
            raise TableError(f"{name} exists; name another file, or delete it first")
    except TableError:
        raise
    except (OSError, ValueError) as error:
        raise _unwritable(name, error) from None


def _kind(path: str | os.PathLike[str]) -> str:
    """The end of a name by which a table is written. Raises TableError and MissingExtra."""
    kind = Path(path).suffix.lower()
    if kind not in _WRITERS:
        name = excerpt(os.fspath(path))
        raise TableError(f"{name} has no name of a table that can be written; name it .csv, .xlsx or .json")
    if kind == ".xlsx" and importlib.util.find_spec("openpyxl") is None:
        raise MissingExtra("writing a workbook (openpyxl)", "tables")
    return kind


def _unwritable(name: str, error: OSError | ValueError) -> TableError:
    why = error.strerror if isinstance(error, OSError) else "its name holds a NUL"
    return TableError(f"{name} cannot be written: {why}; name another file")


def _store(path: str | os.PathLike[str], data: bytes, *, overwrite: bool) -> None:
    try:
        descriptor = files.create(path)
    except FileExistsError:
        if not overwrite:
            raise
        files.replace(path, data)
        return
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(descriptor, view) :]
    except BaseException:  # Ctrl-C as well: no part of a file is left behind
        with contextlib.suppress(OSError), files.parent(path) as (folder, last):
            place, where = files.at(last, folder)
            os.unlink(place, **where)
        raise
    finally:
        os.close(descriptor)


class _Notes:
    """Counts what was changed."""

    def __init__(self) -> None:
        self._counted: Counter[str] = Counter()

    def add(self, what: str) -> None:
        """Count one more text of which `what` is true."""
        self._counted[what] += 1

    def sentences(self) -> tuple[str, ...]:
        """What was changed, and how often."""
        return tuple(f"{what} ({number:,})" for what, number in self._counted.items())


def _shown(text: str, notes: _Notes) -> str:
    """A text without characters that have an effect."""
    safe = _NO_XML.sub(lambda match: f"\\u{ord(match.group()):04x}", inert(text))
    if safe != text:
        notes.add("control characters and characters that deceive are written as their numbers")
    return safe


def _as_text(cell: Any) -> str:
    """A cell that is neither missing nor a number of the file, as text."""
    if isinstance(cell, str):
        return cell
    if isinstance(cell, bytes):
        return f"0x{cell.hex()}"
    if isinstance(cell, int):
        return str(cell) if cell.bit_length() <= _DIGITS_BITS else hex(cell)
    if isinstance(cell, float | Decimal | datetime.timedelta):
        return str(cell)
    return str(cell.isoformat())


# -- CSV --------------------------------------------------------------------------------------------------


def _csv(table: Table, notes: _Notes) -> bytes:
    lone = len(table.names) == 1  # an empty line would be no row
    out = io.StringIO()
    out.write(",".join(_csv_text(name, notes) for name in table.names) + "\r\n")
    for row in zip(*table.columns.values(), strict=True):
        line = ",".join([_csv_field(cell, notes) for cell in row])
        out.write((line or '""' if lone else line) + "\r\n")
    return out.getvalue().encode("utf-8")


def _csv_field(cell: Any, notes: _Notes) -> str:
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "TRUE" if cell else "FALSE"
    if isinstance(cell, int) and cell.bit_length() <= _DIGITS_BITS:
        return str(cell)
    if isinstance(cell, float | Decimal):
        if _is_nan(cell):
            notes.add("numbers that are none (NaN) are written as empty cells")
            return ""
        if math.isfinite(cell):
            return repr(cell) if isinstance(cell, float) else str(cell)
    return _csv_text(_as_text(cell), notes)


def _csv_text(text: str, notes: _Notes) -> str:
    safe = _shown(text, notes)
    if _FORMULA.match(text) or _FORMULA.match(safe):
        notes.add("texts that a spreadsheet would take for a formula have an apostrophe before them")
        safe = f"'{safe}"
    return '"' + safe.replace('"', '""') + '"'


def _is_nan(cell: float | Decimal) -> bool:
    return cell.is_nan() if isinstance(cell, Decimal) else cell != cell


# -- XLSX -------------------------------------------------------------------------------------------------


def _xlsx(table: Table, notes: _Notes) -> bytes:
    if table.rows >= _SHEET_ROWS or len(table.names) > _SHEET_COLUMNS:
        raise TableError(
            f"a sheet has at most {_SHEET_ROWS - 1:,} rows and {_SHEET_COLUMNS:,} columns, and this table has "
            f"{table.rows:,} and {len(table.names):,}; write it as .csv"
        )
    from openpyxl import Workbook
    from openpyxl.cell import WriteOnlyCell

    book = Workbook(write_only=True)
    sheet = book.create_sheet("Table")

    def text(value: str) -> Any:
        made = WriteOnlyCell(sheet, value=_sheet_text(value, notes))
        made.data_type = "s"  # whatever it begins with: no formula, no error, no number
        if _FORMULA.match(value):
            made.quotePrefix = True
        return made

    def rows() -> Iterator[list[Any]]:
        yield [text(name) for name in table.names]
        for row in zip(*table.columns.values(), strict=True):
            yield [_sheet_value(cell, text, notes) for cell in row]

    for row in rows():
        sheet.append(row)
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def _sheet_value(cell: Any, text: Any, notes: _Notes) -> Any:
    """A cell as a sheet has it: a number, a bool or a moment where it is kept exactly, else text."""
    if cell is None or isinstance(cell, bool):
        return cell
    if isinstance(cell, str):
        return text(cell)
    if isinstance(cell, float) and math.isfinite(cell):
        return cell
    if isinstance(cell, float | Decimal) and _is_nan(cell):
        notes.add("numbers that are none (NaN) are written as empty cells")
        return None
    if isinstance(cell, int) and abs(cell) <= _EXACT:
        return cell
    if isinstance(cell, Decimal) and cell.is_finite():
        exponent = cell.as_tuple().exponent
        if len(cell.as_tuple().digits) <= _DIGITS and isinstance(exponent, int) and abs(exponent) <= _DIGITS:
            return cell
    if isinstance(cell, datetime.datetime) and cell.tzinfo is None and cell.year >= _FIRST_YEAR:
        return cell
    if type(cell) is datetime.date and cell.year >= _FIRST_YEAR:
        return cell
    if isinstance(cell, datetime.time) and cell.tzinfo is None:
        return cell
    notes.add("values that a sheet does not keep exactly, such as long numbers and moments with a time zone, are text")
    return text(_as_text(cell))


def _sheet_text(text: str, notes: _Notes) -> str:
    safe = _ESCAPE.sub("_x005F_", _shown(text, notes))
    if len(safe) > _SHEET_TEXT:
        notes.add(f"texts of more than {_SHEET_TEXT:,} characters are cut")
        safe = f"{safe[: _SHEET_TEXT - 3]}..."
    return safe


# -- JSON -------------------------------------------------------------------------------------------------


def _json(table: Table, notes: _Notes) -> bytes:
    rows = ({name: _json_value(cell, notes) for name, cell in row.items()} for row in table.records())
    return ("[\n" + ",\n".join(map(json.dumps, rows)) + "\n]\n").encode("ascii")


def _json_value(cell: Any, notes: _Notes) -> Any:
    if cell is None or isinstance(cell, str | bool):
        return cell
    if isinstance(cell, int) and cell.bit_length() <= _DIGITS_BITS:
        return cell
    if isinstance(cell, float) and math.isfinite(cell):
        return cell
    if isinstance(cell, float | Decimal) and _is_nan(cell):
        notes.add("numbers that are none (NaN) are written as null")
        return None
    notes.add("dates, decimals, bytes and numbers that JSON does not have are text")
    return _as_text(cell)


#: What writes a file, by the end of its name.
_WRITERS: Final[Mapping[str, Callable[[Table, _Notes], bytes]]] = {".csv": _csv, ".xlsx": _xlsx, ".json": _json}
