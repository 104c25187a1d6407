"""Raise a BaseException of its own.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

class Made(BaseException):
    pass

raise Made
