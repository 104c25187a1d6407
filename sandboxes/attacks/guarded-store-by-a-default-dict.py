"""Change a table of a library class through its mutable default.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import collections

collections.ChainMap.__init__.__defaults__
print("WON reached", collections.Counter.__init__.__code__)
