"""Import importlib.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import importlib

print("WON reached", importlib.import_module("os"))
