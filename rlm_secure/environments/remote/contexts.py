"""The contexts that a sandbox holds for a session: sent, kept while a replay of the log may need them, then dropped.

A context is a file descriptor of the supervisor, and uses memory of the sandbox while the supervisor or the worker
holds it. The supervisor keeps only those that a replay of the session's log would need; the worker holds what its
names were bound to last. Memory is requested for both together, so that a replaced context frees its share.

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
#: Most seconds for one round of drops; what is left waits for the next round.
_DROP_SECONDS: Final = 10.0


@dataclass(slots=True, eq=False)
class Upload:
    """One context at the supervisor. `number` identifies it while it is kept; `size` is in bytes.

    `data` are its bytes, for another sandbox; `payload` is what they are a view of. Both go when no replay needs them.
    """

    number: int
    size: int
    data: memoryview
    payload: object

    def forget(self) -> None:
        """Let go of the bytes: no replay needs them."""
        self.data, self.payload = memoryview(b""), None


class Contexts:
    """The contexts of one session in the sandbox of `lease`. Not thread-safe: the caller has the session's turn."""

    def __init__(self, lease: Lease) -> None:
        self._lease = lease
        self._held: dict[int, Upload] = {}
        self._bound: dict[str, Upload] = {}

    def __contains__(self, upload: object) -> bool:
        """Whether the sandbox holds it."""
        return upload in self._held.values()

    def send(self, data: memoryview, payload: object, *, seconds: float) -> Upload:
        """Send a context, in `seconds` and the time that its bytes take on a slow network.

        Raises Lost, Declined, and what the lease raises when there is no memory for it.
        """
        number = next(each for each in itertools.count() if each not in self._held)
        upload = Upload(number, data.nbytes, data, payload)
        self._lease.make_room(sum(-each.size % _PAGE + each.size for each in {*self._all(), upload}))
        self._held[number] = upload  # it uses memory from its first chunk on
        self._lease.client.upload(number, data, seconds=seconds, stored=self._lease.stored(data))
        return upload

    def bind(self, name: str, upload: Upload) -> None:
        """Record that the worker has bound `name` to it, and dropped what `name` was bound to."""
        self._bound[name] = upload

    def keep(self, needed: Iterable[object]) -> None:
        """Drop all except `needed`. One that cannot be dropped keeps its number, and is retried the next time."""
        kept = set(needed)
        until = time.monotonic() + _DROP_SECONDS
        for number, upload in list(self._held.items()):
            if upload in kept:
                continue
            upload.forget()
            try:
                self._lease.client.drop(number, seconds=until - time.monotonic())
            except (Lost, Declined):
                return
            del self._held[number]

    def forget(self) -> None:
        """Let go of the bytes of all: nothing will be replayed."""
        for upload in self._all():
            upload.forget()

    def _all(self) -> set[Upload]:
        return {*self._held.values(), *self._bound.values()}
