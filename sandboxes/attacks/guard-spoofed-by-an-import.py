"""Bind the name of a guard as the name of an import, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import math as _getattr_

print("WON reached", "{0.__class__.__base__}".format(()))
