"""Library code has no guards. A method that a dataclass or a library class gives to an own class still is library code,
and does to any `self` what it was written to do to its own: set the attributes that the fields name, or print them.
"""

ADVISORY = ""
GUARANTEE = "host-integrity"
ATTACKS = {
    "dataclass_init_on_a_host_object": """
import dataclasses
@dataclasses.dataclass
class D:
    public: object
D.__init__(record, CANARY)
LOOT = record.public
""",
    "dataclass_init_on_a_library_class": """
import dataclasses, json
@dataclasses.dataclass
class D:
    item_separator: object
D.__init__(json.JSONEncoder, "poison")
""",
    "dataclass_init_private": """
import dataclasses
@dataclasses.dataclass
class D:
    _other: object
D.__init__(record, CANARY)
LOOT = getattr(record, "_other")
""",
    "dataclass_repr_reads_a_private": """
import dataclasses
@dataclasses.dataclass
class D:
    _secret: object
LOOT = D.__repr__(record)
""",
    "dataclass_repr_by_getattr": """
import dataclasses
@dataclasses.dataclass
class D:
    _secret: object
LOOT = getattr(D, "__repr__")(record)
""",
    "dataclass_repr_as_an_own_method": """
import dataclasses
@dataclasses.dataclass
class D:
    _secret: object
class E:
    show = D.__repr__
LOOT = E.show(record)
""",
    "dataclass_repr_by_unbound_super": """
import dataclasses
@dataclasses.dataclass
class D:
    _secret: object
class E(D):
    pass
LOOT = super(E, E).__repr__(record)
""",
    "dataclass_frozen_init": """
import dataclasses
@dataclasses.dataclass(frozen=True)
class D:
    public: object
D.__init__(record, CANARY)
LOOT = record.public
""",
    "encoder_init_on_a_library_class": """
import json
class E(json.JSONEncoder):
    pass
E.__init__(json.JSONEncoder, default="poison")
""",
    "encoder_init_on_a_host_object": """
import json
class E(json.JSONEncoder):
    pass
E.__init__(record, indent=CANARY)
LOOT = record.indent
""",
    "userdict_copy_writes_onto_another": """
import collections, copy
class U(collections.UserDict):
    armed = False
    def __new__(cls, *a):
        return record if cls.armed else super().__new__(cls)
u = U()
u.public = CANARY
U.armed = True
copy.copy(u)
LOOT = record.public
""",
    "userlist_copy_writes_onto_another": """
import collections, copy
class U(collections.UserList):
    armed = False
    def __new__(cls, *a):
        return record if cls.armed else super().__new__(cls)
u = U()
u.public = CANARY
U.armed = True
copy.copy(u)
LOOT = record.public
""",
    "make_dataclass_derives_from_anything": """
import dataclasses, pprint
D = dataclasses.make_dataclass("D", ["public"], bases=(pprint.PrettyPrinter,))
LOOT = CANARY if issubclass(D, pprint.PrettyPrinter) else None
""",
    "class_statement_derives_from_anything": """
import pprint
class D(pprint.PrettyPrinter):
    pass
LOOT = CANARY
""",
    "base_by_getitem": """
import pprint
class Sneaky:
    def __class_getitem__(cls, item):
        return pprint.PrettyPrinter
class D(Sneaky[int]):
    pass
LOOT = CANARY
""",
    "base_by_mro_entries": """
import pprint
class Sneaky:
    def __mro_entries__(self, bases):
        return (pprint.PrettyPrinter,)
class D(Sneaky()):
    pass
LOOT = CANARY
""",
    "final_class_kept_by_set_name": """
import string
kept = []
class Keep:
    def __set_name__(self, owner, name):
        kept.append(owner)
try:
    class T(string.Formatter):
        keep = Keep()
except TypeError:
    pass
LOOT = CANARY if kept else None
""",
    "new_makes_a_foreign_instance": """
import pprint
class C:
    def make(self):
        return super().__new__(pprint.PrettyPrinter)
LOOT = CANARY if isinstance(C().make(), pprint.PrettyPrinter) else None
""",
    "object_new_makes_a_foreign_instance": """
LOOT = CANARY if isinstance(object.__new__(type(record)), type(record)) else None
""",
}
DAMAGE = {
    "dataclass_init_on_a_library_class": "__import__('json').JSONEncoder.item_separator == 'poison'",
    "encoder_init_on_a_library_class": "__import__('json').JSONEncoder.default == 'poison'",
}
