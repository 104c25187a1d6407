"""Upstream's `rlm.logger.verbose`."""

from rlm_secure.logger import VerbosePrinter

__all__ = ["VerbosePrinter"]
