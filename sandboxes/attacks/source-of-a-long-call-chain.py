"""Send a chain of very many calls.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: 'a' + '()' * 20000
"""

BOMB
