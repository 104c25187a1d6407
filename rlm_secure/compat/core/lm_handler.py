"""Upstream's `rlm.core.lm_handler`. `LMHandler.address` is the handler itself: there is no TCP port."""

from rlm_secure.rlm.handler import LMHandler

__all__ = ["LMHandler"]
