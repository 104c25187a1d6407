"""One cell of a table: which values it may have, when two are the same, and how one is shown to a model.

A cell is None, or a bool, int, float, str, bytes, Decimal, date, datetime, time or timedelta, of that exact class: what
`rlm_secure.tagged` carries into a sandbox and back. Two cells are the same where their encodings are: 1, 1.0, True and
"1" are four different ones, and so are 0.0 and -0.0, Decimal("1") and Decimal("1.0"), and one moment in two time zones.
Every NaN of a class is the same as another.

Guards: that the text of a cell reaches a model as short and inert data
"""

from __future__ import annotations

import datetime
import math
import struct
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any, Final

from rlm_secure.inert import inert_line

#: Limits of every table, wherever it comes from.
ROWS: Final = 5_000_000
COLUMNS: Final = 16_384
CELLS: Final = 20_000_000
#: Characters of a column's name, and characters or bytes of a cell.
NAME_CHARACTERS: Final = 1_000
CELL_SIZE: Final = 10_000_000
#: Characters of a text that is shown to a model.
SHOWN: Final = 80
#: What a cell that holds no text or bytes counts, in bytes.
_SMALL: Final = 8
#: Bits of an integer that is shown as its digits: Python converts so many without a limit of its own.
_DIGITS_BITS: Final = 4096


def _sized(kind: bytes, data: bytes) -> bytes:
    return b"%c%d:%b" % (kind, len(data), data)


def _float(value: float) -> bytes:
    return b"N" if value != value else b"d" + struct.pack(">d", value)


def _text(value: str) -> bytes:
    return _sized(b"s", value.encode("utf-8", "surrogatepass"))


_ENCODERS: Final[Mapping[type, Callable[[Any], bytes]]] = {
    type(None): lambda _: b"n",
    bool: lambda value: b"t" if value else b"f",
    int: lambda value: b"i%x;" % value,
    float: _float,
    str: _text,
    bytes: lambda value: _sized(b"b", value),
    Decimal: lambda value: _sized(b"D", str(value).encode()),
    datetime.datetime: lambda value: _sized(b"T", value.isoformat().encode()),
    datetime.date: lambda value: _sized(b"Y", value.isoformat().encode()),
    datetime.time: lambda value: _sized(b"H", value.isoformat().encode()),
    datetime.timedelta: lambda value: b"L%d,%d,%d;" % (value.days, value.seconds, value.microseconds),
}
#: The classes of cells.
KINDS: Final = frozenset(_ENCODERS)
#: Classes whose `==` says whether two of them are the same cell.
_BY_VALUE: Final = frozenset({type(None), bool, int, str, bytes, datetime.date, datetime.timedelta})


def encoded(cell: Any) -> bytes:
    """The cell as bytes that say where they end; no other cell has the same ones."""
    return _ENCODERS[type(cell)](cell)


def same(one: Any, other: Any) -> bool:
    """Whether two cells are the same."""
    kind = type(one)
    if kind is not type(other):
        return False
    return bool(one == other) if kind in _BY_VALUE else encoded(one) == encoded(other)


def plain(value: Any) -> Any:
    """`value` as a cell: itself, or what a scalar of numpy or pandas or an object of a subclass stands for.

    Raises TypeError for a value that is no cell.
    """
    if type(value) in KINDS:
        return value
    module = type(value).__module__.split(".")[0]
    if module == "numpy" and hasattr(value, "item") and getattr(value, "ndim", 1) == 0:
        value = value.item()
    elif module == "pandas":
        name = type(value).__name__
        if name in ("NaTType", "NAType"):
            return None
        if name == "Timestamp":
            return value.to_pydatetime(warn=False)
        if name == "Timedelta":
            return value.to_pytimedelta()
    if type(value) in KINDS:
        return value
    if isinstance(value, int):
        return int.__int__(value)
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, str):
        return str.__str__(value)
    raise TypeError(type(value).__name__)


def is_missing(cell: Any) -> bool:
    """Whether there is no value: None, or a NaN."""
    if cell is None:
        return True
    if type(cell) is float:
        return cell != cell
    return type(cell) is Decimal and cell.is_nan()


def size(cell: Any) -> int:
    """Bytes that a cell counts: those of its UTF-8, its bytes or its digits, or 8."""
    if type(cell) is str:
        return len(cell) if cell.isascii() else len(cell.encode("utf-8", "surrogatepass"))
    if type(cell) is bytes:
        return len(cell)
    if type(cell) is int:
        return max(_SMALL, cell.bit_length() // 8)
    return max(_SMALL, len(cell.as_tuple().digits)) if type(cell) is Decimal else _SMALL


def shown(cell: Any, limit: int = SHOWN) -> Any:
    """The cell as a value of JSON that only shows: text is inert, on one line and at most `limit` characters."""
    kind = type(cell)
    if cell is None or kind is bool or (kind is float and math.isfinite(cell)):
        return cell
    if kind is int and cell.bit_length() <= _DIGITS_BITS and len(str(cell)) <= limit:
        return cell
    if kind is str:
        text = cell[: limit + 1]
    elif kind is int:
        text = hex(cell) if cell.bit_length() <= 8 * limit else f"an integer of {cell.bit_length():,} bits"
    elif kind is bytes:
        text = f"0x{cell[:limit].hex()}"
    else:
        text = str(cell) if kind in (float, Decimal, datetime.timedelta) else cell.isoformat()
    return short(text, limit)


def short(text: str, limit: int = SHOWN) -> str:
    """The first `limit` characters of `text` once it is inert and on one line; "..." ends a text that was cut."""
    line = inert_line(text[: limit + 1])
    return line if len(line) <= limit else f"{line[: limit - 3]}..."
