"""Print past any cap, and never end.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

for _ in range(500_000):
    print("x" * 1000)
while True:
    pass
