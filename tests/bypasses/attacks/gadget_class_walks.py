"""Functions and attributes that lead from a class to its bases: to object, to BaseException, to the classes behind facades."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "mro": """
LOOT = int.mro()[-1].__subclasses__()
""",
    "mro_by_getattr": """
LOOT = getattr(ValueError, "mro")()[-1].__subclasses__()
""",
    "mro_by_type": """
LOOT = type.mro(ValueError)[-1].__subclasses__()
""",
    "mro_in_a_format": """
LOOT = "{0.mro.__self__.__base__}".format(ValueError) and ValueError.mro()[-1].__subclasses__()
""",
    "bases_of_an_error": """
LOOT = ValueError.__bases__[0].__bases__[0].__bases__[0].__subclasses__()
""",
    "original_bases": """
import types
LOOT = types.get_original_bases(types.get_original_bases(types.get_original_bases(Exception)[0])[0])
""",
    "super_of_a_builtin": """
class C(dict):
    pass
LOOT = super(dict, C()).__class__.__base__.__subclasses__()
""",
    "this_class": """
class C:
    def f(self):
        return super().__thisclass__.__base__.__subclasses__()
LOOT = C().f()
""",
    "resolve_bases": """
import types
LOOT = types.resolve_bases((int,))[0].__base__.__subclasses__()
""",
    "new_class": """
import types
LOOT = types.new_class("X", (), {"metaclass": type}).__class__
""",
    "registry_of_an_abc": """
import collections.abc
LOOT = collections.abc.Mapping._abc_impl and collections.abc.Mapping.__subclasses__.__self__.__base__.__base__.__base__.__base__.__subclasses__()
""",
    "class_of_a_class": """
LOOT = int.__class__
""",
    "exception_base": """
LOOT = ArithmeticError.__base__.__base__.__base__.__subclasses__()
""",
    "generic_alias_origin": """
LOOT = list[int].__origin__.__base__.__subclasses__()
""",
    "union_args": """
LOOT = (int | str).__args__[0].__base__.__subclasses__()
""",
}
CONTROLS = {
    "original_bases": """
import types
LOOT = Exception.__base__.__base__.__subclasses__()
""",
    "registry_of_an_abc": """
import collections.abc
LOOT = [collections.abc.Mapping._abc_impl, object.__subclasses__()]
""",
}
