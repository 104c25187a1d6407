"""Never end inside C, where no bytecode runs.

guarantee: bounded-time
layer: both
wins: outlasts
"""

print(sum(range(10**12)))
