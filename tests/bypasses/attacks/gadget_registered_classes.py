"""`ABC.register` changes what `issubclass` says: a check of `self` by it lets any object pass."""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "new_child_makes_a_class": """
import collections
collections.ChainMap.register(type)
class Source:
    maps = ((), {"__getattribute__": lambda self, name: CANARY})
LOOT = collections.ChainMap.new_child(Source, "Made")().anything
""",
    "init_of_a_derived_container": """
import collections
class C(collections.ChainMap):
    pass
C.register(type(record))
C.__init__(record, CANARY)
LOOT = record.maps
""",
    "init_of_a_dataclass": """
import abc, dataclasses
@dataclasses.dataclass
class C(abc.ABC):
    secret: object
C.register(type(record))
C.__init__(record, CANARY)
LOOT = record.secret
""",
    "init_of_a_dataclass_writes_checked_paths": """
import abc, dataclasses, operator
getter = operator.attrgetter("public")
@dataclasses.dataclass
class C(abc.ABC):
    _paths: object
C.register(type(getter))
C.__init__(getter, (("__globals__",),))
LOOT = getter(helper)
""",
    "repr_of_a_dataclass": """
import abc, dataclasses
@dataclasses.dataclass
class C(abc.ABC):
    _secret: object
C.register(type(record))
LOOT = C.__repr__(record)
""",
    "init_of_an_encoder": """
import abc, json
class C(json.JSONEncoder, abc.ABC):
    pass
C.register(type(record))
C.__init__(record, separators=(CANARY, CANARY))
LOOT = record.item_separator
""",
    "registered_with_an_enum_base": """
import collections
class C(collections.ChainMap):
    pass
C.register(type(helper))
C.__init__(helper, {})
LOOT = CANARY if hasattr(helper, "maps") else None
""",
}
CONTROLS = {
    "init_of_a_dataclass_writes_checked_paths": """
class attrgetter:
    def __init__(self, *paths):
        self._paths = paths
    def __call__(self, value):
        for path in self._paths:
            value = getattr(value, *path)
        return value
getter = attrgetter(("public",))
import abc, dataclasses
@dataclasses.dataclass
class C(abc.ABC):
    _paths: object
C.__init__(getter, (("__globals__",),))
LOOT = getter(helper)
""",
}
