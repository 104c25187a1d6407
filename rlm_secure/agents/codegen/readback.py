"""Reads the table of an edit back from its session, in slices that fit into limits.value_bytes.

What is read is data of exact classes, whatever the code made of the table: it is what the edit returns.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any, Final

from rlm_secure.errors import CellError, ValueNotPlain, ValueTooLarge
from rlm_secure.types import held_bytes

#: Rows of the first slice.
_ROWS: Final = 1024
#: The ways to plain values of one column of a DataFrame, the first that works.
_WAYS: Final = (
    "rlm_table.iloc[{0}:{1}, {2}].tolist()",
    "rlm_table.iloc[{0}:{1}, {2}].astype(object).where(rlm_table.iloc[{0}:{1}, {2}].notna(), None).tolist()",
    (
        "[each if each is None else each.to_pydatetime() for each in rlm_table.iloc[{0}:{1}, {2}].astype(object)"
        ".where(rlm_table.iloc[{0}:{1}, {2}].notna(), None).tolist()]"
    ),
    "rlm_table.iloc[{0}:{1}, {2}].astype(str).tolist()",
)


class Reader:
    """Reads the table that is bound as `rlm_table`: a DataFrame if `frame`, else a dict of lists.

    `peek(expression)` is the value of an expression in the session; it raises CellError and ValueUnavailable.
    `piece` is how many characters of one text are read at a time, `most` how many bytes of memory a table may have.
    """

    def __init__(self, peek: Callable[[str], Any], *, frame: bool, piece: int, most: int) -> None:
        self._peek = peek
        self._frame = frame
        self._piece = piece
        self._left = most
        self._ways: dict[int, int] = {}
        self._names: list[str] = []

    def columns(self, bind_names: Callable[[list[str]], object]) -> dict[str, list[Any]]:
        """The columns. `bind_names` binds what it is given as `rlm_names`.

        Raises ValueError where it is no table of columns with different names and equal lengths, or
        of too many bytes, and what `peek` raises.
        """
        names = self._peek("[*rlm_table.columns]" if self._frame else "[*rlm_table]")
        self._names = [name if isinstance(name, str) else str(name) for name in names] if type(names) is list else []
        if type(names) is not list or len(set(self._names)) != len(self._names):
            raise ValueError("it has no columns with different names")
        if not self._frame:
            bind_names(self._names)
        found: list[list[Any]] = [[] for _ in self._names]
        which, at, step = range(len(self._names)), 0, _ROWS
        while which:
            self._split = False
            block = self._block(which, at, at + step)
            if len({len(each) for each in block}) != 1:
                raise ValueError("its columns have different lengths")
            for column, values in zip(found, block, strict=True):
                self._left -= held_bytes(values)
                column += values
            if self._left < 0:
                raise ValueError("the table is larger than limits.kept_bytes; return less of it")
            if len(block[0]) < step:
                break
            at += step
            step = max(step // 2, 1) if self._split else step * 2
        return dict(zip(self._names, found, strict=True))

    def _block(self, which: Sequence[int], begin: int, end: int) -> list[list[Any]]:
        """Rows begin to end of these columns, in as many requests as it takes."""
        try:
            return self._asked(which, begin, end)
        except ValueTooLarge:
            self._split = True
            if end - begin > 1:
                middle = (begin + end) // 2
                first = self._block(which, begin, middle)
                if any(len(each) < middle - begin for each in first):
                    return first
                return [a + b for a, b in zip(first, self._block(which, middle, end), strict=True)]
            if len(which) > 1:
                half = len(which) // 2
                return self._block(which[:half], begin, end) + self._block(which[half:], begin, end)
            return [[self._long(which[0], begin)]]

    def _asked(self, which: Sequence[int], begin: int, end: int) -> list[list[Any]]:
        if not self._frame:
            whole = which == range(len(self._names))
            names = "rlm_names" if whole else f"[rlm_names[each] for each in {[*which]}]"
            return _lists(self._peek(f"[rlm_table[name][{begin}:{end}] for name in {names}]"), len(which), end - begin)
        try:
            ways = [_WAYS[self._ways.get(each, 0)].format(begin, end, each) for each in which]
            return self._filled(f"[{', '.join(ways)}]", len(which), end - begin)
        except ValueNotPlain:
            if len(which) > 1:
                return [self._asked([each], begin, end)[0] for each in which]
            return self._another_way(which[0], begin, end)

    def _another_way(self, column: int, begin: int, end: int) -> list[list[Any]]:
        for way in range(self._ways.get(column, 0) + 1, len(_WAYS)):
            self._ways[column] = way
            try:
                return self._filled(f"[{_WAYS[way].format(begin, end, column)}]", 1, end - begin)
            except (ValueNotPlain, CellError):
                if way == len(_WAYS) - 1:
                    raise
        raise ValueError("a column has values that are no data")

    def _filled(self, expression: str, columns: int, rows: int) -> list[list[Any]]:
        """Lists of a DataFrame, in which pandas has NaN where there is no value."""
        found = _lists(self._peek(expression), columns, rows)
        return [[None if type(value) is float and math.isnan(value) else value for value in each] for each in found]

    def _long(self, column: int, row: int) -> str:
        """One text that is too large for one value, in pieces."""
        cell = f"rlm_table.iloc[{row}, {column}]" if self._frame else f"rlm_table[rlm_names[{column}]][{row}]"
        pieces: list[str] = []
        at = 0
        while True:
            piece = self._peek(f"{cell}[{at}:{at + self._piece}]")
            if type(piece) is not str or len(piece) > self._piece:
                raise ValueError("a cell is too large, and no text")
            self._left -= held_bytes(piece)
            if self._left < 0:
                raise ValueError("the table is larger than limits.kept_bytes; return less of it")
            pieces.append(piece)
            if len(piece) < self._piece:
                return "".join(pieces)
            at += self._piece


def _lists(given: Any, columns: int, rows: int) -> list[list[Any]]:
    fits = type(given) is list and len(given) == columns
    if not fits or not all(type(each) is list and len(each) <= rows for each in given):
        raise ValueError("its columns are no lists")
    return list(given)
