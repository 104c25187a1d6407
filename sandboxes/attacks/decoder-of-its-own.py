"""Have json use a decoder class of its own, and look at what it is given.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import json

class Mine(json.JSONDecoder):
    def __init__(self, **options):
        super().__init__(**options)
        self.reached = self.parse_object

    def decode(self, text):
        return self.reached.__globals__["scanner"]

print("WON reached", json.loads("{}", cls=Mine))
