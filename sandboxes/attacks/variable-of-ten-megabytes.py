"""Leave a variable of ten megabytes.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
needs: variables
"""

made = "x" * 10_000_000
