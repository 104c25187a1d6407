"""Have typing evaluate a string annotation.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import typing

def made(value: "print('WON evaluated') or int"):
    pass

typing.get_type_hints(made)
