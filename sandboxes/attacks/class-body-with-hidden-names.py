"""Define hidden methods that the interpreter calls by itself.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Made:
    def __getattribute__(self, name):
        print("WON asked for", name)
        return object.__getattribute__(self, name)

Made().anything_at_all if hasattr(Made(), "anything_at_all") else None
