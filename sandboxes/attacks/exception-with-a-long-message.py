"""Raise an exception with a message of ten megabytes.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

raise ValueError("x" * 10_000_000)
