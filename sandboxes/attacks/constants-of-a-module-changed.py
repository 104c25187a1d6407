"""Change a mutable table of an allowed module.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
"""

import json

json.decoder.BACKSLASH["n"] = "WON"
json.encoder.ESCAPE_DCT["x"] = "WON"
print("WON changed", json.decoder.BACKSLASH["n"])
