"""Import inspect.

guarantee: no-reflection
layer: language
wins: reflects
"""

import inspect

print("WON reached", inspect.currentframe())
