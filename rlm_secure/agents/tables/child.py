"""The program that parses one file of a table: started by read.py with the path of this file, and with nothing else.

It has the file as its standard input, read-only, and no path to it; its environment is empty, it writes no file, and
its memory and its processor time are limited before it imports a parser. Before it reads a byte of the file, a filter
of system calls (wall.py) takes from it files, sockets, programs, processes and threads. There is none on a system
other than Linux, where it can read what its user can, and reach the network. What it finds it writes to its standard
output, as frames: a length of four bytes, then JSON. The first one is the head, the next ones are cells of one column
each, in the order of columns and rows, and the last one says that it is done. One that has `error` ends it at any time.
Whoever reads that takes it as hostile, as a file can take over the parser that it is given to.

It imports nothing of this package: the parsers are in here and nowhere else.
"""

from __future__ import annotations

import base64
import contextlib
import csv
import datetime
import importlib.util
import io
import itertools
import json
import math
import os
import re
import resource
import sys
import warnings
import zipfile
import zlib
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any, NoReturn
from xml.parsers import expat

#: Cells of a frame at most, and about how many characters of text.
_FRAME_CELLS = 100_000
_FRAME_TEXT = 4 * 1024 * 1024
#: What a workbook or its parts may say that they expand to, and how many parts it may have.
_EXPANDED = 2 * 1024 * 1024 * 1024
_PARTS = 20_000
_SHEET_ROWS = 1_048_576
_SHEETS = 10_000
#: Characters of a format of numbers, as in Excel; elements of styles that are counted, and how many there may be in
#: all, which is more than Excel takes: it has at most 65,490 formats of cells.
_FORMAT_CHARACTERS = 255
_STYLES = frozenset({"numFmt", "xf", "cellStyle"})
_MOST_STYLES = 200_000
#: Bytes before the first element of a part.
_PROLOG = 1024 * 1024
#: A character by its number, in a text of a workbook.
_ESCAPED = re.compile(r"_x([0-9A-Fa-f]{4})_")
#: Bytes in which a delimiter is looked for.
_SAMPLE = 64 * 1024
_DELIMITERS = ",;\t|"
#: Bits of an integer that is a number of JSON.
_PLAIN_BITS = 4096
_EXACT = 2**53

_INT = re.compile(r" *-?(?:0|[1-9][0-9]{0,4299}) *")
_FLOAT = re.compile(r" *-?(?:(?:0|[1-9][0-9]{0,999})(?:\.[0-9]{0,999})?|\.[0-9]{1,999})(?:[eE][+-]?[0-9]{1,9})? *")
_BOOLS = {"True": True, "TRUE": True, "true": True, "False": False, "FALSE": False, "false": False}
#: What stands for a missing number in a column of numbers, as for pandas.
_MARKS = frozenset({
    "NA", "N/A", "n/a", "<NA>", "#N/A", "#N/A N/A", "#NA", "NaN", "nan", "-NaN", "-nan", "NULL", "null", "None",
    "1.#IND", "-1.#IND", "1.#QNAN", "-1.#QNAN",
})  # fmt: skip


class Bad(Exception):
    """The file is not what it should be. The message is the rest of a sentence that begins with the file's name."""


class Limits:
    """What a table may have."""

    def __init__(self, rows: int, columns: int, cells: int, cell: int) -> None:
        self.rows, self.columns, self.cells, self.cell = rows, columns, cells, cell

    def check(self, rows: int, columns: int) -> None:
        """Raise Bad for a table of more rows, columns or cells."""
        for what, found, most in (("columns", columns, self.columns), ("rows", rows, self.rows)):
            if found > most:
                raise Bad(f"has more than {most:,} {what}, which is the most of a table; keep those that are needed")
        if rows * columns > self.cells:
            raise Bad(
                f"has more than {self.cells:,} cells, which is the most of a table; keep the rows that are needed"
            )


class Sheet:
    """What was found: names of columns as they stand in the file, and one function that makes the cells of a column."""

    def __init__(self, names: list[Any], rows: int, cells: Callable[[int], Iterator[Any]]) -> None:
        self.names, self.rows, self.cells = names, rows, cells
        self.notes: list[str] = []
        self.sheet: str | None = None


# -- text -------------------------------------------------------------------------------------------------


def read_text(tabs: bool, limits: Limits) -> Sheet:
    """A file of delimited text."""
    data, notes = _utf8(sys.stdin.buffer.read())
    sample = data[:_SAMPLE]
    if len(data) > _SAMPLE and b"\n" in sample:
        sample = sample[: sample.rindex(b"\n") + 1]
    delimiter = "\t" if tabs else _delimiter(sample.decode("utf-8", "replace"))
    limits.check(0, _columns_of(_first_line(data), delimiter))

    import pandas

    most = min(limits.rows, limits.cells) + 2
    try:
        frame = pandas.read_csv(
            io.BytesIO(data), sep=delimiter, header=None, index_col=False, dtype=object, na_filter=False, engine="c",
            encoding="utf-8", nrows=most, skip_blank_lines=True,
        )  # fmt: skip
    except pandas.errors.EmptyDataError:
        raise Bad("holds no table: there is no line in it") from None
    except pandas.errors.ParserError as error:
        raise Bad(_what_is_wrong(str(error), delimiter)) from None
    del data
    limits.check(len(frame) - 1, frame.shape[1])
    columns: list[list[Any]] = [frame[name].tolist() for name in frame.columns]  # pop() takes time by columns
    del frame
    names = [column.pop(0) for column in columns]
    for at, column in enumerate(columns):
        _check_lengths(column, names[at], limits)
    sheet = Sheet(names, len(columns[0]) if columns else 0, lambda at: iter(columns[at]))
    sheet.notes += notes
    for at, column in enumerate(columns):
        columns[at], marked = _inferred(column)
        if marked:
            sheet.notes.append(f"column {at + 1} has numbers; marks such as NA in it are missing values ({marked:,})")
    _trim(sheet, columns)
    return sheet


def _utf8(data: bytes) -> tuple[bytes, list[str]]:
    """The text of a file in UTF-8, and what to say about that."""
    if not data:
        raise Bad("is empty")
    if data[:2] in (b"\xff\xfe", b"\xfe\xff"):
        try:
            text = data.decode("utf-16").encode("utf-8")
        except UnicodeError:
            text = b"\0"
        if b"\0" in text:  # as UTF-32 has them
            raise Bad("begins as UTF-16 text and is none; save it as CSV in UTF-8")
        return text, ["the text was read as UTF-16"]
    data = data.removeprefix(b"\xef\xbb\xbf")
    if (at := data.find(b"\0")) >= 0:
        raise Bad(f"has a NUL at byte {at:,}, so it is no text; save it as CSV in UTF-8")
    try:
        data.decode("utf-8")
    except UnicodeDecodeError:
        try:
            return data.decode("cp1252").encode("utf-8"), [
                "the text is no UTF-8, and was read as Windows-1252 (cp1252)"
            ]
        except UnicodeDecodeError as error:
            raise Bad(f"is neither UTF-8 nor Windows-1252 text (byte {error.start:,}); save it as UTF-8") from None
    return data, []


def _first_line(data: bytes) -> bytes:
    """The first line with more than blanks."""
    begin = len(data) - len(data.lstrip())
    if begin == len(data):
        raise Bad("holds no table: there is no line in it")
    end = re.compile(rb"[\r\n]").search(data, begin)
    return data[max(data.rfind(b"\n", 0, begin), data.rfind(b"\r", 0, begin)) + 1 : end.start() if end else len(data)]


def _columns_of(line: bytes, delimiter: str) -> int:
    """About how many fields a line has: delimiters between quotation marks are not counted."""
    return 1 + sum(part.count(delimiter.encode()) for part in line.split(b'"')[::2])


def _delimiter(sample: str) -> str:
    """The delimiter that divides most lines of `sample` into as many fields as the first; a comma where none does."""
    best, found = (0, 0), ","
    for delimiter in _DELIMITERS:
        try:
            rows = [row for row in csv.reader(io.StringIO(sample, newline=""), delimiter=delimiter) if row]
        except csv.Error:
            continue
        width = len(rows[0]) if rows else 0
        alike = sum(len(row) == width for row in rows)
        if width > 1 and (alike, width) > best:
            best, found = (alike, width), delimiter
    return found


def _what_is_wrong(said: str, delimiter: str) -> str:
    """What the parser said, as the rest of a sentence."""
    if match := re.search(r"Expected (\d+) fields in line (\d+), saw (\d+)", said):
        expected, line, saw = match.groups()
        return (
            f"has {saw} fields in line {line}, and {expected} in its first line (the delimiter is {delimiter!r}); "
            "put text with a delimiter in it between quotation marks"
        )
    if match := re.search(r"EOF inside string starting at row (\d+)", said):
        return f"has a quotation mark in row {match[1]} that is never closed; close it, or write it twice"
    if "out of memory" in said:
        raise MemoryError
    return "cannot be read as delimited text; save it again as CSV in UTF-8"


def _check_lengths(column: list[Any], name: Any, limits: Limits) -> None:
    if max(map(len, column), default=0) > limits.cell:
        row = next(at for at, cell in enumerate(column) if len(cell) > limits.cell)
        raise Bad(f"has a cell of more than {limits.cell:,} characters (row {row}, column {name[:80]!r}); shorten it")


def _inferred(column: list[str]) -> tuple[list[Any], int]:
    """The cells of a column of text: all bool, all numbers or all text; and how many marks of missing numbers it has.

    Text that would not be the same again stays text: 007, +49, a number beyond all floats.
    """
    filled = [cell for cell in column if cell]
    if not filled:
        return [None] * len(column), 0
    if filled[0] in _BOOLS:
        if all(cell in _BOOLS for cell in filled):
            return [_BOOLS[cell] if cell else None for cell in column], 0
        return [cell or None for cell in column], 0
    kinds: set[type] = set()
    marks = 0
    for cell in filled:
        if _INT.fullmatch(cell):
            kinds.add(int)
        elif _FLOAT.fullmatch(cell) and math.isfinite(float(cell)):
            kinds.add(float)
        elif cell in _MARKS:
            marks += 1
        else:
            return [cell or None for cell in column], 0
    if not kinds:
        return [cell or None for cell in column], 0
    number: Callable[[str], Any] = int if kinds == {int} else _number
    return [number(cell) if cell and cell not in _MARKS else None for cell in column], marks


def _number(cell: str) -> float | int:
    """A number in a column of floats: an integer that no float is stays one."""
    if _INT.fullmatch(cell) and abs(whole := int(cell)) > _EXACT:
        return whole
    return float(cell)


# -- workbooks --------------------------------------------------------------------------------------------


def read_workbook(wanted: str | None, limits: Limits) -> Sheet:
    """A sheet of an Excel workbook, with the values that its formulas had when it was saved."""
    data = sys.stdin.buffer.read()  # once: what was checked is what is parsed, whatever becomes of the file
    if not data:
        raise Bad("is empty")
    if data.startswith(b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"):
        raise Bad("is protected by a password or an old .xls workbook; save it as .xlsx without a password")
    source = io.BytesIO(data)
    del data
    try:
        with zipfile.ZipFile(source) as archive:
            _check_archive(archive)
    except (zipfile.BadZipFile, zlib.error, ValueError, OSError, NotImplementedError, EOFError):
        raise Bad("is no workbook, or a damaged one; open it in Excel and save it again as .xlsx") from None
    book = _book(source)
    sheets = book.worksheets
    titles = [each.title for each in sheets]
    if not titles:
        raise Bad("has no sheet with cells")
    if wanted is not None and wanted not in titles:
        listed = ", ".join(repr(title[:80]) for title in titles[:20]) + (", ..." if len(titles) > 20 else "")
        raise Bad(f"has no sheet {wanted[:80]!r}; its sheets are {listed}")
    first = next((at for at, each in enumerate(sheets) if each.sheet_state == "visible"), 0)
    chosen = sheets[first if wanted is None else titles.index(wanted)]
    rows: list[tuple[Any, ...]] = []
    seen = above = 0
    for row in chosen.iter_rows(values_only=True):
        seen += len(row)
        if seen > 2 * limits.cells:
            raise Bad(
                f"has more than {limits.cells:,} cells, which is the most of a table; keep the rows that are needed"
            )
        last = next((at for at in range(len(row), 0, -1) if _filled(row[at - 1])), 0)
        if last or rows:
            rows.append(tuple(_unescaped(cell) if type(cell) is str else cell for cell in row[:last]))
        else:
            above += 1
    while rows and not rows[-1]:
        rows.pop()
    if not rows:
        raise Bad(f"has no cell with a value in the sheet {chosen.title[:80]!r}")
    width = max(map(len, rows))
    limits.check(len(rows) - 1, width)
    head = rows[0]
    names: list[Any] = [head[at] if at < len(head) else None for at in range(width)]
    del rows[0]
    columns = [[row[at] if at < len(row) and row[at] != "" else None for row in rows] for at in range(width)]
    count = len(rows)
    del rows
    for at, column in enumerate(columns):
        for number, cell in enumerate(column):
            if type(cell) is str and len(cell) > limits.cell:
                raise Bad(f"has a cell of more than {limits.cell:,} characters (row {number + 1}, column {at + 1})")
    sheet = Sheet(names, count, lambda at: iter(columns[at]))
    sheet.sheet = chosen.title
    if chosen.sheet_state != "visible":
        sheet.notes.append("the sheet is hidden in Excel")
    if above:
        sheet.notes.append(f"empty rows above the names of the columns were left out ({above:,})")
    _trim(sheet, columns)
    return sheet


def _book(source: Any) -> Any:
    """The workbook of openpyxl, without its parts that no cell needs: names, charts, properties, theme."""
    from openpyxl.reader import excel as opening
    from openpyxl.worksheet import _read_only, _reader

    excel: Any = opening  # openpyxl has no types
    read_only: Any = _read_only
    reading: Any = _reader

    class Parser(reading.WorkSheetParser):  # type: ignore[misc]
        def parse(self) -> Iterator[tuple[int, list[dict[str, Any]]]]:
            """The rows, all of them: openpyxl leaves out rows and cells that are not in order, as no program has them.

            What comes behind the rows is no cell, and is not parsed.
            """
            last = 0
            for _, element in reading.iterparse(self.source):
                if element.tag == reading.DATA_TAG:
                    break
                if element.tag != reading.ROW_TAG:
                    continue
                number, cells = self.parse_row(element)
                element.clear()
                if number > _SHEET_ROWS:
                    raise Bad(f"has a row beyond {_SHEET_ROWS:,}, which is the last one of a sheet; save it in Excel")
                if number <= last:
                    raise Bad("has rows that are not in order; open it in Excel and save it again")
                if any(one["column"] >= other["column"] for one, other in itertools.pairwise(cells)):
                    raise Bad(f"has cells that are not in order, in row {number:,}; open it in Excel and save it again")
                last = number
                yield number, cells
            while self.source.read(1024 * 1024):  # to its checksum
                pass

    class Sheet(excel.ReadOnlyWorksheet):  # type: ignore[misc]
        def _get_size(self) -> None:
            """Do not look for it: a file can lie about it, and a sheet that does not say is parsed for that."""

    class Reader(excel.ExcelReader):  # type: ignore[misc]
        def read_chartsheet(self, sheet: Any, rel: Any) -> None:
            """Leave it out: it has no cells."""

    read_only.WorkSheetParser = Parser
    excel.ReadOnlyWorksheet = Sheet
    excel.read_string_table = _strings
    reader = Reader(source, read_only=True, data_only=True, keep_links=False)
    reader.read_manifest()
    reader.read_strings()
    reader.read_workbook()
    if len(reader.parser.sheets) > _SHEETS:
        raise Bad(f"has more than {_SHEETS:,} sheets; save the sheet alone")
    excel.apply_stylesheet(reader.archive, reader.wb)  # which cells are dates
    reader.read_worksheets()
    return reader.wb


def _strings(file: Any) -> list[str]:
    """The shared strings, with their escapes, of which openpyxl takes a part away."""
    from openpyxl.cell import text
    from openpyxl.xml.constants import SHEET_MAIN_NS
    from openpyxl.xml.functions import iterparse

    Text: Any = text.Text  # a class without types
    found = []
    for _, element in iterparse(file):
        if element.tag == f"{{{SHEET_MAIN_NS}}}si":
            found.append(Text.from_tree(element).content)
            element.clear()
    return found


def _unescaped(text: str) -> str:
    """A text of a workbook without its escapes: _x000D_ is a carriage return, and _x005F_x000D_ is _x000D_."""
    return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), text) if "_x" in text else text


def _check_archive(archive: zipfile.ZipFile) -> None:
    """Raise Bad for a workbook that expands to too much, is encrypted or ambiguous, or declares entities in a part.

    A reader of the standard library reads no more of a part than its header says it expands to. Every part is looked
    at: a workbook says itself which ones are its sheets, whatever their names end with.
    """
    parts = archive.infolist()
    if len(parts) > _PARTS or sum(part.file_size for part in parts) > _EXPANDED:
        raise Bad(f"expands to more than {_EXPANDED:,} bytes or {_PARTS:,} parts; save the sheet alone, or as CSV")
    if any(part.flag_bits & 1 for part in parts):
        raise Bad("is protected by a password; save it without one")
    known: dict[str, tuple[int, int]] = {}
    for part in parts:
        content = part.CRC, part.file_size
        if known.setdefault(part.filename.lower(), content) != content:
            raise Bad("has two different parts of one name; open it in Excel and save it again")
    for part in parts:
        with archive.open(part) as file:
            _check_part(file, styles=part.filename == "xl/styles.xml")


def _check_part(file: Any, *, styles: bool) -> None:
    """Raise Bad for a document type, which is where entities are declared: before the first element, or nowhere.

    Of `styles`, also for formats of numbers that are longer, and styles that are more, than those of Excel: what
    openpyxl does with one takes time by the square of that.
    """
    begun: list[str] = []
    count = 0

    def element(name: str, attributes: dict[str, str]) -> None:
        nonlocal count
        if not begun:
            begun.append("element")
        if not styles:
            return
        count += name.rpartition(":")[2] in _STYLES
        if len(attributes.get("formatCode", "")) > _FORMAT_CHARACTERS or count > _MOST_STYLES:
            raise Bad(
                f"has a format of more than {_FORMAT_CHARACTERS} characters, or more than {_MOST_STYLES:,} styles and "
                "formats; save the sheet alone, or as CSV"
            )

    parser = expat.ParserCreate()
    parser.StartElementHandler = element
    parser.StartDoctypeDeclHandler = lambda *_: begun.append("type")
    size = 0
    with contextlib.suppress(expat.ExpatError):  # openpyxl says what is wrong, if it reads that part
        data = b"begun"
        while data and (styles or not begun):
            data = file.read(64 * 1024)
            size += len(data)
            if not begun and size > _PROLOG:
                raise Bad("has a part that begins with more than what XML needs; open it in Excel and save it again")
            parser.Parse(data, not data)  # a newer expat keeps back a long piece until it is told that no more comes
    if "type" in begun:
        raise Bad("declares a document type or entities in its XML, which no workbook needs; save it again in Excel")


def _filled(cell: Any) -> bool:
    return cell is not None and cell != ""


def _trim(sheet: Sheet, columns: list[list[Any]]) -> None:
    """Leave out columns before the first and behind the last one that has a name or a value."""
    kept = [at for at, name in enumerate(sheet.names) if _filled(name) or any(cell is not None for cell in columns[at])]
    first, end = (kept[0], kept[-1] + 1) if kept else (0, 0)
    if (gone := len(columns) - (end - first)) and kept:
        sheet.notes.append(f"empty columns beside the table were left out ({gone:,})")
        columns[:] = columns[first:end]
        sheet.names = sheet.names[first:end]


# -- Parquet ----------------------------------------------------------------------------------------------


def read_parquet(limits: Limits) -> Sheet:
    """A Parquet file."""
    if not sys.stdin.buffer.read(1):
        raise Bad("is empty")
    sys.stdin.buffer.seek(0)

    import pyarrow
    import pyarrow.parquet

    try:
        file = pyarrow.parquet.ParquetFile(sys.stdin.buffer, pre_buffer=False)
        limits.check(file.metadata.num_rows, len(file.schema_arrow))
        table = file.read(use_threads=False)
        table.validate(full=True)
    except (pyarrow.ArrowException, OSError, ValueError, OverflowError) as error:
        if isinstance(error, MemoryError):
            raise
        if "too deeply nested" in str(error):
            raise RecursionError from None
        raise Bad("is no Parquet file, or a damaged one; write it again") from None
    limits.check(table.num_rows, table.num_columns)
    sheet = Sheet(list(table.column_names), table.num_rows, lambda at: _arrow_cells(columns[at], at, limits))

    def cast(at: int) -> Any:  # what Python has no value for becomes what is nearest
        column = table.column(at)
        kind = column.type
        types = pyarrow.types
        if isinstance(kind, pyarrow.BaseExtensionType):
            column = pyarrow.chunked_array([each.storage for each in column.chunks], type=kind.storage_type)
            kind = column.type
        if types.is_dictionary(kind):
            column = column.cast(kind.value_type)
            kind = column.type
        shorter = None
        if types.is_timestamp(kind) and kind.unit == "ns":
            shorter = pyarrow.timestamp("us", kind.tz)
        elif types.is_time64(kind) and kind.unit == "ns":
            shorter = pyarrow.time64("us")
        elif types.is_duration(kind) and kind.unit == "ns":
            shorter = pyarrow.duration("us")
        if shorter is None:
            return column
        exact = column.cast(shorter, safe=False)
        if not exact.cast(kind, safe=False).equals(column):
            sheet.notes.append(f"column {at + 1} has nanoseconds; they were cut to microseconds")
        return exact

    columns = [cast(at) for at in range(table.num_columns)]
    nested = [at for at, column in enumerate(columns) if pyarrow.types.is_nested(column.type)]
    if nested:
        listed = ", ".join(str(at + 1) for at in nested[:20])
        sheet.notes.append(f"lists and structures are text here, as JSON (column {listed})")
    return sheet


def _arrow_cells(column: Any, at: int, limits: Limits) -> Iterator[Any]:
    """The cells of a column of Arrow; lists and structures as JSON."""
    import pyarrow

    row = 0
    for chunk in column.chunks:
        for begin in range(0, len(chunk), 8192):
            try:
                cells = chunk.slice(begin, 8192).to_pylist()
            except (ValueError, OverflowError, pyarrow.ArrowException):
                raise Bad(
                    f"has a value in column {at + 1}, after row {row + begin:,}, that Python cannot hold"
                ) from None
            for cell in cells:
                if isinstance(cell, str | bytes) and len(cell) > limits.cell:
                    raise Bad(f"has a cell of more than {limits.cell:,} characters (column {at + 1}); shorten it")
                yield json.dumps(cell, default=str, ensure_ascii=False) if isinstance(cell, list | dict) else cell
        row += len(chunk)


# -- the answer -------------------------------------------------------------------------------------------


def _send(value: Any) -> None:
    data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    sys.stdout.buffer.write(len(data).to_bytes(4, "big") + data)
    sys.stdout.buffer.flush()


def _tagged(cell: Any, column: int) -> Any:
    """A cell as JSON, with the tags of rlm_secure.tagged."""
    kind = type(cell)
    if cell is None or kind is str or kind is bool:
        return cell
    if isinstance(cell, bool):
        return bool(cell)
    if isinstance(cell, int):
        return int(cell) if cell.bit_length() <= _PLAIN_BITS else {"$int": hex(cell)}
    if isinstance(cell, float):
        return float(cell) if math.isfinite(cell) else {"$float": repr(float(cell))}
    if isinstance(cell, Decimal):
        return {"$decimal": str(cell)}
    if isinstance(cell, bytes):
        return {"$bytes": base64.b64encode(cell).decode("ascii")}
    if isinstance(cell, datetime.timedelta):
        return {"$timedelta": [cell.days, cell.seconds, cell.microseconds]}
    for tag, moment in (("$datetime", datetime.datetime), ("$date", datetime.date), ("$time", datetime.time)):
        if isinstance(cell, moment):
            return {tag: cell.isoformat()}
    if isinstance(cell, str):
        return str(cell)
    raise Bad(f"has a {type(cell).__name__} in column {column + 1}, which is no value of a table")


def _answer(sheet: Sheet) -> None:
    notes = [note[:1000] for note in sheet.notes[:100]]
    names = [_tagged(name, at) if not isinstance(name, str) else name[:2000] for at, name in enumerate(sheet.names)]
    _send({"names": names, "rows": sheet.rows, "notes": notes, "sheet": sheet.sheet})
    for at in range(len(sheet.names)):
        pending: list[Any] = []
        text = 0
        for cell in sheet.cells(at):
            pending.append(_tagged(cell, at))
            text += len(cell) if isinstance(cell, str | bytes) else 16
            if len(pending) >= _FRAME_CELLS or text >= _FRAME_TEXT:
                _send({"column": at, "cells": pending})
                pending, text = [], 0
        if pending:
            _send({"column": at, "cells": pending})
    _send({"done": True})


def _fail(said: str) -> NoReturn:
    _send({"error": said[:2000]})
    sys.stdout.buffer.flush()
    os._exit(1)


# -- the process ------------------------------------------------------------------------------------------

_TSYNC, _SIGKILL = 1, 9

_ENCODINGS = ("cp437", "cp1252", "utf_16", "utf_16_be", "utf_16_le")  # of names in archives, and of text
_ZONES: list[Any] = []


def _load(kind: str) -> None:
    """Import the parser, and all that it would open later."""
    for encoding in _ENCODINGS:
        importlib.import_module(f"encodings.{encoding}")
    if kind == "workbook":
        # Of the parsers that it may take, the one of the standard library: entities are refused before it, and with
        # defusedxml, which is written in Python, a sheet takes five times as long.
        os.environ |= {"OPENPYXL_LXML": "False", "OPENPYXL_DEFUSEDXML": "False"}
        importlib.import_module("openpyxl")
    elif kind == "parquet":
        pyarrow = importlib.import_module("pyarrow")
        importlib.import_module("pyarrow.parquet")
        importlib.import_module("pyarrow.compute")
        pyarrow.set_cpu_count(1)
        pyarrow.set_memory_pool(pyarrow.system_memory_pool())
        zones = importlib.import_module("zoneinfo")
        for name in sorted(zones.available_timezones()):  # a file names those of its columns, and they are files
            with contextlib.suppress(OSError, ValueError):
                _ZONES.append(zones.ZoneInfo(name))
    else:
        sys.modules["pyarrow"] = None  # type: ignore[assignment]  # pandas takes it where it finds it, for nothing here
        importlib.import_module("pandas")


def _seal(walls: Any, program: bytes) -> None:
    """Install the filter on every thread. Raises OSError."""
    walls.no_new_privs()
    if walls.seccomp(program, _TSYNC) != 0:
        raise OSError("a thread has no filter")


def _walls(path: str) -> Any:
    """The module of this package that makes these calls of the kernel; it imports the standard library alone."""
    spec = importlib.util.spec_from_file_location("seal", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def main(arguments: list[str]) -> None:
    """Parse the standard input: KIND SHEET ROWS COLUMNS CELLS CELL MEMORY SECONDS FILTER SEAL FOLDER...

    SHEET begins with "=", or is empty; FILTER is a program of seccomp in hex, SEAL the path of guest/kernel/seal.py.
    """
    kind, wanted, *numbers = arguments[:8]
    rows, columns, cells, cell, memory, seconds = map(int, numbers)
    for name, most in (
        (resource.RLIMIT_CORE, 0),
        (resource.RLIMIT_FSIZE, 0),
        (resource.RLIMIT_AS, memory),
        (resource.RLIMIT_CPU, seconds),
    ):
        hard = resource.getrlimit(name)[1]
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        resource.setrlimit(name, (least, least))
    for threads in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS"):
        os.environ[threads] = "1"
    program, path, *folders = arguments[8:]
    sys.path += folders
    limits = Limits(rows, columns, cells, cell)
    warnings.simplefilter("ignore")  # to show one, Python opens a file of source
    try:
        walls = _walls(path) if program else None
        if walls is not None:
            walls.die_with_parent(_SIGKILL)
        _load(kind)
        if walls is not None:
            _seal(walls, bytes.fromhex(program))
    except OSError:
        _fail("was not read: the filter of system calls, behind which it would be, cannot be installed here")
    except (MemoryError, ImportError):
        _fail(f"needs more than {memory:,} bytes of memory to read; give a smaller file")
    try:
        if kind == "workbook":
            sheet = read_workbook(wanted[1:] if wanted else None, limits)
        elif kind == "parquet":
            sheet = read_parquet(limits)
        else:
            sheet = read_text(kind == "tabs", limits)
        _answer(sheet)
    except Bad as error:
        _fail(str(error))
    except MemoryError:
        _fail(f"needs more than {memory:,} bytes of memory to read; give a smaller file")
    except RecursionError:
        _fail("is nested too deep to be read")
    except Exception:  # noqa: BLE001 - a parser of somebody else's, on a hostile file
        _fail("is damaged, or no file of its kind; save it again, or as CSV")


if __name__ == "__main__":
    main(sys.argv[1:])
