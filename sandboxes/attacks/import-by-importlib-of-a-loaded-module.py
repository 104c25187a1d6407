"""Import through the machinery that every module carries.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json

print("WON reached", json.__loader__.load_module)
