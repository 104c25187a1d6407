"""Never end inside C, where no bytecode runs.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

print(sum(range(10**12)))
