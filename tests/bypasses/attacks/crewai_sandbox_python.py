"""crewAI #4516 and #4643: blocked attributes are looked up as keys of `type.__dict__`, names are built with chr()."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "type_dict": """
LOOT = type.__dict__["__subclasses__"](object)
""",
    "vars_of_type": """
LOOT = vars(type)[chr(95) * 2 + "subclasses" + chr(95) * 2](object)
""",
    "vars_of_a_builtin_class": """
LOOT = vars(str)["format"]("{0._secret}", record)
""",
    "dict_of_an_own_class": """
class C:
    pass
LOOT = vars(C)["__dict__"].__objclass__.__base__.__subclasses__()
""",
    "own_class_dict_has_a_descriptor": """
class C:
    pass
d = vars(C)["__dict__"]
LOOT = d.__get__(C(), C), helper.__globals__
""",
    "slots_descriptor": """
class C:
    __slots__ = ("x",)
LOOT = C.x.__objclass__, C.x.__get__.__self__, helper.__globals__
""",
}
