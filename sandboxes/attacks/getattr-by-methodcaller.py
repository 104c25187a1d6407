"""Call a hidden method with operator.methodcaller.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import operator

print("WON reached", len(operator.methodcaller("__subclasses__")(object)))
