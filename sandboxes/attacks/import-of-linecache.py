"""Import linecache.

guarantee: no-reflection
layer: language
wins: reflects
"""

import linecache

print("WON reached", linecache.getlines(TARGET["file"]))
