"""A context as a sealed memfd: written once, mapped read-only by every session that shares it.

A str is written in its memory layout (PEP 393: one, two or four bytes a character), so that a session can use
the pages in place. If this interpreter's str has another layout, it is written as UTF-32, which is exact too, and
copied in the guest. Lists and dicts are written as ASCII JSON: about 7 s per GB each way.

Guards: memory that a session shares with the host: sealed before it is shared
"""

from __future__ import annotations

import ctypes
import json
import os
import sys
from dataclasses import dataclass
from functools import cache
from typing import Any

from rlm_secure.pickling import Unpicklable
from rlm_secure.policy.gate import Gate
from rlm_secure.types import QueryMetadata

#: PEP 393 state bits on CPython 3.11 to 3.13: interned (2 bits), kind (3), compact (1), ascii (1).
_STATE_OFFSET = 32
_WIDTHS = {1: ("latin-1", "\xe9"), 2: ("ucs-2", "\u0100"), 4: ("ucs-4", "\U00010000")}


@dataclass(slots=True)
class SharedContext(Unpicklable):
    """A sealed memfd and what is in it. `length` counts characters of a str, bytes of JSON; `facts`: see Flat."""

    pickle_instead = "send the context"

    fd: int
    kind: str
    length: int
    size: int
    facts: QueryMetadata | None = None

    def close(self) -> None:
        """Close the descriptor; sessions keep their own mapping. Idempotent."""
        if self.fd >= 0:
            os.close(self.fd)
            self.fd = -1

    def __del__(self) -> None:
        self.close()


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a file: bytes, which no context is."""

    data: bytes


@dataclass(frozen=True, slots=True)
class Flat:
    """A context as bytes: `kind` and `length` as in SharedContext, `width` bytes a character.

    `facts` is what a run tells its model of it, where the run has nothing but the bytes.
    """

    kind: str
    view: memoryview
    width: int
    length: int
    facts: QueryMetadata | None = None


def flatten(payload: Any, gate: Gate) -> Flat:
    """`payload` (str, list or dict of JSON values, Contents, or Flat) as bytes.

    A str is not copied where that is possible: the view keeps it. Raises Refused when `gate` refuses the size,
    TypeError when it is not JSON.
    """
    if isinstance(payload, str):
        kind, view, width = _characters(payload)
        flat = Flat(kind, view, width, view.nbytes // width)  # a subclass may say that it has another length
    elif isinstance(payload, Flat):
        flat = payload
    elif isinstance(payload, Contents):
        flat = Flat("bytes", memoryview(payload.data), 1, len(payload.data))
    else:
        try:
            data = json.dumps(payload, ensure_ascii=True).encode("ascii")
        except (TypeError, ValueError, RecursionError) as error:
            raise TypeError(
                f"a context is a str, or a list or dict of JSON values, not {type(payload).__name__}: {error}"
            ) from None
        flat = Flat("json", memoryview(data), 1, len(data))
    gate.context(flat.view.nbytes).require()
    return flat


def size_of(payload: Any) -> int:
    """How many bytes `payload` takes as a context; 0 for what is none, which `flatten` refuses."""
    if isinstance(payload, str):
        return _characters(payload)[1].nbytes
    try:
        return len(json.dumps(payload, ensure_ascii=True))
    except (TypeError, ValueError, RecursionError):
        return 0


def share(payload: Any, gate: Gate) -> SharedContext:
    """`payload` in a sealed memfd, which Linux alone has. Raises as `flatten`."""
    import fcntl  # not on Windows, where contexts are sent, never shared

    seals = fcntl.F_SEAL_SEAL | fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_WRITE
    flat = flatten(payload, gate)
    fd = os.memfd_create("context", os.MFD_ALLOW_SEALING | os.MFD_CLOEXEC)
    try:
        _write(fd, flat.view)
        os.write(fd, bytes(flat.width))  # the NUL that ends a str in memory
        fcntl.fcntl(fd, fcntl.F_ADD_SEALS, seals)
    except BaseException:  # Ctrl-C as well: the descriptor would stay
        os.close(fd)
        raise
    return SharedContext(fd, flat.kind, flat.length, flat.view.nbytes, flat.facts)


def _write(fd: int, view: memoryview) -> None:
    done = 0
    while done < view.nbytes:
        done += os.write(fd, view[done : done + (1 << 28)])


def _characters(text: str) -> tuple[str, memoryview, int]:
    """Kind, bytes and width of the characters of `text`, without a copy where that is possible."""
    text = str.__str__(text)  # a copy, where it is of a subclass
    if len(text) > 1 and _readable():
        ascii_only, width = _state(text)
        kind = "ascii" if ascii_only else _WIDTHS[width][0]
        buffer: Any = (ctypes.c_char * (len(text) * width)).from_address(id(text) + _header(ascii_only, width))
        buffer.owner = text  # nobody else holds a copy: the view would be of memory that others are given
        return kind, memoryview(buffer).cast("B"), width
    return "utf-32", memoryview(text.encode("utf-32-le", "surrogatepass")), 4


def _state(text: str) -> tuple[bool, int]:
    bits = ctypes.c_uint.from_address(id(text) + _STATE_OFFSET).value
    return bool(bits >> 6 & 1), bits >> 2 & 7


@cache
def _header(ascii_only: bool, width: int) -> int:
    # Fresh strings: a cached UTF-8 form would count in getsizeof.
    sample = "a" * 3 if ascii_only else _WIDTHS[width][1] * 3
    return sys.getsizeof(sample) - 4 * width


@cache
def _readable() -> bool:
    """Whether str objects of this interpreter have the layout of PEP 393, tried on every width."""
    if sys.implementation.name != "cpython":
        return False
    for sample in ("plain ascii", "caf\xe9 \xff", "\u0100\ud800 two", "\U0001f600 four \x00"):
        ascii_only, width = _state(sample)
        if ascii_only is not sample.isascii() or width not in _WIDTHS:
            return False
        codec = {1: "latin-1", 2: "utf-16-le", 4: "utf-32-le"}[width]
        if ctypes.string_at(id(sample) + _header(ascii_only, width), len(sample) * width) != sample.encode(
            codec, "surrogatepass"
        ):
            return False
    return True
