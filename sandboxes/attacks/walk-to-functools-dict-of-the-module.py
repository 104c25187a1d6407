"""Walk through an allowed module to functools.__dict__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools

print("WON reached", functools.__dict__["__builtins__"]["open"])
print(functools.__dict__["__builtins__"]["open"](TARGET["file"]).read())
