"""Sessions in sandboxes that are reached through the broker protocol."""

from __future__ import annotations

from rlm_secure.environments.remote.lease import Lease, log_refusals, start_configuration
from rlm_secure.environments.remote.session import RemoteSession

__all__ = ["Lease", "RemoteSession", "log_refusals", "start_configuration"]
