"""Import builtins.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import builtins

print("WON reached", builtins.open(TARGET["file"]).read())
