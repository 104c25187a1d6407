"""Read attributes with the percent operator of a mapping of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Names(dict):
    def __missing__(self, name):
        return getattr(tuple, name)

print("WON reached %(__subclasses__)s" % Names())
