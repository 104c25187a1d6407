"""Read a hidden attribute with a class pattern.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

match ():
    case object(__class__=reached):
        print("WON reached", reached)
