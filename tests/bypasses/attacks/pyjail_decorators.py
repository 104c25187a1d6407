"""No call syntax needed: a decorator calls, `__class_getitem__` calls, `__init_subclass__` calls, operators call."""

ADVISORY = ""
GUARANTEE = "no-exec"
ATTACKS = {
    "decorator_chain": """
@exec
@str
@(lambda c: "LOOT = open")
class X:
    pass
""",
    "getitem_is_eval": """
class C:
    __getitem__ = lambda self, code: eval(code)
LOOT = C()["open"]
""",
    "class_getitem_is_eval": """
class C:
    __class_getitem__ = eval
LOOT = C["open"]
""",
    "add_is_eval": """
class C:
    def __add__(self, code):
        return eval(code)
LOOT = C() + "open"
""",
    "init_subclass_is_exec": """
class C:
    def __init_subclass__(cls, code):
        exec(code, globals())
class D(C, code="LOOT = open"):
    pass
""",
    "set_name": """
class D:
    def __set_name__(self, owner, name):
        global LOOT
        LOOT = owner.__init__.__objclass__.__subclasses__()
class C:
    x = D()
""",
    "getattr_hook_is_eval": """
class C:
    def __getattr__(self, name):
        return eval(name)
LOOT = C().open
""",
    "del_item_is_exec": """
class C:
    def __delitem__(self, code):
        exec(code, globals())
del C()["LOOT = open"]
""",
    "contains_is_eval": """
class C:
    def __contains__(self, code):
        global LOOT
        LOOT = eval(code)
"open" in C()
""",
    "enter_is_open": """
class C:
    __enter__ = lambda self: open
    __exit__ = lambda *a: None
with C() as LOOT:
    pass
""",
    "unary_import": """
class C:
    __neg__ = lambda self: __import__("os")
LOOT = -C()
""",
    "call_is_compile": """
class C:
    __call__ = staticmethod(compile)
LOOT = C()("1", "x", "exec")
""",
}
