"""Memory bugs of CPython that a cell can use against the language layer, and the releases that fix them.

A cell that exploits one controls the worker like native code: only the operating system's walls still hold. So no
Python is refused; `rlm-secure doctor` says which one is better. Only bugs that no guard closes are listed. The guest
closes others on every version: reentrant next() of itertools, a UnicodeError's text and `__init__`, `date.replace`,
`ctime`, a bytearray that is emptied while `%`, `find`, `hex` or `b[i] = x` uses its memory (gh-142557, gh-142560), a
deque that is emptied while `index` compares (gh-115243), an OrderedDict that is changed while it is compared, copied or
shown, or changed by methods of dict, methods in C that are called without an object (gh-131998), the replaced value of
a class attribute (gh-118492), results of methods of the arguments of `list[x]`, the current context of decimal
(gh-148382), `reversed` of a dict (gh-154709), and a TypeVar whose name is passed as a keyword (gh-118814).
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import NamedTuple

_VERSION = re.compile(r"3\.([0-9]{1,3})\.([0-9]{1,3})")


#: Stands for the release that fixes a bug, where that minor version of Python will get none.
NEVER = 1000


class MemoryBug(NamedTuple):
    """One bug: its issue, the first fixed patch release (or NEVER) of each minor version of Python 3, its effect."""

    issue: str
    fixed: Mapping[int, int]
    opens: str


MEMORY_BUGS = (
    MemoryBug(
        "gh-120384",
        {11: 15, 12: 5, 13: 0},
        "`a[::2] = x`, where iterating over x shortens a, writes pointers past the end of the list",
    ),
    MemoryBug(
        "gh-120298",
        {11: 15, 12: 5, 13: 0},
        "`[a] < [b]`, where `a < b` empties the list, goes on with the freed object",
    ),
    MemoryBug(
        "gh-133767 (CVE-2025-4516)",
        {11: 13, 12: 11, 13: 4},
        "decoding unicode_escape with an error handler reads a freed byte",
    ),
    MemoryBug(
        "gh-140551",
        {11: NEVER, 12: NEVER, 13: 10},
        "a dict that the `==` of a key empties while another is put in takes that one for text",
    ),
    MemoryBug(
        "gh-141805",
        {11: NEVER, 12: NEVER, 13: 12},
        "a set to which the `==` of a key adds another counts one too many, and is emptied past its end",
    ),
)


def memory_bugs(version: str) -> tuple[MemoryBug, ...]:
    """The bugs of the Python `version`, such as "3.11.7"; empty where it does not begin like a version."""
    found = _VERSION.match(version)
    if found is None:
        return ()
    minor, patch = map(int, found.groups())
    return tuple(bug for bug in MEMORY_BUGS if patch < bug.fixed.get(minor, 0))


def without_them(version: str) -> str:
    """The first release that has none of the bugs, of the same minor version of Python or of the next that has one.

    "3.13.0" gives "3.13.12".
    """
    minor = int(version.split(".")[1])
    while (patch := max(bug.fixed.get(minor, 0) for bug in MEMORY_BUGS)) == NEVER:
        minor += 1
    return f"3.{minor}.{patch}"
