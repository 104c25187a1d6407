"""Get the dict of a built-in class by comparing its proxy with an object of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: kills its own process tree
reference: bpo-43838
"""

class Spy:
    def __eq__(self, other):
        seen.append(other)
        return False

seen = []
int.__dict__ == Spy()
seen[0]["twice"] = lambda self: 2 * self
print("WON changed int", (21).twice())
