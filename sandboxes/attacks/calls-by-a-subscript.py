"""Call a refused builtin without parentheses, as __class_getitem__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: a common jail escape: calls without parentheses
"""

class Made:
    __class_getitem__ = open

made = Made[TARGET["file"]]
print("WON reached", made)
print(made.read())
