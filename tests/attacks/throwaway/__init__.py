"""A throwaway world: a whole machine, as an attack sees it, that may be destroyed by it as root. Needs an arena.

It has every namespace of its own, within the arena's: users, mounts, processes, network, IPC, names, cgroups. Its first
process looks at it before and after each attack; the attack runs in a process of its own. When one has changed the
world, the next gets a new one.
"""

from __future__ import annotations

import itertools
import json
import os
import queue
import select
import subprocess
import sys
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Self

from rlm_secure.testing.arena import build as arenas
from rlm_secure.testing.corpus import Attack, Harm
from tests.attacks.throwaway.build import ROOT
from tests.attacks.throwaway.manifest import Kind

#: Attacks that are to hang do; the others would be seen to hang after this many seconds.
_SECONDS = {Harm.OWN_TREE: 0.5}
_MOST_SECONDS = 60.0
#: For all that is done besides the attack, on a busy machine.
_PATIENCE = 60.0
#: Most of an attack's time it waits.
_WORLDS = 4
#: How many users a world has, and the number of the next one.
_USERS = 1000
_worlds = itertools.cycle(range(1, 60))


@dataclass(frozen=True)
class Outcome:
    """What an attack did. `ended` is session.run's, `mounted` what lay on its target, `cleaned` what was not as before
    after the target had been cleaned up. A world that is `spoiled` is gone."""

    ended: str
    said: str
    changes: tuple[tuple[Kind, str], ...]
    mounted: tuple[str, ...]
    cleaned: tuple[tuple[Kind, str], ...]
    spoiled: bool


class World:
    """A context manager: leaving it kills the world as a whole."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", __name__], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        try:
            assert "unshared" in self._hear()
            arenas._map(self._process.pid, *_users(), groups=os.getuid() == 0)
            self._tell({})
        except BaseException:
            self.close()
            raise

    def attempt(self, cells: Sequence[str], seconds: float, *, cleaned: str = "by reset") -> Outcome:
        """Run an attack and say what it did; the target is then `cleaned` "by reset", "by close" or "by rmtree".

        Raises RuntimeError when the world did not survive it.
        """
        self._tell({"cells": cells, "seconds": seconds, "cleaned": cleaned})
        heard = self._hear(seconds)
        for name in ("changes", "cleaned"):
            heard[name] = tuple((Kind(kind), text) for kind, text in heard[name])
        return Outcome(**{**heard, "mounted": tuple(heard["mounted"])})

    def close(self) -> None:
        """Kill everything in it."""
        self._process.kill()  # and with it the first process of the world, and with that everything
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            assert pipe is not None
            pipe.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, tb: TracebackType | None
    ) -> None:
        self.close()

    def _tell(self, message: dict[str, Any]) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message).encode("ascii") + b"\n")
        self._process.stdin.flush()

    def _hear(self, seconds: float = 0.0) -> dict[str, Any]:
        assert self._process.stdout is not None
        if not select.select([self._process.stdout], [], [], seconds + _PATIENCE)[0]:
            raise RuntimeError("the throwaway world does not answer")
        line = self._process.stdout.readline()
        if not line:
            raise RuntimeError(f"the throwaway world has ended with status {self._process.wait()}")
        return json.loads(line)  # type: ignore[no-any-return]


def _users() -> tuple[str, str]:
    """What to map into a new world. Each has users of its own: it neither sees the others' keys nor spends their limits.

    Only who is outside a user namespace may map more than itself into it, and only root may map others.
    """
    if os.getuid() != 0:
        return f"0 {os.getuid()} 1", f"0 {os.getgid()} 1"
    first = _USERS * next(_worlds)
    whole = f"0 {first} {_USERS - 1}\n65534 {first + _USERS - 1} 1"
    return whole, whole


def battle(attacks: Iterable[Attack]) -> dict[str, Outcome]:
    """What each attack did, by its name. Attacks that hang come first: they wait side by side."""
    waiting: queue.SimpleQueue[Attack] = queue.SimpleQueue()
    for attack in sorted(attacks, key=lambda attack: attack.harm is not Harm.OWN_TREE):
        waiting.put(attack)
    found: dict[str, Outcome] = {}

    def work() -> None:
        while not waiting.empty():
            with World() as world:
                _until_spoiled(world, waiting, found)

    with ThreadPoolExecutor(_WORLDS) as pool:
        for done in [pool.submit(work) for _ in range(_WORLDS)]:
            done.result()
    return found


def _until_spoiled(world: World, waiting: queue.SimpleQueue[Attack], found: dict[str, Outcome]) -> None:
    spoiled = False
    while not spoiled:
        try:
            attack = waiting.get_nowait()
        except queue.Empty:
            return
        try:
            outcome = world.attempt(attack.cells, _SECONDS.get(attack.harm, _MOST_SECONDS))
        except (RuntimeError, BrokenPipeError) as error:  # that is what it did
            outcome = Outcome("unknown", "", ((Kind.PROCESSES, str(error)),), (), (), True)
        found[attack.name] = outcome
        spoiled = outcome.spoiled
