"""The type of the gate's decisions, for errors that carry one: they may not import the gate, which is above them."""

from __future__ import annotations

from typing import Protocol


class Decided(Protocol):
    """One decision of the gate; `rlm_secure.policy.Decision` is the only implementation."""

    @property
    def allowed(self) -> bool:
        """Whether the action is allowed."""
        ...

    @property
    def rule(self) -> str:
        """The id of the rule that decided."""
        ...

    @property
    def reason(self) -> str:
        """One sentence that ends with what to do; empty where `allowed`."""
        ...
