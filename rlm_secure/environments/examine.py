"""Which walls an environment has here, found by opening a session in it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rlm_secure.environments import registry
from rlm_secure.registry import ENVIRONMENTS

if TYPE_CHECKING:
    from rlm_secure.guarantees import EnforcementReport, Wall
    from rlm_secure.policy import Policy


def examined(
    name: str, policy: Policy, options: Mapping[str, Any] | None = None
) -> tuple[EnforcementReport, tuple[Wall, ...]]:
    """The report of a session that is opened and closed, and the walls that the policy requires there.

    A wall that cannot be built is in the report, and does not refuse the session, which runs nothing. Raises
    EnvironmentUnavailable or MissingExtra where there is no such environment.
    """
    looking = policy.model_copy(update={"isolation": policy.isolation.requiring_nothing(name)})
    environment = registry.create_environment(name, **dict(options or {}))
    own = () if name in ENVIRONMENTS else environment.required_walls
    with environment.open(looking) as session:
        return session.report, policy.isolation.required(name, own)
