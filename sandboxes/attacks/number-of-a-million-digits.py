"""Leave a number that takes long to print.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

made = 10**4299
made = [made] * 1000
