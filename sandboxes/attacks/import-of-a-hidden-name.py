"""Import a hidden name from a module that is allowed.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

from string import _re

print("WON reached", _re.enum.sys)
