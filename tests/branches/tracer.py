"""Marks the branches of a few files in memory shared with a file: by any process, sealed or killed, without a call.

A byte stands for one arc, from a line to a line, as coverage.py knows them; a line below zero is the way into, or out
of, the function that begins there. Runs in the guest and in the builder of arenas, on the standard library alone.
"""

from __future__ import annotations

import ctypes
import dis
import mmap
import os
import sys
from typing import Any

#: Lines that a file may have.
LINES = 512
#: Bytes of one file's arcs: both ends may be a line, or the beginning of a function.
SIZE = (2 * LINES) ** 2

_RESUME = dis.opmap["RESUME"]
_YIELD = dis.opmap["YIELD_VALUE"]


def start(path: str, names: list[str]) -> None:
    """Mark arcs of the files that end in `names`, in the file at `path`; nothing where it cannot be opened."""
    try:
        fd = os.open(path, os.O_RDWR)
    except OSError:
        return
    table = _shared(fd, len(names) * SIZE)
    os.close(fd)
    begins: dict[str, int] = {}

    def find(file: str) -> int:
        found = [index for index, name in enumerate(names) if file.endswith(name)]
        begins[file] = begin = found[0] * SIZE if found else -1
        return begin

    def enter(frame: Any, _event: str, _argument: Any) -> Any:
        code = frame.f_code
        begin = begins.get(code.co_filename)
        if begin is None:
            begin = find(code.co_filename)
        if begin < 0:
            return None
        outside = LINES + code.co_firstlineno
        # Who goes on behind a yield did not come in by the function's beginning.
        again = frame.f_lasti >= 0 and code.co_code[frame.f_lasti] == _RESUME and code.co_code[frame.f_lasti + 1] != 0
        last = frame.f_lineno if again else outside

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

    sys.settrace(enter)


def _shared(fd: int, size: int) -> Any:
    """The file's memory. Not mmap.mmap, which keeps a descriptor of its own."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.mmap.restype = ctypes.c_void_p
    libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, *[ctypes.c_int] * 3, ctypes.c_long]
    address = libc.mmap(None, size, mmap.PROT_READ | mmap.PROT_WRITE, mmap.MAP_SHARED, fd, 0)
    return (ctypes.c_ubyte * size).from_address(address)
