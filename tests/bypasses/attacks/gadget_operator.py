"""operator.attrgetter and methodcaller are getattr with a string that was given earlier."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "attrgetter": """
import operator
LOOT = operator.attrgetter("__globals__")(helper)
""",
    "attrgetter_dotted": """
import operator
LOOT = operator.attrgetter("method.__func__.__globals__")(record)
""",
    "attrgetter_many": """
import operator
LOOT = operator.attrgetter("public", "_secret")(record)
""",
    "attrgetter_lying_str": """
import operator
class S(str):
    def split(self, *a):
        return ["public"]
    def startswith(self, *a):
        return False
LOOT = operator.attrgetter(S("_secret"))(record)
""",
    "methodcaller": """
import operator
LOOT = operator.methodcaller("__subclasses__")(object)
""",
    "methodcaller_getattribute": """
import operator
LOOT = operator.methodcaller("__getattribute__", "_secret")(record)
""",
    "subclass_with_a_path": """
import operator
class A(operator.attrgetter):
    _paths = (("__globals__",),)
    def __init__(self):
        pass
LOOT = A()(helper)
""",
    "dataclass_with_a_path": """
import operator, dataclasses
@dataclasses.dataclass
class A(operator.attrgetter):
    _paths: object = (("__globals__",),)
LOOT = A()(helper)
""",
    "mro_by_attrgetter": """
import operator
LOOT = operator.attrgetter("mro")(int)()[-1].__subclasses__()
""",
    "setitem_of_a_namespace": """
import operator, json
LOOT = operator.setitem(vars(json), "LOOT", CANARY) or json.LOOT
""",
}
CONTROLS = {
    "subclass_with_a_path": """
import operator
class A:
    get = operator.attrgetter("__globals__")
LOOT = A.get(helper)
""",
    "dataclass_with_a_path": """
import operator
class A:
    get = operator.attrgetter("__globals__")
LOOT = A.get(helper)
""",
}
