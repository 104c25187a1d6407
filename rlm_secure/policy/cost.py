"""Whether the cost of a run is bounded by its policy alone, whatever its models are."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from rlm_secure.guarantees import Level
from rlm_secure.policy import shipped
from rlm_secure.resources import policy_names

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy


def chosen(policy: Policy) -> bool:
    """Whether the user chose the policy's cost limit: the limits of shipped policies are not meant for a given run."""
    return policy.lm.cost_usd not in _shipped()


def bounded(policy: Policy) -> Level:
    """How far spend is bounded. Calls and tokens always are; cost only if a model with an unknown price is refused.

    Otherwise such a run continues, and its completion says `bounded-spend: partial`.
    """
    return Level.FULL if chosen(policy) and not policy.lm.unpriced else Level.PARTIAL


@functools.cache
def _shipped() -> frozenset[float]:
    return frozenset(shipped.policy(name).lm.cost_usd for name in policy_names())
