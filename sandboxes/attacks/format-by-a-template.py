"""Let string.Template look a name up in something that is no dict.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import string

class Names:
    def __getitem__(self, name):
        return getattr(tuple, "__subclasses__")

print("WON reached", string.Template("$x").substitute(Names()))
