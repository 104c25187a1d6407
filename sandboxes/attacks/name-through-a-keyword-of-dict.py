"""Hand hidden names to something that sets attributes from keywords.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import types

made = types.SimpleNamespace(**{"__class__": int, "__dict__": {}})
print("WON reached", made.__class__.__subclasses__)
