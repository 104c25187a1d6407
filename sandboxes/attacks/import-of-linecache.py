"""Import linecache.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import linecache

print("WON reached", linecache.getlines(TARGET["file"]))
