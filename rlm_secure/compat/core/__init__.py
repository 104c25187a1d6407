"""Upstream's `rlm.core`."""

from rlm_secure.compat.core import comms_utils, lm_handler, rlm, types

__all__ = ["comms_utils", "lm_handler", "rlm", "types"]
