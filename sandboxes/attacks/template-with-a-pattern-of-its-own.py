"""Give string.Template an object instead of a pattern.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import string

class Mine(string.Template):
    pattern = "(?P<escaped>x)|(?P<named>y)|(?P<braced>z)|(?P<invalid>)"

    def check(self):
        return getattr(self.pattern.__class__.__mro__[-1], "__sub" + "classes__")()

print("WON reached", Mine("x").check())
