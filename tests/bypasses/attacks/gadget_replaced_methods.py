"""C calls what a class has by a special name, and only borrows it: it is taken off the class while it runs.

Up to Python 3.12. What was called goes on in memory that another object has taken, with what the cell put there.
"""

import sys

ADVISORY = ""
GUARANTEE = "no-reflection"
_FREED = """
from functools import partial
ended = []
def opened():
    try:
        yield
    finally:
        ended.append(1)
class Held:
    def __init__(self):
        self.held = opened()
        next(self.held)
def run(held, *values):
    global LOOT
    del held
    {let_go}
    if ended:
        LOOT = CANARY
    return 1
"""
ATTACKS = {}
if sys.version_info < (3, 13):
    ATTACKS |= {
        "get": _FREED.format(let_go="del D.__get__")
        + """
class D:
    __get__ = partial(run, Held())
class C:
    x = D()
C().x
""",
        "get_that_is_replaced": _FREED.format(let_go="D.__get__ = None")
        + """
class D:
    __get__ = partial(run, Held())
class C:
    x = D()
C().x
""",
        "property": _FREED.format(let_go="delattr(C, '__len__')")
        + """
class C:
    __len__ = property(partial(run, Held()))
try:
    len(C())
except TypeError:
    pass
""",
    }
