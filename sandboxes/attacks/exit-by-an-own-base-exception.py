"""Raise a BaseException of its own.

guarantee: host-integrity
layer: both
wins: breaks
"""

class Made(BaseException):
    pass

raise Made
