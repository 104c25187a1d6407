"""Raise an exception that is its own cause, for whoever walks the chain.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

class Made(BaseException):
    pass

error = Made()
error.__cause__ = error
raise error
