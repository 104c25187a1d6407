"""The stack's mapping grows by its own faults, up to RLIMIT_STACK, and in no other way.

RLIMIT_DATA does not count it. mremap(2) would carry its kind to a mapping of any size, and a stack that is cut in two
has a lower part that grows by RLIMIT_STACK of its own. So a small filter beside the session's own refuses the calls
that move or cut a mapping for addresses in the stack and beside it. No honest one begins there: kernels leave room for
a stack. Source: mm/util.c and arch/x86/mm/mmap.c, mmap_base(); mm/vma.c, acct_stack_growth(). mprotect(2) is refused
by the session's own filter.

Guards: the one mapping of a session that no limit on memory counts
"""

from __future__ import annotations

import ctypes
import os
import struct
from collections.abc import Iterator

#: mmap, munmap, mremap, madvise.
_CALLS = {"x86_64": (9, 11, 25, 28), "aarch64": (222, 215, 216, 233)}
#: Twice RLIMIT_STACK: an advice that begins below cuts the mapping once, as none takes MADV_HUGEPAGE back. As much
#: above, where arguments and environment lie. No more: gVisor puts libraries and contexts anywhere above a stack.
_ROOM = 16 << 20
_LOAD, _EQUAL, _GREATER, _NOT_LESS, _RETURN = 0x20, 0x15, 0x25, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | 12  # SECCOMP_RET_ERRNO with ENOMEM: realloc then copies
#: Where the halves of a call's first argument are in seccomp_data, on a little-endian machine.
_LOW, _HIGH = 16, 20
#: The upper half of no address of a process, but of one with a tag that the kernel takes off.
_TAGGED = 1 << 20


def program(machine: str, top: int) -> bytes:
    """The filter as BPF, for a stack that ends near the address `top`; nothing for a machine that we do not know."""
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
    """The addresses from `start` to before `end`, by the upper half that they share: it, first and last lower half."""
    for high in range(start >> 32, ((end - 1) >> 32) + 1):
        base = high << 32
        yield high, max(start - base, 0), min(end - base, 1 << 32) - 1


def _top() -> int | None:
    """The address at which the stack of this process ends; its forks have the same."""
    try:
        return ctypes.c_void_p.in_dll(ctypes.CDLL(None), "__libc_stack_end").value
    except ValueError:  # not the GNU C library; where there is no /proc either, only a cgroup counts this mapping
        pass
    try:
        with open("/proc/self/maps", encoding="ascii", errors="replace") as maps:
            return next((int(line.split("-")[1].split()[0], 16) for line in maps if "[stack]" in line), None)
    except OSError:
        return None


def refused() -> bytes:
    """The filter for this process; nothing where it is not known where its stack is."""
    top = _top()
    return program(os.uname().machine, top) if top else b""


#: Made once, in the process that sessions are forked from.
FILTER = refused()
