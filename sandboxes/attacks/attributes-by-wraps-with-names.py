"""Have functools.wraps merge the globals of a function into a class of its own.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import functools
import json

class Catch:
    names = {}

def made():
    pass

functools.update_wrapper(Catch, json.dumps, assigned=("__globals__",), updated=())
print("WON reached", sorted(Catch.__globals__)[:3])
