"""Walk through an allowed module to heapq.__builtins__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import heapq

print("WON reached", heapq.__builtins__["open"])
print(heapq.__builtins__["open"](TARGET["file"]).read())
