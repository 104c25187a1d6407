"""Import all names of a module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

from subprocess import *

print("WON reached", run)
