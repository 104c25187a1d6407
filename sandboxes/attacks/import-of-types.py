"""Import types.

guarantee: no-reflection
layer: language
wins: reflects
"""

import types

print("WON reached", types.FunctionType)
