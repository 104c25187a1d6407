"""Walk through an allowed module with names from a split string.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json

reached = json
for name in "codecs builtins open".split():
    reached = getattr(reached, name)
print("WON reached", reached)
print(reached(TARGET["file"]).read())
