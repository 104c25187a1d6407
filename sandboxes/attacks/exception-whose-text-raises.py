"""Raise an exception whose text cannot be built.

guarantee: host-integrity
layer: both
wins: breaks
"""

class Made(Exception):
    def __str__(self):
        raise SystemExit(9)

raise Made
