"""Call format of collections.UserString, which is no str.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import collections

print("WON reached", collections.UserString("{0.__class__.__subclasses__}").format(()))
