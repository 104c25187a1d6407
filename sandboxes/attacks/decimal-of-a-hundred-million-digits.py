"""Take a square root to a hundred million digits.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import decimal

context = decimal.Context(prec=10**8)
print(context.sqrt(decimal.Decimal(2)).is_zero())
