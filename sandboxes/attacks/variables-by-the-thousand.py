"""Leave a large table in a variable.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
needs: variables
"""

made = {str(number): "x" * 100 for number in range(50_000)}
