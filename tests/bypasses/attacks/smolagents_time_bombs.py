"""smolagents #2395: methods that the interpreter calls by itself, outside of the cell (`__del__`, `__getattribute__`)."""

ADVISORY = ""
GUARANTEE = "host-integrity"
ATTACKS = {
    "del": """
class C:
    def __del__(self):
        global LOOT
        LOOT = CANARY
c = C()
c = None
""",
    "getattribute": """
class C:
    def __getattribute__(self, name):
        return CANARY
LOOT = C().anything
""",
    "getattribute_by_name": """
class C:
    __getattribute__ = lambda self, name: CANARY
LOOT = C().anything
""",
    "getattribute_after_the_fact": """
class C:
    pass
C.__getattribute__ = lambda self, name: CANARY
LOOT = C().anything
""",
    "del_by_setattr": """
class C:
    pass
def bomb(self):
    global LOOT
    LOOT = CANARY
setattr(C, "__del__", bomb)
C()
""",
    "class_property": """
class C:
    @property
    def __class__(self):
        return str
LOOT = CANARY if isinstance(C(), str) else None
""",
    "reduce": """
import copy
class C:
    def __reduce_ex__(self, protocol):
        return (str, (CANARY,))
LOOT = copy.copy(C())
""",
    "async_generator": """
async def f():
    global LOOT
    try:
        yield
    finally:
        LOOT = CANARY
made = f()
try:
    made.asend(None).send(None)
except StopIteration:
    pass
made = None
""",
    "instancecheck": """
class M(type):
    def __instancecheck__(cls, value):
        return True
class C(metaclass=M):
    pass
LOOT = CANARY if isinstance(1, C) else None
""",
}
