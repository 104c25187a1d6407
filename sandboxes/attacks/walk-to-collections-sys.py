"""Walk through an allowed module to collections._sys.modules.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import collections

print("WON reached", collections._sys.modules["io"].open)
print(collections._sys.modules["io"].open(TARGET["file"]).read())
