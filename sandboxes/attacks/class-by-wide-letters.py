"""Spell __class__ with letters that Python reads as ASCII ones.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: identifiers are compared in NFKC, PEP 3131
"""

print("WON reached", ().__ｃlass__.__subclasses__)
