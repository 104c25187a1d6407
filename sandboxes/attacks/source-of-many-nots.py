"""Send a chain of negations that a parser recurses on.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: 'not ' * 20000 + '1'
"""

BOMB
