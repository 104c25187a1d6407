"""Send a chain of very many attributes.

guarantee: host-integrity
layer: language
wins: breaks
bomb: 'a' + '.a' * 20000
"""

BOMB
