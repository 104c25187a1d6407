"""Take the function and the owner out of a bound method.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    def value(self):
        return 1

print("WON reached", Made().value.__func__, Made().value.__self__)
