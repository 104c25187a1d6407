"""Send a lambda of a lambda of a lambda.

guarantee: host-integrity
layer: language
wins: breaks
bomb: 'lambda:' * 20000 + '1'
"""

BOMB
