"""Exit with the builtin.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

exit(9)
