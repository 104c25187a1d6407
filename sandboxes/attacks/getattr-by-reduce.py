"""Fold getattr over a list of names.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools

print("WON reached", functools.reduce(getattr, ["__class__", "__base__", "__subclasses__"], ()))
