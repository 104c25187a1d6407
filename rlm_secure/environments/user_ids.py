"""The user ids that a root host gives to workers, which no user has now or will get.

Ids that are assigned elsewhere, all below 2**31, the limit of tools that read an id as a signed number:

- 0 to 60,000 by distributions, 60,001 to 65,519 by systemd (systemd.io/UIDS-GIDS)
- 100,000 to 600,100,000 by useradd, as subordinate ids of users (login.defs(5), SUB_UID_MIN and SUB_UID_MAX)
- 200,000 to 2,000,200,000 by SSSD to the users of a directory (sssd-ldap(5), ldap_idmap_range_min and _max)
- 524,288 to 1,879,048,191 by systemd to containers, 1,000,000,000 to 1,999,999,999 by OpenShift to projects
- 2,001,000,000 to 2,145,179,199 by this package to arenas
- 2,147,352,576 to 2,147,418,111 by systemd to files of foreign systems

Our range is between the last two. It is not configurable: a worker never leaves anything on a disk, so no id has to be
known elsewhere. A process assigns ids in sequence from a random start: it repeats none before it has used all, and
rarely assigns one that another process uses.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator
from typing import Final

from rlm_secure.forks import at_fork

FIRST: Final = 2_146_000_000
COUNT: Final = 1_000_000


def unused(first: int = FIRST, count: int = COUNT) -> int:
    """An unused user id and group id, a different one for each call. It is even, and the id after it is unused too."""
    return first + 2 * (next(_given) % (count // 2))


def _begin() -> Iterator[int]:
    return itertools.count(random.SystemRandom().randrange(COUNT))


_given = _begin()


def _forget() -> None:
    """Give a forked child a start of its own: its parent will assign the next ids."""
    global _given
    _given = _begin()


at_fork(after_in_child=_forget)
