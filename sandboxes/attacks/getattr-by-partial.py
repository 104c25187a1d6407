"""Bind getattr to an object, and call it later.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools

print("WON reached", functools.partial(getattr, tuple)("__subclasses__"))
