"""Read attributes with str.format.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2023-41039
"""

print("WON reached", "{0.__class__.__subclasses__}".format(()))
