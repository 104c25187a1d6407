"""Upstream's `rlm.logger`."""

from rlm_secure.logger import RLMLogger, VerbosePrinter

__all__ = ["RLMLogger", "VerbosePrinter"]
