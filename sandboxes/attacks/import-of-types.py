"""Import types.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import types

print("WON reached", types.FunctionType)
