"""Return something that is no text where text is read.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Meta:
    @property
    def __name__(self):
        return (lambda: 0).__globals__

print("WON reached", Meta().__name__["__builtins__"])
