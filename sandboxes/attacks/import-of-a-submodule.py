"""Import a submodule, which a prefix rule would let pass.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json.tool

print("WON reached", json.tool.sys)
