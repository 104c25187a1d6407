"""Walk through an allowed module to json.codecs.builtins.open.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json

print("WON reached", json.codecs.builtins.open)
print(json.codecs.builtins.open(TARGET["file"]).read())
