"""Reach the function that a decorator hides.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools

def hide(function):
    @functools.wraps(function)
    def shown():
        return "shown"
    return shown

@hide
def secret():
    return "WON reached"

print(secret.__wrapped__())
