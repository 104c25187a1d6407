"""Overflow the C stack with the hash of a deep tuple.

guarantee: host-integrity
layer: both
wins: breaks
outcome: kills its own process tree
"""

made = ()
for _ in range(500_000):
    made = (made,)
hash(made)
