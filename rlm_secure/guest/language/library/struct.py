"""struct."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

__all__ = ["Struct", "calcsize", "error", "iter_unpack", "pack", "pack_into", "unpack", "unpack_from"]
LEFT_OUT: dict[str, str] = {}

# Bound by the loader.
calcsize: Callable[[Any], int]
pack: Callable[..., bytes]
unpack: Callable[[Any, Any], tuple[Any, ...]]
error: type[Exception]


def _room(format: Any, buffer: Any, offset: int, verb: str) -> int:
    size, length = calcsize(format), len(buffer)
    at = offset + length if offset < 0 else offset
    if at < 0 or length - at < size:
        raise error(
            f"{verb} requires a buffer of at least {max(at, 0) + size} bytes for {size} bytes at offset {offset} "
            f"(actual buffer size is {length})"
        )
    return at


def unpack_from(format: Any, /, buffer: Any, offset: int = 0) -> tuple[Any, ...]:
    at = _room(format, buffer, offset, "unpack_from")
    return unpack(format, bytes(buffer[at : at + calcsize(format)]))


def pack_into(format: Any, buffer: Any, offset: int, /, *values: Any) -> None:
    if not isinstance(buffer, bytearray):
        raise TypeError("pack_into takes a bytearray to write to")
    made = pack(format, *values)
    at = _room(format, buffer, offset, "pack_into")
    buffer[at : at + len(made)] = made


def iter_unpack(format: Any, buffer: Any, /) -> Iterator[tuple[Any, ...]]:
    size, held = calcsize(format), bytes(buffer)
    if not size:
        raise error("cannot iteratively unpack with a struct of length 0")
    if len(held) % size:
        raise error(f"iterative unpacking requires a buffer of a multiple of {size} bytes")
    return (unpack(format, held[at : at + size]) for at in range(0, len(held), size))


class Struct:
    def __init__(self, format: Any) -> None:
        self.size = calcsize(format)
        self.format = format.decode() if isinstance(format, bytes) else format

    def pack(self, *values: Any) -> bytes:
        return pack(self.format, *values)

    def pack_into(self, buffer: Any, offset: int, *values: Any) -> None:
        pack_into(self.format, buffer, offset, *values)

    def unpack(self, buffer: Any) -> tuple[Any, ...]:
        return unpack(self.format, buffer)

    def unpack_from(self, buffer: Any, offset: int = 0) -> tuple[Any, ...]:
        return unpack_from(self.format, buffer, offset)

    def iter_unpack(self, buffer: Any) -> Iterator[tuple[Any, ...]]:
        return iter_unpack(self.format, buffer)

    def __repr__(self) -> str:
        return f"Struct({self.format!r})"
