"""Have copy set attributes on an object by names of its own choice.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import copy

class Made:
    def __getstate__(self):
        return None, {"__class__": int}

    def __reduce_ex__(self, protocol):
        return (print, ("WON called",))

copy.deepcopy(Made())
