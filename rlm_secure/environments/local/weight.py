"""What a worker's process holds in memory, looked at from outside, where no cgroup limits it.

Guards: the memory of a worker that no cgroup limits
"""

from __future__ import annotations

import errno
import resource
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from rlm_secure.environments.deadline import Overdue
from rlm_secure.errors import CellCrashed, CellMemoryLimit

if TYPE_CHECKING:
    from rlm_secure.policy.model import Limits

#: Written pages that RLIMIT_DATA does not count: the stack (8 MiB), and pages of libraries that the loader wrote to.
UNCOUNTED_BYTES: Final = 32 << 20
PAGE: Final = resource.getpagesize()


def held_bytes(read: Callable[[str], bytes], enough: int = 0) -> int | None:
    """As Worker.held_bytes; `read` returns the contents of a file in the process's directory in /proc.

    Raises Overdue if the host has no file descriptor left to read it, which says nothing about the process.
    """
    try:
        found = map(int, read("statm").split())
        mapped, resident, shared, _, _, data, _ = (pages * PAGE for pages in found)
        written = resident - shared
        # A page mapped far from all others needs two page tables, one of each of two levels.
        if max(data, written) + 3 * mapped <= enough:
            return max(data, written)
        lines = dict(line.split(b":", 1) for line in read("status").splitlines())
        swapped, tables = (int(lines.get(name, b"0 kB").split()[0]) << 10 for name in (b"VmSwap", b"VmPTE"))
    except (OSError, ValueError) as error:
        if isinstance(error, OSError) and error.errno in (errno.EMFILE, errno.ENFILE):
            said = f"the host could not look at what a worker holds, and killed it: {error.strerror}; let it open more"
            raise Overdue(CellCrashed(said, wall="rlimits"), final=True) from None
        return None
    # Adjacent pages share a page table: an honest worker's tables take no more than what is subtracted here.
    return max(data, written + swapped) + max(tables - mapped // 512, 0)


def judge(held: int | None, limits: Limits) -> None:
    """Raise Overdue if a process holds more than any worker may, or if that cannot be read (None)."""
    if held is None or held > limits.memory_bytes + UNCOUNTED_BYTES:
        what = "held more than" if held is not None else "was hidden from its host, which looks at"
        said = f"the worker {what} limits.memory_bytes = {limits.memory_bytes:,} and was killed"
        raise Overdue(CellMemoryLimit(said, limit="limits.memory_bytes", wall="rlimits"), final=True)


def weigh(pid: int, limits: Limits) -> None:
    """As Worker.weigh, for a process of a session that is known only by its pid. Raises Overdue."""
    held = held_bytes(lambda name: Path(f"/proc/{pid}/{name}").read_bytes())
    if held is not None:  # it has not ended
        judge(held, limits)
