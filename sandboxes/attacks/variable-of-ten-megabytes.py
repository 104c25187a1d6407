"""Leave a variable of ten megabytes.

guarantee: bounded-output
layer: both
wins: floods
"""

made = "x" * 10_000_000
