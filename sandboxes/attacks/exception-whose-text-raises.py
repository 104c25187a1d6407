"""Raise an exception whose text cannot be built.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

class Made(Exception):
    def __str__(self):
        raise SystemExit(9)

raise Made
