"""The quota of paid sandboxes: counted for the whole process, and reused within one tree of runs.

A sandbox serves one session at a time. It may serve another, with a new worker and nothing of the session before,
in the same tree of runs, with the same options and policy, when nothing in any of its sessions was out of order.
What waits for its next session counts as alive, and makes room for whoever needs it. With its tree it ends.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Final, Generic, Protocol, TypeVar

from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.policy.model import Policy

_log = logging.getLogger("rlm_secure.cloud")

#: Seconds between two looks at whether a tree that waits for a sandbox is to go on at all.
_LOOK_SECONDS: Final = 0.2


class SharedSandboxes:
    """The sandboxes that the runs of one tree may use one after another.

    `check` raises where nothing of the tree is to begin any more.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check
        self.closed = False

    def reserve(self, below: int) -> SandboxReservation:
        """The part of a run, below which there may be `below` levels of runs with sandboxes of their own."""
        return SandboxReservation(self, below)

    def close(self) -> None:
        """End the sandboxes that wait for a session. Idempotent; what is in use ends with its session."""
        self.closed = True
        _end(lease for quota in list(_quotas.values()) for lease in quota.leave(self))


@dataclass(frozen=True, slots=True)
class SandboxReservation:
    """One run's part in the sandboxes of its tree."""

    shared: SharedSandboxes
    below: int


@dataclass(frozen=True, slots=True)
class Use:
    """What a sandbox was made for: only sessions of an equal use may have it, one after another."""

    shared: SharedSandboxes
    options: Mapping[str, Any]
    policy: Policy


class Reusable(Protocol):
    """A sandbox that can wait for its next session."""

    @property
    def use(self) -> Use | None:
        """What it was made for; None where it is for one session only."""
        ...

    @property
    def usable(self) -> bool:
        """Whether another session may have it, as far as is known here."""
        ...

    def close(self) -> None:
        """End it, and give back its part of the quota."""
        ...


K = TypeVar("K", bound=Reusable)


class SandboxQuota(Generic[K]):
    """The sandboxes of one provider in this process: how many live, and which of them wait for a session."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._change = threading.Condition()
        self._taken = 0
        self._idle: list[K] = []

    def take(self, most: int, seconds: float, use: Use | None = None, *, below: int = 0, new: bool = False) -> K | None:
        """A sandbox that waits for a session of `use`, or None and the right to make one; `most` may live.

        A run leaves `below` of them to the runs below it, so that a tree never waits for itself: where `most` is
        enough for that, it waits as long as its tree lasts. Else, and without a `use`, it waits for `seconds`, and
        raises EnvironmentUnavailable then. `new`: none that waits will do. Raises what `check` of the tree raises.
        """
        deadline = time.monotonic() + seconds
        spared = min(below, most - 1)
        patient = use is not None and below < most
        while True:
            with self._change:
                if self._taken - len(self._idle) < most - spared:
                    parting = None if new else self._matching(use)
                    if parting is not None and parting.usable:
                        return parting
                    if parting is None and self._taken < most:
                        self._taken += 1
                        return None
                    parting = parting or self._idle.pop(0)
                else:
                    parting = None
                    if time.monotonic() >= deadline:
                        said = f"{self._taken} {self._name} sandboxes live already (max_live = {most})"
                        if not patient:
                            raise EnvironmentUnavailable(f"{said}; end some, or raise it")
                        _log.warning("%s: a run waits for one of them", said)
                        deadline = float("inf")
                    self._change.wait(_LOOK_SECONDS)
            if parting is not None:
                parting.close()
            if use is not None:
                use.shared.check()

    def give_back(self) -> None:
        """One has ended."""
        with self._change:
            self._taken -= 1
            self._change.notify_all()

    def keep(self, lease: K) -> bool:
        """Have a sandbox wait for its next session. False where none can come."""
        with self._change:
            if lease.use is None or lease.use.shared.closed:
                return False
            self._idle.append(lease)
            self._change.notify_all()
            return True

    def leave(self, shared: SharedSandboxes) -> list[K]:
        """The sandboxes that wait for a session of the tree of `shared`, which wait no more."""
        with self._change:
            leaving = [lease for lease in self._idle if lease.use is not None and lease.use.shared is shared]
            self._idle = [lease for lease in self._idle if lease not in leaving]
            return leaving

    def _matching(self, use: Use | None) -> K | None:
        if use is None:
            return None
        found = next((lease for lease in reversed(self._idle) if lease.use == use), None)
        if found is not None:
            self._idle.remove(found)
        return found


_quotas: dict[str, SandboxQuota[Any]] = {}


def quota_of(name: str) -> SandboxQuota[Any]:
    """The quota of a provider's sandboxes in this process."""
    return _quotas.setdefault(name, SandboxQuota(name))


def _forget() -> None:
    # The sandboxes of a fork's parent are neither this process's to use nor to count.
    _quotas.clear()


os.register_at_fork(after_in_child=_forget)


def _end(leases: Iterable[Reusable]) -> None:
    """End all of them at the same time: each takes a request or two."""
    ending = list(leases)
    if ending:
        with ThreadPoolExecutor(len(ending), thread_name_prefix="rlm_secure-sandboxes") as threads:
            list(threads.map(lambda lease: lease.close(), ending))
