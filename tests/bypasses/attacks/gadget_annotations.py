"""singledispatch.register, get_type_hints, ForwardRef and dataclasses evaluate or execute text from annotations, in the
globals of a library.
"""

ADVISORY = ""
GUARANTEE = "no-exec"
ATTACKS = {
    "singledispatch": """
import functools
@functools.singledispatch
def f(x):
    pass
def g(x: "globals().update(LOOT=open) or int"):
    pass
f.register(g)
LOOT = g.__globals__["LOOT"]
""",
    "singledispatchmethod": """
import functools
class C:
    @functools.singledispatchmethod
    def f(self, x):
        pass
    @f.register
    def g(self, x: "globals().update(LOOT=open) or int"):
        pass
""",
    "get_type_hints": """
import typing
def f(x: "globals().update(LOOT=open) or int"):
    pass
typing.get_type_hints(f)
""",
    "get_type_hints_of_a_class": """
import typing
class C:
    x: "globals().update(LOOT=open) or int"
typing.get_type_hints(C, globals())
""",
    "forward_ref": """
import typing
typing.ForwardRef("globals().update(LOOT=open) or int")._evaluate(globals(), {}, recursive_guard=frozenset())
""",
    "forward_ref_of_a_list": """
import typing
ref = typing.get_args(typing.List["globals().update(LOOT=open) or int"])[0]
ref._evaluate(globals(), {}, recursive_guard=frozenset())
""",
    "dataclass_of_a_poser": """
import dataclasses
class Poser:
    def __getattr__(self, name):
        if name == "__annotations__":
            return {"__class__ and __import__('__main__').__dict__.update(STOLEN=1)": int}
        raise AttributeError(name)
    __mro__ = ()
    __module__ = "__main__"
    __name__ = "P"
    __qualname__ = "P"
p = dataclasses.dataclass(init=False, repr=False)(Poser())
p == p
""",
    "make_dataclass_lying_name": """
import dataclasses
class Name(str):
    def isidentifier(self):
        return True
D = dataclasses.make_dataclass("D", [(Name("__class__ and __import__('__main__').__dict__.update(STOLEN=1)"), int)], init=False, repr=False)
D() == D()
""",
    "dataclass_signature_text": """
import dataclasses
C = dataclasses.make_dataclass("C", [], namespace={"__text_signature__": "(x=helper.__globals__)"}, init=False)
LOOT = CANARY if "(" in (C.__doc__ or "") else None
""",
    "namedtuple_field": """
import collections
class Name(str):
    def isidentifier(self):
        return True
collections.namedtuple("P", [Name("x=__import__('__main__').__dict__.update(STOLEN=1)")])
""",
    "enum_module": """
import enum, dataclasses
E = enum.Enum("E", "A", module="os")
LOOT = CANARY if E.__module__ == "os" else None
""",
    "namedtuple_module": """
import collections
P = collections.namedtuple("P", "x", module="os")
LOOT = CANARY if P.__module__ == "os" else None
""",
}
CONTROLS = {
    "singledispatchmethod": """
import functools
@functools.singledispatch
def f(x):
    pass
@f.register
def g(x: "globals().update(LOOT=open) or int"):
    pass
LOOT = f.registry[int].__globals__["LOOT"]
""",
    "dataclass_of_a_poser": """
import dataclasses
class C:
    pass
C.__annotations__ = {"__class__ and __import__('__main__').__dict__.update(STOLEN=1)": int}
dataclasses.dataclass(init=False, repr=False)(C)
C() == C()
""",
    "namedtuple_field": """
import dataclasses
class Name(str):
    def isidentifier(self):
        return True
P = dataclasses.make_dataclass("P", [Name("__class__ and __import__('__main__').__dict__.update(STOLEN=1)")], init=False, repr=False)
P() == P()
""",
}
DAMAGE = {
    "dataclass_of_a_poser": "hasattr(__import__('__main__'), 'STOLEN')",
    "make_dataclass_lying_name": "hasattr(__import__('__main__'), 'STOLEN')",
    "namedtuple_field": "hasattr(__import__('__main__'), 'STOLEN')",
}
