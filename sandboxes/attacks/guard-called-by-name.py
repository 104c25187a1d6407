"""Call a guard by its name, with arguments of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

try:
    guard = _getattr_
except NameError:
    guard = getattr
print("WON reached", guard((), "__class__"))
