"""Read attributes as the key of a sort.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import operator

seen = []
sorted([()], key=lambda item: seen.append(operator.attrgetter("__class__")(item)) or 0)
print("WON reached", seen)
