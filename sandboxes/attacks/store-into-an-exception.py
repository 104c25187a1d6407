"""Hang a hidden attribute on an exception.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

try:
    raise ValueError("x")
except ValueError as error:
    error.__traceback__ = None
    error.__notes__ = ["WON"]
    print("WON stored", error.__notes__)
