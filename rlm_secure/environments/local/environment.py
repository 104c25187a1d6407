"""The local environment: sealed worker processes on this machine, the only walls that we build ourselves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rlm_secure.environments.interface import Environment, Session
from rlm_secure.environments.local import machine

if TYPE_CHECKING:
    from rlm_secure.policy.model import Policy


class LocalEnvironment(Environment):
    """Sessions in processes of their own: namespaces, empty root, Landlock, seccomp, rlimits."""

    name = "local"

    def open(self, policy: Policy, *, tools: Mapping[str, str] | None = None) -> Session:
        """Start a sealed session. See Environment.open."""
        machine.require()
        from rlm_secure.environments.local.session import open_session  # cannot be imported where that raises

        return open_session(policy, tools=tools)
