"""Send a chain of signs that a parser recurses on.

guarantee: host-integrity
layer: language
wins: breaks
bomb: '-' * 20000 + '1'
"""

BOMB
