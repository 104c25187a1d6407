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
    return "plain"

print("WON reached", secret.__wrapped__.__globals__)
