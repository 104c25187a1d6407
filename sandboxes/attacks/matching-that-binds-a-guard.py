"""Bind the name of a guard as the rest of a mapping pattern.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

match {"a": 1}:
    case {"a": 1, **_getattr_}:
        print("WON bound", _getattr_)
