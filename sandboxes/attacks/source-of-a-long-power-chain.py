"""Send a tower of powers.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: '2**' * 20000 + '2'
"""

BOMB
