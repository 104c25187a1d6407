"""Send a chain of very many calls.

guarantee: host-integrity
layer: language
wins: breaks
bomb: 'a' + '()' * 20000
"""

BOMB
