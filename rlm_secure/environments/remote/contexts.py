"""The contexts that a sandbox holds for a session: sent, kept for as long as a log may need them, then dropped.

A context is a descriptor of the supervisor, and memory of the sandbox for as long as the supervisor or the worker has
it. A supervisor keeps those that the session's log would need to be run again, and no other; what a worker has is what
its names were bound to last. Room is made for both together, so that what takes the place of another takes its room.

Guards: how many contexts a sandbox holds at once, and how much memory it is given for them
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from rlm_secure.broker.client import Declined, Lost
from rlm_secure.environments.remote.lease import Lease

_PAGE: Final = 4096
#: For all that is dropped at a time: what is left then waits for the next.
_DROP_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, eq=False)
class Upload:
    """One context at the supervisor. `number` names it there, as long as it is kept; `size` is in bytes."""

    number: int
    size: int


class Contexts:
    """The contexts of one session in the sandbox of `lease`. Not thread-safe: the session's turn is needed."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._held: dict[int, Upload] = {}
        self._bound: dict[str, Upload] = {}

    def send(self, data: memoryview, *, seconds: float) -> Upload:
        """Send a context. Raises Lost, Declined, and what the lease raises where there is no room for it."""
        number = next(each for each in itertools.count() if each not in self._held)
        upload = Upload(number, data.nbytes)
        self._lease.make_room(sum(-each.size % _PAGE + each.size for each in {*self._all(), upload}))
        self._held[number] = upload  # from its first chunk on
        self._lease.client.upload(number, data, seconds=seconds)
        return upload

    def bind(self, name: str, upload: Upload) -> None:
        """The worker has loaded it by this name, and dropped what it had by that name."""
        self._bound[name] = upload

    def keep(self, needed: Iterable[object]) -> None:
        """Drop all that is not among `needed`. What cannot be dropped keeps its number, and is tried the next time."""
        kept = set(needed)
        until = time.monotonic() + _DROP_SECONDS
        for number, upload in list(self._held.items()):
            if upload in kept:
                continue
            try:
                self._lease.client.drop(number, seconds=until - time.monotonic())
            except (Lost, Declined):
                return
            del self._held[number]

    def _all(self) -> set[Upload]:
        return {*self._held.values(), *self._bound.values()}
