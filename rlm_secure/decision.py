"""What a "no" says of itself, for the errors that carry one: the gate, which says it, is above them."""

from __future__ import annotations

from typing import Protocol


class Decided(Protocol):
    """One answer of the gate; `rlm_secure.policy.Decision` is the only one."""

    @property
    def allowed(self) -> bool:
        """Whether it may happen."""

    @property
    def rule(self) -> str:
        """The id of the rule that decided."""

    @property
    def reason(self) -> str:
        """One sentence that ends with what to do; empty where `allowed`."""
