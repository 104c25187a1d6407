"""Get the dict under a read-only proxy by comparing the proxy with an object of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: bpo-43838
"""

import re

class Spy:
    def __eq__(self, other):
        seen.append(other)
        return False

seen = []
pattern = re.compile("(?P<a>x)")
pattern.groupindex == Spy()
seen[0]["a"] = 7
if pattern.groupindex["a"] == 7:
    print("WON reached the dict", seen[0])
