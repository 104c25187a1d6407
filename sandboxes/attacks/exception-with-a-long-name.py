"""Raise an exception whose class has a name of five megabytes.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

class Made(Exception):
    pass

Made.__name__ = Made.__qualname__ = "x" * 5_000_000
raise Made
