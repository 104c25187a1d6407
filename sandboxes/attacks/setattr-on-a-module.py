"""Replace a function of a module for everybody.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import json

setattr(json, "dumps", lambda value: "WON replaced")
print(json.dumps(1))
