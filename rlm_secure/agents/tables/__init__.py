"""Tables that a model is asked about: read in a process of their own, described, compared and written."""

from rlm_secure.agents.tables.diff import CellChange, TableDiff, diff
from rlm_secure.agents.tables.table import Table
from rlm_secure.agents.tables.write import write

read = Table.read

__all__ = ["CellChange", "Table", "TableDiff", "diff", "read", "write"]
