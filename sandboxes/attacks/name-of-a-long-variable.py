"""Have an error message quote a very long name.

guarantee: bounded-output
layer: both
wins: floods
outcome: kills its own process tree
bomb: 'x' * 200000
"""

BOMB
