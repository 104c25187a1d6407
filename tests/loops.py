"""What the tests of the loop share: an RLM that plays a script, and a listener that keeps what it hears."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from rlm_secure.events import Event
from rlm_secure.policy.model import LM, Policy
from rlm_secure.rlm.rlm import RLM

E = TypeVar("E", bound=Event)


def cell(code: str) -> str:
    """A reply with one cell."""
    return f"```repl\n{code}\n```"


def scripted(turns: Any, replies: Any = None, *, child_turns: Any = None, delay: float = 0.0, **kwargs: Any) -> RLM:
    """An RLM whose model plays `turns`; everything else as given."""
    script: dict[str, Any] = {"turns": turns, "replies": replies, "child_turns": child_turns, "delay": delay}
    script |= kwargs.pop("backend_kwargs", {})
    return RLM(backend="scripted", backend_kwargs=script, **kwargs)


def limited(**lm: Any) -> Policy:
    """The strict policy with other `lm` keys."""
    return Policy(name="test", lm=LM(**lm))


class Heard(list[Event]):
    """A listener."""

    def __call__(self, event: Event) -> None:
        self.append(event)

    def of(self, kind: type[E]) -> list[E]:
        """The events of one kind."""
        return [event for event in self if isinstance(event, kind)]

    def names(self, kinds: Sequence[type[Event]] = ()) -> list[str]:
        """Names of the events, or of those of `kinds`."""
        return [type(event).__name__ for event in self if not kinds or isinstance(event, tuple(kinds))]
