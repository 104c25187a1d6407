"""Counter.elements() hands out C's own chain over an `items` that a cell wrote, which asks that chain for the next item.

Where the inner call ends, chain lets go of what is still running, and a bytearray of the cell's takes its place. Here it
does not end: that it is answered at all is what is looked at.
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "elements": """
from collections import Counter
class Items:
    depth = 0
    def __iter__(self): return self
    def __next__(self):
        global LOOT
        Items.depth += 1
        if Items.depth == 1 and next(elements) == "inner":
            LOOT = CANARY
        return ("inner", 1)
class C(Counter):
    def items(self): return Items()
elements = C().elements()
next(elements)
""",
    "elements_of_the_class": """
from collections import Counter
class C(Counter):
    def items(self): return ()
if type(C.elements(C())).__name__ == "chain":
    LOOT = CANARY
""",
}
