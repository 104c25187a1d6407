"""Call a refused builtin without parentheses, as a decorator.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: a common jail escape: calls without parentheses
"""

def name(kind):
    return TARGET["file"]

@open
@name
class made:
    pass

print("WON reached", made)
print(made.read())
