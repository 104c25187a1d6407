"""Have functools.singledispatch evaluate a string annotation.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools

@functools.singledispatch
def made(value):
    pass

def register(value: "print('WON evaluated') or int"):
    pass

made.register(register)
