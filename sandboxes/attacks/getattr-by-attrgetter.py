"""Read attributes with operator.attrgetter.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import operator

print("WON reached", operator.attrgetter("__class__.__base__")(()))
