"""Upstream's `rlm.clients.base_lm`."""

from rlm_secure.clients.base import DEFAULT_TIMEOUT, BaseLM

__all__ = ["DEFAULT_TIMEOUT", "BaseLM"]
