"""Send a chain of very many conditions.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: '1 if 1 else ' * 10000 + '1'
"""

BOMB
