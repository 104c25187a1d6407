"""Puppets: sessions that do what a test says, for what judges sessions. Nothing is attacked with them."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any

from rlm_secure.guarantees import EnforcementReport, Guarantee
from rlm_secure.testing import judge
from rlm_secure.testing.corpus import Attack, Excuse, Harm, Layer, Need, Win
from rlm_secure.testing.target import Target
from rlm_secure.testing.verdict import Verdict
from rlm_secure.types import REPLResult

POLICY = judge.policy("strict")
#: What a cell does: it is given what the attack knows, and returns what was printed, or more.
Act = Callable[[dict[str, Any]], Any]


class Puppet:
    """A session whose cells do what `acts` say."""

    def __init__(self, acts: tuple[Act, ...], environment: str = "local") -> None:
        self.report = EnforcementReport(environment, ())
        self._acts = list(acts)
        self.ran: list[str] = []

    def run(self, code: str, timeout: float | None = None) -> REPLResult:
        if code.startswith("TARGET = "):
            self._known = json.loads(code.splitlines()[0].removeprefix("TARGET = "))
            return REPLResult("", "", {})
        if code == "print(6 * 7)":
            return REPLResult("42\n", "", {})
        self.ran.append(code)
        said = self._acts.pop(0)(self._known)
        return said if isinstance(said, REPLResult) else REPLResult(said or "", "", {})

    def close(self) -> None:
        pass


class Weighed(Puppet):
    """A puppet of somebody else's: it is looked at from outside."""

    held, wrote, busy = 0, "", 0.0

    def spilled(self) -> str:
        return self.wrote

    def held_bytes(self) -> int:
        return self.held if self.ran else 0

    def forget_peak(self) -> None:
        pass

    def busy_seconds(self) -> float:
        return self.busy * time.monotonic()


class Trial:
    """Runs attacks beside one target. `opened` are the sessions of the last one."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self.opened: list[Any] = []

    def __call__(
        self,
        *acts: Act,
        wins: Win = Win.REVEALS,
        guarantee: Guarantee = Guarantee.NO_HOST_FILES,
        kind: Callable[..., Any] = Puppet,
        environment: str = "local",
        policy: judge.Policy = POLICY,
        layer: Layer = Layer.BOTH,
        needs: frozenset[Need] = frozenset(),
        excuse: Excuse = Excuse.NOTHING,
        restarts: Callable[[Callable[[], Any]], Callable[[], Any]] = lambda open_session: open_session,
        **options: bool,
    ) -> Verdict:
        self.opened = []

        def open_session() -> Any:
            self.opened.append(kind(acts, environment))
            return self.opened[-1]

        cells = ("x = 1",) * len(acts)
        attack = Attack("any", "Any.", guarantee, layer, wins, Harm.HARMLESS, cells, needs, excuse=excuse)
        return judge.attempt(attack, restarts(open_session), self._target, policy, **options)


# These two take whatever they are given: they also stand for a session's `run`, or for what opens one.
def says(stdout: str = "", stderr: str = "", locals: Any = None, **more: Any) -> Act:  # noqa: A002 - as REPLResult names it
    return lambda *given: REPLResult(stdout, stderr, locals or {}, **more)


def raises(error: BaseException) -> Act:
    def act(*given: object) -> None:
        raise error

    return act
