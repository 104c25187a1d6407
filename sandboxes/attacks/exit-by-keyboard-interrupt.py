"""Raise KeyboardInterrupt, which a worker may take for its own.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

raise KeyboardInterrupt
