"""Contexts from a sealed memfd: a str that uses the mapped pages in place, or a copy where that fails.

A CPython str is a header followed by characters of one width (PEP 393). The host writes the characters to the memfd as
they are stored in its own str. Here one private page holds a header copied from a new str of the same width, and the
memfd is mapped read-only directly after it. So loading copies nothing, whatever the size, and sessions share the pages.
The mapping is private, because Linux before 6.7 and gVisor refuse a shared mapping of a file that is sealed against
writing, even a read-only one. `self_test` decides once per zygote whether this works with this interpreter.
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
_REFERENCES = 1 << 30  # more than code can drop: malloc must never free these pages; `release` unmaps them

_in_place = False
#: The strings that use mapped pages: address of the object -> start and size of its pages.
_adopted: dict[int, tuple[int, int]] = {}


def load(fd: int, kind: str, length: int) -> Any:
    """The str of `length` characters, or the JSON value of `length` bytes, in the memfd `fd`; closes `fd`.

    `kind` is ascii, latin-1, ucs-2 or ucs-4 (the exact width of the host's str), "utf-32" for a str whose width the
    host could not read, "json", or "bytes", which are copied as they are.
    """
    try:
        if kind == "json":
            with _Mapping(fd, length) as address:
                return json.loads(ctypes.string_at(address, length).decode("ascii"))
        if kind == "bytes":
            with _Mapping(fd, length) as address:
                return ctypes.string_at(address, length)
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
    """A read-only mapping that lasts while it is copied. Not mmap.mmap: it calls fcntl, which the filter forbids."""

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
    template = character * 2  # never interned or cached, so its header is that of a new str
    header = sys.getsizeof(template) - 3 * width
    size = (length + 1) * width
    # Reserve both parts at once without access, so that RLIMIT_DATA only counts the header page. That page is unmapped
    # and mapped again at the same address, because the kernel does not always count pages that mprotect makes writable.
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
    """Unmap the strings in place that have no references left. Called between cells."""
    for address, (start, size) in list(_adopted.items()):
        references = ctypes.c_ssize_t.from_address(address).value
        # The table of interned strings does not count its references.
        interned = ctypes.c_uint8.from_address(address + _STATE_OFFSET).value & _INTERNED
        if references == _REFERENCES and not interned:
            _libc.munmap(start, size)
            del _adopted[address]


def start_self_test() -> int:
    """Start the self-test for `enable_in_place`, in a child, so that its mappings end with it. Returns its pid."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if self_test() else 1)
    return pid


def enable_in_place(tested: int) -> None:
    """Use contexts in place if the self-test in the child `tested` passes."""
    global _in_place
    _in_place = os.waitpid(tested, 0)[1] == 0


def self_test() -> bool:
    """Try in-place strings of every width in every kind of use; they are used from now on only if all tests pass."""
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
