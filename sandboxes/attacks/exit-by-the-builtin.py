"""Exit with the builtin.

guarantee: host-integrity
layer: both
wins: breaks
"""

exit(9)
