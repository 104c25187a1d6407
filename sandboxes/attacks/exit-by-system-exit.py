"""Exit.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

raise SystemExit(9)
