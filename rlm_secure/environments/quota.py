"""The quota of paid sandboxes: counted for the whole process, and reused within one tree of runs.

A sandbox serves one session at a time. It may serve another one of the same tree of runs, with the same options and
policy, with a new worker and nothing of the session before, if nothing went wrong in any of its sessions. An idle
sandbox counts as alive, is ended when another one needs its place, and ends with its tree.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from rlm_secure.errors import EnvironmentUnavailable

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy

_log = logging.getLogger("rlm_secure.cloud")

#: Seconds between two checks whether a tree that waits for a sandbox has been stopped.
_LOOK_SECONDS: Final = 0.2


class SharedSandboxes:
    """The sandboxes that the runs of one tree may use one after another.

    `check` raises when the tree must not start anything more.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check
        self.closed = False

    def reserve(self, below: int) -> SandboxReservation:
        """The reservation of a run that may have `below` levels of child runs with sandboxes of their own."""
        return SandboxReservation(self, below)

    def close(self) -> None:
        """End the idle sandboxes. Idempotent; a sandbox in use ends with its session."""
        self.closed = True
        _end(lease for quota in list(_quotas.values()) for lease in quota.leave(self))


@dataclass(frozen=True, slots=True)
class SandboxReservation:
    """One run's share of the sandboxes of its tree."""

    shared: SharedSandboxes
    below: int


@dataclass(frozen=True, slots=True)
class Use:
    """What a sandbox was made for: only sessions with an equal Use may have it, one after another."""

    shared: SharedSandboxes
    options: Mapping[str, Any]
    policy: Policy


class Reusable(Protocol):
    """A sandbox that can be kept for another session."""

    @property
    def use(self) -> Use | None:
        """What it was made for; None if it is for one session only."""
        ...

    @property
    def usable(self) -> bool:
        """Whether another session may have it, as far as this process knows."""
        ...

    def close(self) -> None:
        """End it, and release its part of the quota."""
        ...


K = TypeVar("K", bound=Reusable)


class SandboxQuota(Generic[K]):
    """The sandboxes of one provider in this process: how many are alive, and which of them are idle."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._change = threading.Condition()
        self._taken = 0
        self._idle: list[K] = []

    def take(self, most: int, seconds: float, use: Use | None = None, *, below: int = 0, new: bool = False) -> K | None:
        """An idle sandbox for a session of `use`, or None and the right to make one; at most `most` may be alive.

        A run leaves `below` of them to the runs below it, so that a tree never waits for itself. If `most` is enough
        for that, it waits as long as its tree lasts; otherwise, or without a `use`, it raises EnvironmentUnavailable
        after `seconds`. `new`: never take an idle one. Raises what `check` of the tree raises.
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
        """Count one less: a sandbox has ended."""
        with self._change:
            self._taken -= 1
            self._change.notify_all()

    def keep(self, lease: K) -> bool:
        """Keep an idle sandbox for another session. Returns False if there can be none."""
        with self._change:
            if lease.use is None or lease.use.shared.closed:
                return False
            self._idle.append(lease)
            self._change.notify_all()
            return True

    def leave(self, shared: SharedSandboxes) -> list[K]:
        """Remove the idle sandboxes of the tree of `shared`, and return them."""
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
    # A forked child must neither use nor count its parent's sandboxes.
    _quotas.clear()


os.register_at_fork(after_in_child=_forget)


def _end(leases: Iterable[Reusable]) -> None:
    """End all of them at the same time: each takes a request or two."""
    ending = list(leases)
    if ending:
        with ThreadPoolExecutor(len(ending), thread_name_prefix="rlm_secure-sandboxes") as threads:
            list(threads.map(lambda lease: lease.close(), ending))
