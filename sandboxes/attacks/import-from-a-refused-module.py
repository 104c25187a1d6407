"""Import one name from a refused module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

from os import listdir

print("WON reached", listdir("/"))
