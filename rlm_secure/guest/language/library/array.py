"""array: a list whose items are checked and rounded as those of C are."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from typing import Any

__all__ = ["ArrayType", "array", "typecodes"]
LEFT_OUT: dict[str, str] = {}

typecodes = "bBuhHiIlLqQfd"


class array:
    def __init__(self, typecode: str, initializer: Any = (), /) -> None:
        if not isinstance(typecode, str) or len(typecode) != 1:
            raise TypeError("array() argument 1 must be a unicode character")
        if typecode not in typecodes:
            raise ValueError("bad typecode (must be b, B, u, h, H, i, I, l, L, q, Q, f or d)")
        self.typecode = typecode
        self.itemsize = 4 if typecode == "u" else struct.calcsize(typecode)
        self._items: list[Any] = []
        if isinstance(initializer, bytes | bytearray):
            self.frombytes(initializer)
        elif isinstance(initializer, str) and typecode != "u":
            raise TypeError(f"cannot use a str to initialize an array with typecode {typecode!r}")
        else:
            self.extend(initializer)

    def _checked(self, value: Any) -> Any:
        if self.typecode == "u":
            if not isinstance(value, str) or len(value) != 1:
                raise TypeError("array item must be a unicode character")
            return value
        if self.typecode in "fd":
            if not isinstance(value, int | float) and not hasattr(value, "__float__"):
                raise TypeError(f"must be real number, not {type(value).__name__}")
            value = float(value)
        elif not isinstance(value, int):
            raise TypeError(f"'{type(value).__name__}' object cannot be interpreted as an integer")
        try:
            return struct.unpack(self.typecode, struct.pack(self.typecode, value))[0]
        except struct.error as problem:
            raise OverflowError(str(problem)) from None

    def _made(self, items: list[Any]) -> array:
        made = array(self.typecode)
        made._items = items
        return made

    def _of(self, other: Any) -> list[Any]:
        if not isinstance(other, array):
            raise TypeError(f"can only append array (not \"{type(other).__name__}\") to array")
        if other.typecode != self.typecode:
            raise TypeError("bad argument type for built-in operation")
        return other._items

    def append(self, value: Any, /) -> None:
        self._items.append(self._checked(value))

    def extend(self, values: Any, /) -> None:
        if isinstance(values, array):
            if values.typecode != self.typecode:
                raise TypeError("can only extend with array of same kind")
            self._items.extend(values._items)
        else:
            for value in values:
                self._items.append(self._checked(value))

    def insert(self, at: int, value: Any, /) -> None:
        self._items.insert(at, self._checked(value))

    def pop(self, at: int = -1, /) -> Any:
        if not self._items:
            raise IndexError("pop from empty array")
        return self._items.pop(at)

    def remove(self, value: Any, /) -> None:
        if value not in self._items:
            raise ValueError("array.remove(x): x not in array")
        self._items.remove(value)

    def index(self, value: Any, start: int = 0, stop: int | None = None, /) -> int:
        end = len(self._items) if stop is None else stop
        if value not in self._items[start:end]:
            raise ValueError("array.index(x): x not in array")
        return self._items.index(value, start, end)

    def count(self, value: Any, /) -> int:
        return self._items.count(value)

    def reverse(self) -> None:
        self._items.reverse()

    def byteswap(self) -> None:
        held = self.tobytes()
        size = self.itemsize
        self._items.clear()
        self.frombytes(b"".join([held[at : at + size][::-1] for at in range(0, len(held), size)]))

    def tolist(self) -> list[Any]:
        return list(self._items)

    def fromlist(self, values: list[Any], /) -> None:
        if not isinstance(values, list):
            raise TypeError("arg must be list")
        self._items.extend([self._checked(value) for value in values])

    def tobytes(self) -> bytes:
        if self.typecode == "u":
            return "".join(self._items).encode("utf-32-le")
        return struct.pack(f"{len(self._items)}{self.typecode}", *self._items)

    def frombytes(self, data: Any, /) -> None:
        if len(data) % self.itemsize:
            raise ValueError("bytes length not a multiple of item size")
        if self.typecode == "u":
            self._items.extend(bytes(data).decode("utf-32-le"))
        else:
            self._items.extend(struct.unpack(f"{len(data) // self.itemsize}{self.typecode}", bytes(data)))

    def tounicode(self) -> str:
        if self.typecode != "u":
            raise ValueError("tounicode() may only be called on unicode type arrays")
        return "".join(self._items)

    def fromunicode(self, text: str, /) -> None:
        if self.typecode != "u":
            raise ValueError("fromunicode() may only be called on unicode type arrays")
        self.extend(text)

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Any]:
        return iter(self._items)

    def __contains__(self, value: Any) -> bool:
        return value in self._items

    def __getitem__(self, at: Any) -> Any:
        return self._made(self._items[at]) if isinstance(at, slice) else self._items[at]

    def __setitem__(self, at: Any, value: Any) -> None:
        self._items[at] = list(self._of(value)) if isinstance(at, slice) else self._checked(value)

    def __delitem__(self, at: Any) -> None:
        del self._items[at]

    def __add__(self, other: Any) -> array:
        return self._made(self._items + self._of(other))

    def __iadd__(self, other: Any) -> array:
        self._items += self._of(other)
        return self

    def __mul__(self, count: int) -> array:
        return self._made(self._items * count)

    def __rmul__(self, count: int) -> array:
        return self._made(self._items * count)

    def __imul__(self, count: int) -> array:
        self._items *= count
        return self

    def __eq__(self, other: object) -> bool:
        return self._items == other._items if isinstance(other, array) else NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __lt__(self, other: Any) -> bool:
        return self._items < other._items if isinstance(other, array) else NotImplemented

    def __le__(self, other: Any) -> bool:
        return self._items <= other._items if isinstance(other, array) else NotImplemented

    def __gt__(self, other: Any) -> bool:
        return self._items > other._items if isinstance(other, array) else NotImplemented

    def __ge__(self, other: Any) -> bool:
        return self._items >= other._items if isinstance(other, array) else NotImplemented

    def __bytes__(self) -> bytes:
        return self.tobytes()

    def __copy__(self) -> array:
        return self._made(list(self._items))

    def __deepcopy__(self, memo: Any) -> array:
        return self._made(list(self._items))

    def __repr__(self) -> str:
        if not self._items:
            return f"array({self.typecode!r})"
        shown = "".join(self._items) if self.typecode == "u" else self._items
        return f"array({self.typecode!r}, {shown!r})"


ArrayType = array
