"""Read attributes with a class of its own that inherits string.Formatter.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2026-76825
"""

import string

class Mine(string.Formatter):
    def get_value(self, key, args, kwargs):
        return ()

print("WON reached", Mine().vformat("{0.__class__.__subclasses__}", (), {}))
