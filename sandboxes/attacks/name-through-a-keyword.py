"""Pass the name of a guard as a keyword of a call.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def made(**names):
    return names["_getattr_"]

print("WON passed", made(_getattr_=print).__self__)
