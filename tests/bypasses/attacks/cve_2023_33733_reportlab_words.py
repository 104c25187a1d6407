"""CVE-2023-33733, reportlab's rl_safe_eval: a str subclass that changes its mind between check and use, made with the
three-argument type().
"""

ADVISORY = "CVE-2023-33733"
GUARANTEE = "no-reflection"
ATTACKS = {
    "type_of_type": """
maker = type(type(1))
Word = maker("Word", (str,), {
    "mutated": 1,
    "startswith": lambda self, x: False,
    "__eq__": lambda self, x: str.__eq__(self, x),
    "__hash__": lambda self: hash(str(self)),
})
LOOT = getattr(helper, Word("__globals__"))
""",
    "class_statement": """
class Word(str):
    calls = 0
    def startswith(self, *a):
        return False
    def __eq__(self, other):
        Word.calls += 1
        return str.__eq__(self, other)
    def __hash__(self):
        return str.__hash__(self)
LOOT = getattr(helper, Word("__globals__"))
""",
    "three_argument_type": """
LOOT = type("X", (), {"__getattribute__": lambda self, name: CANARY})().anything
""",
    "type_by_class": """
LOOT = (1).__class__.__class__
""",
    "type_of_an_enum": """
import enum
class E(enum.Enum):
    A = 1
LOOT = type(E)
""",
    "type_of_an_abc": """
import abc
LOOT = type(abc.ABC)
""",
    "type_of_a_protocol": """
import typing
LOOT = type(typing.Protocol)
""",
    "type_as_a_base": """
class M(type):
    def mro(cls):
        return [cls, object]
LOOT = M
""",
    "type_of_type_as_a_base": """
class M(type(type(1))):
    pass
LOOT = M
""",
    "metaclass_keyword": """
class C(metaclass=lambda *a: CANARY):
    pass
LOOT = C
""",
    "metaclass_in_a_mapping": """
class C(**{"metaclass": lambda *a: CANARY}):
    pass
LOOT = C
""",
    "build_class": """
LOOT = __build_class__
LOOT = LOOT(lambda: None, "X", metaclass=lambda *a: CANARY)
""",
}
