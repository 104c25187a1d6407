"""Contexts from a sealed memfd: a str that uses the mapped pages in place, or a copy where that fails.

A CPython str of a fixed width is a header followed by its characters (PEP 393). The host writes the
characters as they lie in its own str; here one private page holds a header copied from a fresh str of the
same width, and the memfd is mapped read-only right behind it. Loading costs no copy, whatever the size, and
sessions share the pages. The mapping is private: Linux before 6.7, and gVisor, refuse a shared one of a file that
is sealed against writing, read-only or not. `self_test` decides once per zygote whether this interpreter agrees.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
import os
import resource
import struct
import sys
from typing import Any

_PAGE = resource.getpagesize()
_SEALS = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
_PROT_NONE, _PROT_READ, _PROT_WRITE = 0, 1, 2
_MAP_PRIVATE, _MAP_FIXED, _MAP_ANONYMOUS, _MAP_NORESERVE = 2, 0x10, 0x20, 0x4000

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mmap.restype = ctypes.c_void_p
_libc.mmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int, ctypes.c_int, ctypes.c_int, ctypes.c_long]
_libc.munmap.argtypes = [ctypes.c_void_p, ctypes.c_size_t]
_copy = ctypes.pythonapi.PyUnicode_FromKindAndData
_copy.restype = ctypes.py_object
_copy.argtypes = [ctypes.c_int, ctypes.c_void_p, ctypes.c_ssize_t]

#: kind on the wire -> (bytes a character, a character whose str has this width)
_KINDS = {"ascii": (1, "a"), "latin-1": (1, "\xe9"), "ucs-2": (2, "\u0100"), "ucs-4": (4, "\U00010000")}
_LENGTH_OFFSET, _HASH_OFFSET = 16, 24
_STATE_OFFSET, _INTERNED = 32, 3
_REFERENCES = 1 << 30  # more than anybody can drop: the pages are not malloc's to free, but ours, in `release`

_in_place = False
#: Where the strings in place lie: address of the object -> start and size of its pages.
_adopted: dict[int, tuple[int, int]] = {}


def load(fd: int, kind: str, length: int) -> Any:
    """The str of `length` characters, or the JSON value of `length` bytes, in the memfd `fd`; closes it.

    `kind` is ascii, latin-1, ucs-2 or ucs-4 (the exact width of the host's str), "utf-32" for a str that the
    host could not look into, or "json".
    """
    try:
        if kind == "json":
            with _Mapping(fd, length) as address:
                return json.loads(ctypes.string_at(address, length).decode("ascii"))
        if kind == "utf-32":
            with _Mapping(fd, 4 * length) as address:
                return _copy(4, address, length)
        width, _ = _KINDS[kind]
        if _in_place and length > 1:
            return _adopt(fd, kind, length)
        with _Mapping(fd, width * length) as address:
            return _copy(width, address, length)
    finally:
        os.close(fd)


class _Mapping:
    """A read-only shared mapping for the time of a copy. Not mmap.mmap: that calls fcntl, which is filtered."""

    def __init__(self, fd: int, size: int) -> None:
        self._size = max(size, 1)
        self._address = map_pages(None, self._size, _PROT_READ, _MAP_PRIVATE, fd)

    def __enter__(self) -> int:
        return self._address

    def __exit__(self, *_: object) -> None:
        _libc.munmap(self._address, self._size)


def map_pages(address: int | None, size: int, protection: int, flags: int, fd: int) -> int:
    """mmap(2). Raises OSError."""
    result: int | None = _libc.mmap(address, size, protection, flags, fd, 0)
    if result is None or result == ctypes.c_void_p(-1).value:
        number = ctypes.get_errno()
        raise OSError(number, f"mmap of {size} bytes: {os.strerror(number)}")
    return result


def _adopt(fd: int, kind: str, length: int) -> str:
    width, character = _KINDS[kind]
    template = character * 2  # never interned, never cached: its header is as fresh as one can be
    header = sys.getsizeof(template) - 3 * width
    size = (length + 1) * width
    # Reserve both parts at once without access, so that RLIMIT_DATA counts the header page alone. That is mapped anew
    # at the same place: nothing that is there becomes writable, which the kernel does not count in every case.
    start = map_pages(None, _PAGE + size, _PROT_NONE, _MAP_PRIVATE | _MAP_ANONYMOUS | _MAP_NORESERVE, -1)
    _libc.munmap(start, _PAGE)
    at = map_pages(start, _PAGE, _PROT_READ | _PROT_WRITE, _MAP_PRIVATE | _MAP_ANONYMOUS, -1)
    if at != start:
        _libc.munmap(at, _PAGE)
        _libc.munmap(start + _PAGE, size)
        raise OSError(errno.EEXIST, "mmap: the page in front of a context was taken")
    data = start + _PAGE
    map_pages(data, size, _PROT_READ, _MAP_PRIVATE | _MAP_FIXED, fd)
    address = data - header
    ctypes.memmove(address, id(template), header)
    struct_at = (ctypes.c_char * header).from_address(address)
    struct.pack_into("q", struct_at, 0, _REFERENCES)
    struct.pack_into("q", struct_at, _LENGTH_OFFSET, length)
    struct.pack_into("q", struct_at, _HASH_OFFSET, -1)
    adopted: str = ctypes.cast(address, ctypes.py_object).value
    _adopted[address] = start, _PAGE + size
    return adopted


def release() -> None:
    """Between cells: unmap the strings in place that nobody refers to any more."""
    for address, (start, size) in list(_adopted.items()):
        references = ctypes.c_ssize_t.from_address(address).value
        # The table of interned strings refers to what it holds without counting.
        interned = ctypes.c_uint8.from_address(address + _STATE_OFFSET).value & _INTERNED
        if references == _REFERENCES and not interned:
            _libc.munmap(start, size)
            del _adopted[address]


def switch_on() -> None:
    """Use contexts in place where a child of this process finds that they work; what it maps ends with it."""
    global _in_place
    pid = os.fork()
    if pid == 0:
        os._exit(0 if self_test() else 1)
    _in_place = os.waitpid(pid, 0)[1] == 0


def self_test() -> bool:
    """Try in-place strings of every width with every kind of use, and use them from now on only if all agree."""
    global _in_place
    _in_place = True
    try:
        for kind, (width, character) in _KINDS.items():
            for text in (f"{character}bc\r\n\0x" * 3, character + "x" * 9000):
                if not _agrees(text, kind, width):
                    raise ValueError(kind)
    except (ValueError, OSError):
        _in_place = False
    return _in_place


def in_place() -> bool:
    """Whether contexts are used in place, without a copy."""
    return _in_place


def _agrees(text: str, kind: str, width: int) -> bool:
    fd = os.memfd_create("self-test", os.MFD_ALLOW_SEALING)
    encoded = text.encode({1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width])
    os.write(fd, encoded + bytes(width))
    fcntl.fcntl(fd, fcntl.F_ADD_SEALS, _SEALS)
    adopted = load(fd, kind, len(text))
    return (
        adopted == text
        and hash(adopted) == hash(text)
        and {text: 1}[adopted] == 1
        and adopted.encode() == text.encode()
        and (adopted + "!")[:-1] == text
        and adopted[1:] == text[1:]
        and adopted.count("x") == text.count("x")
        and adopted.splitlines() == text.splitlines()
        and json.loads(json.dumps(adopted)) == text
        and sys.getsizeof(adopted) >= len(encoded)
    )
