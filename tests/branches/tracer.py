"""Marks what runs of some files in memory shared with a file: by any process, sealed or killed, without a call.

Of the first files it marks branches: a byte stands for one arc, from a line to a line, as coverage.py knows them; a
line below zero is the way into, or out of, the function that begins there. Of the others it marks lines, a byte each.
Runs in the guest, in programs of arenas and in forks of whoever is measured, on the standard library alone.
"""

from __future__ import annotations

import ctypes
import dis
import mmap
import os
import sys
from typing import Any

#: Lines that a file may have whose branches are marked.
LINES = 512
#: Bytes of one file's arcs: both ends may be a line, or the beginning of a function.
SIZE = (2 * LINES) ** 2
#: Lines that one of the others may have, a byte each.
MOST_LINES = 2048

_RESUME = dis.opmap["RESUME"]
_YIELD = dis.opmap["YIELD_VALUE"]


def size(branches: list[str], lines: list[str]) -> int:
    """Bytes of the table of these files."""
    return len(branches) * SIZE + len(lines) * MOST_LINES


def start(path: str, branches: list[str], lines: list[str]) -> None:
    """Mark what runs of the files that end in these names, in the file at `path`; nothing where it cannot be opened."""
    table = shared(path, size(branches, lines))
    if table is not None:
        trace(table, branches, lines)


def trace(table: Any, branches: list[str], lines: list[str]) -> None:
    """The same in memory that is shared already: from here on, in the frames that are running as well."""
    begins: dict[str, int] = {}
    names, first = [*branches, *lines], len(branches) * SIZE  # where the lines begin

    def find(file: str) -> int:
        found = [index for index, name in enumerate(names) if f"/{file}".endswith(f"/{name}")]
        at = found[0] if found else -1
        begins[file] = begin = at * SIZE if at < len(branches) else first + (at - len(branches)) * MOST_LINES
        return begin

    def enter(frame: Any, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        begin = begins.get(code.co_filename)
        if begin is None:
            begin = find(code.co_filename)
        if begin < 0:
            return None
        if begin >= first:
            return marks(begin)
        # Who goes on behind a yield did not come in by the function's beginning.
        again = frame.f_lasti >= 0 and code.co_code[frame.f_lasti] == _RESUME and code.co_code[frame.f_lasti + 1] != 0
        return steps(code, begin, frame.f_lineno if again else LINES + code.co_firstlineno)

    def steps(code: Any, begin: int, last: int) -> Any:
        outside = LINES + code.co_firstlineno

        def step(frame: Any, event: str, _argument: Any) -> Any:
            nonlocal last
            if event == "line":
                line = frame.f_lineno
                table[begin + last * 2 * LINES + line] = 1
                last = line
            elif event == "return" and code.co_code[frame.f_lasti] != _YIELD:
                table[begin + last * 2 * LINES + outside] = 1
            return step

        return step

    def marks(begin: int) -> Any:
        def mark(frame: Any, event: str, _argument: Any) -> Any:
            if event == "line":
                table[begin + frame.f_lineno] = 1
            return mark

        return mark

    sys.settrace(enter)
    frame: Any = sys._getframe(1)
    while frame is not None:  # what forked is half-way through a function, or through several
        code = frame.f_code
        begin = begins.get(code.co_filename, find(code.co_filename))
        if begin >= first:
            frame.f_trace = marks(begin)
        else:
            frame.f_trace = steps(code, begin, frame.f_lineno) if begin >= 0 else None
        frame = frame.f_back


def shared(path: str, size: int) -> Any:
    """The table in the file at `path`, as memory of `size` bytes; None where it cannot be opened."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        return _shared(fd, size)
    finally:
        os.close(fd)


def _shared(fd: int, size: int) -> Any:
    """The file's memory. Not mmap.mmap, which keeps a descriptor of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
    return (ctypes.c_ubyte * size).from_address(address)
