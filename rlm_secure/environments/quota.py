"""The quota of paid sandboxes: counted for each account in the whole process, and reused within one tree of runs.

A sandbox serves one session at a time. It may serve another one of the same tree of runs, with the same options and
policy, with a new worker and nothing of the session before, if nothing went wrong in any of its sessions. An idle
sandbox counts as alive, is ended when another one needs its place, and ends with its tree.

A provider that refuses one more, by its own quota or rate limit, lowers how many may be alive to those that are. When
one ends, its place is free; otherwise one more is tried after a pause, which grows with each refusal.
"""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final, Generic, Protocol, TypeVar

from rlm_secure.errors import EnvironmentUnavailable
from rlm_secure.forks import at_fork
from rlm_secure.loggers import logger

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy

_log = logger("rlm_secure.cloud")

#: Seconds between two checks whether a tree that waits for a sandbox has been stopped.
_LOOK_SECONDS: Final = 0.2
#: The first and the longest pause after which a provider that refused a sandbox is asked again, in seconds.
_FIRST_PAUSE: Final = 0.5
_LONGEST_PAUSE: Final = 15.0
#: The longest time that a provider may ask to wait.
_LONGEST_ASKED: Final = 300.0


class SharedSandboxes:
    """The sandboxes that the runs of one tree may use one after another.

    `check` raises when the tree must not start anything more.
    """

    def __init__(self, check: Callable[[], None]) -> None:
        self.check = check
        self.closed = False
        self.levels = 0
        """The most levels of child runs below a run of the tree: below its first one."""

    def reserve(self, below: int) -> SandboxReservation:
        """The reservation of a run that may have `below` levels of child runs with sandboxes of their own."""
        self.levels = max(self.levels, below)
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
    """The sandboxes of one account in this process: how many are alive, and which of them are idle."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._change = threading.Condition()
        self._taken = 0
        self._idle: list[K] = []
        self._room: int | None = None  # how many the provider lets live, since it has refused one more
        self._said = ""  # what it said then
        self._try_at = 0.0  # when one more is tried
        self._pause = 0.0
        self._refused_at = self._refused_since = 0.0

    def take(
        self,
        most: int,
        seconds: float,
        use: Use | None = None,
        *,
        below: int = 0,
        new: bool = False,
        create_seconds: float = 0.0,
        check: Callable[[], None] = lambda: None,
    ) -> K | None:
        """An idle sandbox for a session of `use`, or None and the right to make one; at most `most` may be alive.

        A run leaves `below` of them to the runs below it, so that a tree never waits for itself. If `most` is enough
        for that, it waits as long as its tree lasts; otherwise, or without a `use`, it raises EnvironmentUnavailable
        after `seconds`. While the provider refuses more, it waits at least `create_seconds`; then it only goes on if
        some are alive, and it is a first run of its tree: a child's parent may hold what it waits for.
        `new`: never take an idle one. Raises what `check`, and that of the tree, raise.
        """
        began = time.monotonic()
        patient = use is not None and below < most
        told = False
        while True:
            check()
            with self._change:
                now = time.monotonic()
                limit = most if self._room is None else min(most, self._room)
                trial = limit < most and now >= self._try_at
                limit = min(most, self._taken + 1) if trial else limit
                if self._taken - len(self._idle) < limit - min(below, most - 1, max(limit - 1, 0)):
                    parting = None if new else self._matching(use)
                    if parting is not None and parting.usable:
                        return parting
                    if parting is None and self._taken < limit:
                        self._taken += 1
                        if trial:
                            self._try_at = now + self._pause
                        return None
                    parting = parting or self._idle.pop(0)
                else:
                    parting = None
                    if limit < most:
                        waits = patient and use is not None and below == use.shared.levels and self._taken > 0
                        since = max(began, self._refused_since) if patient else began
                        over = not waits and now - since >= max(seconds, create_seconds)
                        said = f"{self._name} gave no sandbox: {self._said}; {self._taken} live already"
                    else:
                        waits, over = patient, now - began >= seconds
                        said = f"{self._taken} {self._name} sandboxes live already (max_live = {most})"
                        over, said = over and not waits, said if waits else f"{said}; end some, or raise it"
                    if over:
                        raise EnvironmentUnavailable(said)
                    if waits and not told and now - began >= seconds:
                        told = True
                        _log.warning("%s: a run waits for one of them", said)
                    self._change.wait(_LOOK_SECONDS)
            if parting is not None:
                parting.close()
            if use is not None:
                use.shared.check()

    def refused(self, said: str, seconds: float, since: float) -> None:
        """The provider refused one more sandbox, which was asked for at `since` (time.monotonic()), with the words
        `said`, and asks to wait for `seconds`; 0 if it does not say. Called after `give_back`."""
        with self._change:
            now = time.monotonic()
            if self._room is None or not self._refused_since:
                self._refused_since = now
            if since >= self._refused_at:  # others that were asked for at the same time lengthen no pause
                self._pause = min(2 * self._pause or _FIRST_PAUSE, _LONGEST_PAUSE)
            self._refused_at, self._said = now, said
            self._room = self._taken
            wait = max(min(seconds, _LONGEST_ASKED), self._pause) * random.uniform(1.0, 1.5)  # noqa: S311 - spreads them
            self._try_at = max(self._try_at if seconds else 0.0, now + wait)

    def made(self) -> None:
        """The provider gave a sandbox."""
        with self._change:
            self._refused_since = 0.0
            if self._room is not None and self._taken > self._room:  # otherwise it took the place of one that ended
                self._room, self._try_at, self._pause = self._taken, 0.0, 0.0  # so perhaps it gives another
            self._change.notify_all()

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


_quotas: dict[tuple[str, str], SandboxQuota[Any]] = {}


def quota_of(name: str, account: str = "") -> SandboxQuota[Any]:
    """The quota of an account's sandboxes in this process; `name` is the environment's."""
    return _quotas.setdefault((name, account), SandboxQuota(name))


def _forget() -> None:
    # A forked child must neither use nor count its parent's sandboxes.
    _quotas.clear()


at_fork(after_in_child=_forget)


def _end(leases: Iterable[Reusable]) -> None:
    """End all of them at the same time: each takes a request or two."""
    ending = list(leases)
    if ending:
        with ThreadPoolExecutor(len(ending), thread_name_prefix="rlm_secure-sandboxes") as threads:
            list(threads.map(lambda lease: lease.close(), ending))
