"""Closes the ways by which numpy takes memory from an object's attributes, and those by which it shows old memory.

For any object, numpy asks for `__array_interface__`, which may name an address to read and write, and for
`__array_struct__`. It asks the instance, so that a cell needs no method of that name: a key in `vars(x)`, a keyword of
a SimpleNamespace or a `__getattr__` will do. So numpy is told to ask for other names, which nobody knows. Their
pointers are in one place of its memory (npy_static_data.c).

What a new array has in it before something is written there was freed by something else: a ufunc with `where=` shows
it. So all arrays are allocated by calloc().

Guards: that no object of a cell becomes memory of its choice, and that no array shows what was there before
"""

from __future__ import annotations

import ctypes
import importlib
import os
import secrets
import struct
import sys
from typing import Any

_NAMES = ("__array_interface__", "__array_struct__")
#: Of a program header in an ELF file: a segment that is loaded, and may be written to.
_LOADED, _WRITABLE = 1, 2
#: Of PyDataMem_DefaultHandler in the C API, and of the functions in the handler: behind its name and version.
_DEFAULT_HANDLER, _ALLOCATOR = 306, 128
#: The new names, kept alive.
_kept: list[str] = []


def rename() -> None:
    """Have numpy look for unguessable names instead. Raises ImportError where it keeps them otherwise."""
    if _kept:
        return
    segments = _segments()
    for name in _NAMES:
        places = [place for start, end in segments for place in _pointers(start, end, id(sys.intern(name)))]
        if len(places) != 1:
            raise ImportError(f"numpy keeps {name} in {len(places)} places; only one was reviewed.")
        _kept.append(sys.intern(f"__{secrets.token_hex(16)}__"))
        ctypes.c_void_p.from_address(places[0]).value = id(_kept[-1])
    # numpy's own use of it, in sliding_window_view.
    tricks: Any = importlib.import_module("numpy.lib._stride_tricks_impl")
    interface = _kept[0]

    class DummyArray:
        def __init__(self, given: Any, base: Any = None) -> None:
            setattr(self, interface, given)
            self.base = base

    tricks.DummyArray = DummyArray
    _check()


def clear() -> None:
    """Have numpy, and so pandas, clear the memory of each new array. Raises ImportError where it allocates otherwise.

    The table of its functions is a PyDataMem_Handler (ndarraytypes.h), in a capsule of its C API. Those that allocate
    take a context first, which numpy's own ignore: calloc(1, size) is malloc(context, size) of cleared memory.
    """
    np: Any = importlib.import_module("numpy")
    umath: Any = importlib.import_module("numpy._core._multiarray_umath")
    pointer = ctypes.pythonapi.PyCapsule_GetPointer
    pointer.restype, pointer.argtypes = ctypes.c_void_p, (ctypes.py_object, ctypes.c_char_p)
    table = pointer(umath._ARRAY_API, None)
    place = ctypes.c_void_p.from_address(table + _DEFAULT_HANDLER * ctypes.sizeof(ctypes.c_void_p)).value
    handler = pointer(ctypes.py_object.from_address(place or 0).value, b"mem_handler")
    if umath.get_handler_name() != "default_allocator" or ctypes.string_at(handler) != b"default_allocator":
        raise ImportError("numpy's arrays are allocated by an allocator that was not reviewed.")
    allocator = (ctypes.c_void_p * 5).from_address(handler + _ALLOCATOR)  # context, malloc, calloc, realloc, free
    allocator[0], allocator[1] = 1, ctypes.cast(ctypes.CDLL(None).calloc, ctypes.c_void_p).value
    for size in (8, 100, 4096):  # the places in numpy's cache among them
        used = [np.full(size, 255, np.uint8) for _ in range(32)]
        del used
        if any(np.empty(size, np.uint8).any() for _ in range(32)):
            raise ImportError("numpy still shows what was in its memory.")


def _check() -> None:
    np: Any = importlib.import_module("numpy")

    class Asked:
        __array_interface__ = {"shape": (1,), "typestr": "|u1", "data": b"x", "version": 3}  # noqa: RUF012

    if np.asarray(Asked()).dtype != object:
        raise ImportError("numpy still takes memory from an attribute of an object.")


def _segments() -> list[tuple[int, int]]:
    """The writable memory of numpy's C module: its data, and the zeros after it, as long as its own header says.

    A mapping may be longer: the kernel joins those that lie beside each other, such as one of Python's own objects.
    """
    module = importlib.import_module("numpy._core._multiarray_umath")
    path = os.path.realpath(str(module.__file__))  # as the kernel names it
    with open(path, "rb") as file:
        head = file.read(64)
        at, size, count = struct.unpack_from("=Q", head, 32)[0], *struct.unpack_from("=HH", head, 54)
        file.seek(at)
        table = file.read(size * count)
    # Of each program header: type, flags, offset, address, physical address, size in the file, size in memory.
    headers = [struct.unpack_from("=IIQQQQQ", table, index * size) for index in range(count)]
    loaded = [(flags, address, memory) for kind, flags, _, address, _, _, memory in headers if kind == _LOADED]
    mapped = []
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            place, access = line.split()[:2]
            start, end = (int(each, 16) for each in place.split("-"))
            mapped.append((start, end, access, line.rstrip("\n").endswith(f" {path}")))
    first = min(address for _, address, _ in loaded)
    base = min(start for start, _, _, ours in mapped if ours) - first + first % os.sysconf("SC_PAGE_SIZE")
    return [
        (max(start, base + address), min(end, base + address + memory))
        for flags, address, memory in loaded
        for start, end, access, _ in mapped
        if flags & _WRITABLE and access.startswith("rw") and start < base + address + memory and base + address < end
    ]


def _pointers(start: int, end: int, target: int) -> list[int]:
    data = ctypes.string_at(start, end - start)
    wanted, found, at = struct.pack("=Q", target), [], -1
    while (at := data.find(wanted, at + 1)) >= 0:
        if (start + at) % 8 == 0:
            found.append(start + at)
    return found
