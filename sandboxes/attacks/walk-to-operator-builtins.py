"""Walk through an allowed module to operator.__builtins__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import operator

print("WON reached", operator.__builtins__["open"])
print(operator.__builtins__["open"](TARGET["file"]).read())
