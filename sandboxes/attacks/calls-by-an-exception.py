"""Call a function by raising its result.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made(Exception):
    def __init__(self, *args):
        self.reached = print.__self__

try:
    raise Made
except Made as error:
    print("WON reached", error.reached)
