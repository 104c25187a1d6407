"""Leave deep data for whoever describes variables.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
needs: variables
"""

made = ()
for _ in range(200_000):
    made = (made,)
other = {}
for _ in range(100_000):
    other = {"a": other}
