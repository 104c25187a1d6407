"""Leave a number that takes long to print.

guarantee: bounded-output
layer: both
wins: floods
"""

made = 10**4299
made = [made] * 100
