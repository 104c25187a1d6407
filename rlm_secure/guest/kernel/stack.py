"""A seccomp filter that keeps a session from growing its stack's mapping beyond RLIMIT_STACK.

RLIMIT_DATA does not count the stack. mremap(2) could turn it into a mapping of any size that is not counted either, and
each part of a stack that is split grows by up to RLIMIT_STACK. So a small filter, beside the session's own, refuses the
calls that move or split a mapping, for addresses in and near the stack. Normal code never maps anything there: kernels
leave room for the stack. Source: mm/util.c and arch/x86/mm/mmap.c, mmap_base(); mm/vma.c, acct_stack_growth().
mprotect(2) is refused by the session's own filter.

Guards: the one mapping of a session that no limit on memory counts
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator

#: mmap, munmap, mremap, madvise.
_CALLS = {"x86_64": (9, 11, 25, 28), "aarch64": (222, 215, 216, 233)}
#: Twice RLIMIT_STACK below: a madvise(2) that begins lower can split the mapping only once, as no permitted advice
#: undoes MADV_HUGEPAGE. The same above, where arguments and environment are. Not more: gVisor places libraries and
#: contexts anywhere above a stack.
_ROOM = 16 << 20
_LOAD, _EQUAL, _GREATER, _NOT_LESS, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 12  # SECCOMP_RET_ERRNO with ENOMEM: realloc then copies
#: Where the halves of a call's first argument are in seccomp_data, on a little-endian machine.
_LOW, _HIGH = 16, 20
#: No address of a process has an upper half as large as this, except tagged ones, whose tag the kernel removes.
_TAGGED = 1 << 20


def program(machine: str, top: int) -> bytes:
    """The filter as BPF, for a stack that ends near the address `top`; empty for an unknown machine."""
    if machine not in _CALLS:
        return b""
    calls = _CALLS[machine]
    numbers = ((_EQUAL, len(calls) - at + 1, 0, call) for at, call in enumerate(calls, 1))
    steps = [(_LOAD, 0, 0, 0), *numbers, (_RETURN, 0, 0, _ALLOW)]
    steps += [(_LOAD, 0, 0, _HIGH), (_NOT_LESS, 0, 1, _TAGGED), (_RETURN, 0, 0, _REFUSE)]
    for high, first, last in _parts(top - _ROOM, top + _ROOM):
        steps += [(_EQUAL, 0, 5, high), (_LOAD, 0, 0, _LOW), (_NOT_LESS, 0, 2, first), (_GREATER, 1, 0, last)]
        steps += [(_RETURN, 0, 0, _REFUSE), (_RETURN, 0, 0, _ALLOW)]
    steps += [(_RETURN, 0, 0, _ALLOW)]
    return b"".join(struct.pack("HBBI", *step) for step in steps)


def _parts(start: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The addresses from `start` to before `end`, as ranges (upper half, first lower half, last lower half)."""
    for high in range(start >> 32, ((end - 1) >> 32) + 1):
        base = high << 32
        yield high, max(start - base, 0), min(end - base, 1 << 32) - 1


def _top() -> int | None:
    """The address at which the stack of this process ends, which its forks inherit; None if unknown."""
    try:
        return ctypes.c_void_p.in_dll(ctypes.CDLL(None), "__libc_stack_end").value
    except ValueError:  # not the GNU C library; without /proc as well, only a cgroup limits this mapping
        pass
    try:
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            return next((int(line.split("-")[1].split()[0], 16) for line in maps if "[stack]" in line), None)
    except OSError:
        return None


def refused() -> bytes:
    """The filter for this process; empty if the address of its stack is unknown."""
    top = _top()
    return program(os.uname().machine, top) if top else b""


#: Built once, in the process that sessions are forked from.
FILTER = refused()
