"""Bind the name of a guard as a positional-only parameter, then use what it guards.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2026-55830
"""

def made(_getattr_, /):
    return "{0.__class__.__base__}".format(())

print("WON reached", made(lambda thing, name: "{0.__class__}".format))
