"""Call getattr with a str of a class of its own that lies about its start.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Name(str):
    def startswith(self, *args):
        return False

    def __getitem__(self, index):
        return "a"

    def strip(self, *args):
        return "public"

print("WON reached", getattr(tuple, Name("__subclasses__")))
