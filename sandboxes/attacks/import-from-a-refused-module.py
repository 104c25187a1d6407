"""Import one name from a refused module.

guarantee: no-reflection
layer: language
wins: reflects
"""

from os import listdir

print("WON reached", listdir("/"))
