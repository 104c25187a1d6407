"""Print many short lines.

guarantee: bounded-output
layer: both
wins: floods
"""

for number in range(300_000):
    print(number)
