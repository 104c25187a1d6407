"""Upstream's `rlm.logger.rlm_logger`."""

from rlm_secure.logger import RLMLogger

__all__ = ["RLMLogger"]
