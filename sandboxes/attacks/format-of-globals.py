"""Read the globals of a function with str.format.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2023-41039
"""

def made():
    pass

print("WON reached", "{0.__globals__}".format(made)[:60])
