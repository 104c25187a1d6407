"""Have an enum read the names of a loaded module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import enum

class Made(enum.IntEnum):
    A = 1

Loot = Made._convert_("Loot", "os", lambda name: name == "O_CREAT")
print("WON reached", list(Loot))
