"""Tables that a model is asked about: read in a process of their own, described, compared and written."""

from rlm_secure.agents.tables.table import Table

__all__ = ["Table"]
