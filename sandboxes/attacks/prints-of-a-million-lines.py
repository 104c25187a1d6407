"""Print many short lines.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
"""

for number in range(300_000):
    print(number)
