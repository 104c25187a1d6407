"""Send a sum of very many terms.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: '1+' * 20000 + '1'
"""

BOMB
