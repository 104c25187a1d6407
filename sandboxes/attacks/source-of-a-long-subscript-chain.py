"""Send a chain of very many subscripts.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: 'a' + '[0]' * 20000
"""

BOMB
