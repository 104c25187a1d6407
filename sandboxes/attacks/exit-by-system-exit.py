"""Exit.

guarantee: host-integrity
layer: both
wins: breaks
"""

raise SystemExit(9)
