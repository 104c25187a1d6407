"""Replace the builtins that later code finds.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

global __builtins__
__builtins__ = {"print": print, "open": 1}
print("WON replaced")
