"""Call format of a class of its own that is a str.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Text(str):
    pass

print("WON reached", Text("{0.__class__.__subclasses__}").format(()))
