"""Send a chain of very many attributes.

guarantee: host-integrity
layer: language
wins: breaks
outcome: kills its own process tree
bomb: 'a' + '.a' * 20000
"""

BOMB
