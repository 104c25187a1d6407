"""Have functools copy hidden attributes from one object to another.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools

class Made:
    pass

made = Made()
functools.update_wrapper(made, print, assigned=("__self__",), updated=())
print("WON reached", made.__self__)
print(made.__self__.open(TARGET["file"]).read())
