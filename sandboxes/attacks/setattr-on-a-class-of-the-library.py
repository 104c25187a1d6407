"""Replace a method of a class of the library.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import collections

collections.Counter.most_common = lambda self, n=None: "WON replaced"
print(collections.Counter().most_common())
