"""Import all names of a module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

from json import *

print("WON reached", dumps)
