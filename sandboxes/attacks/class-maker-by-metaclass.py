"""Choose a metaclass, whose __prepare__ and __call__ see everything.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Meta(type):
    def __call__(cls, *args):
        return super().__call__(*args)

class Made(metaclass=Meta):
    pass

print("WON made", Made())
