"""Have copy call hidden methods with objects of the library.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import copy

class Made:
    def __deepcopy__(self, memo):
        print("WON reached", memo.__class__.__subclasses__)
        return self

copy.deepcopy([Made()])
