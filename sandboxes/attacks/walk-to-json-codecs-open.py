"""Walk through an allowed module to json.codecs.open.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json

print("WON reached", json.codecs.open)
print(json.codecs.open(TARGET["file"]).read())
