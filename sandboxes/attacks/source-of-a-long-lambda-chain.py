"""Send a lambda of a lambda of a lambda.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: 'lambda:' * 20000 + '1'
"""

BOMB
