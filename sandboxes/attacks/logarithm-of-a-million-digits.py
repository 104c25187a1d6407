"""Take a logarithm to a million digits, which needs much time and little memory.

guarantee: bounded-time
layer: both
wins: outlasts
outcome: kills its own process tree
"""

import decimal

context = decimal.Context(prec=10**6)
print(context.ln(decimal.Decimal(2)).is_zero())
