"""Import inspect.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import inspect

print("WON reached", inspect.currentframe())
