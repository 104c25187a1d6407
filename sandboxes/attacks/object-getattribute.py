"""Use the unbound attribute reader of object.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", object.__getattribute__((), "__class__"))
