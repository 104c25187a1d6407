"""Import all names of a module.

guarantee: no-reflection
layer: language
wins: reflects
"""

from json import *

print("WON reached", dumps)
