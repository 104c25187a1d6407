"""Upstream's `rlm.clients.portkey`."""

from rlm_secure.clients.portkey import PortkeyClient

__all__ = ["PortkeyClient"]
