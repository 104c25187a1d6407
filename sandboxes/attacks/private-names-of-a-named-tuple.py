"""Reach the globals of the functions that a named tuple is made of.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import collections

Point = collections.namedtuple("Point", "x")
print("WON reached", Point._replace.__globals__["_sys"].modules["io"].open)
print(Point._replace.__globals__["_sys"].modules["io"].open(TARGET["file"]).read())
