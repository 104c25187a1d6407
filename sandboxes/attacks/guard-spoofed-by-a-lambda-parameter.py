"""Bind the name of a guard as a parameter of a lambda, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2026-55830
"""

made = lambda _getattr_, /: "{0.__class__.__base__}".format(())
print("WON reached", made(None))
