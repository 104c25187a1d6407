"""Send a tower of powers.

guarantee: host-integrity
layer: language
wins: breaks
bomb: '2**' * 20000 + '2'
"""

BOMB
