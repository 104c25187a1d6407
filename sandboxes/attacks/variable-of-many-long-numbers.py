"""Leave a list of numbers that is four megabytes of digits as text.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
needs: variables
"""

made = 10**4299
made = [made] * 1000
