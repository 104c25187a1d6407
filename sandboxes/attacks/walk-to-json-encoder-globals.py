"""Walk through an allowed module to json.dumps.__globals__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json

print("WON reached", json.dumps.__globals__["__builtins__"]["open"])
print(json.dumps.__globals__["__builtins__"]["open"](TARGET["file"]).read())
