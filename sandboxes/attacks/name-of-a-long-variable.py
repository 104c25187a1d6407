"""Have an error message quote a very long name.

guarantee: bounded-output
layer: both
wins: floods
bomb: 'x' * 200000
"""

BOMB
