"""Send a chain of signs that a parser recurses on.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: '-' * 20000 + '1'
"""

BOMB
