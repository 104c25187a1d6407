"""A method of C code makes an object of the type of its self, with the memory of its own type.

`date.replace` of a datetime gave one whose hour, microsecond and tzinfo were whatever lay behind: a fake object of the
cell's choice, up to Python 3.12. And `astimezone` of a class derived from datetime wrote into whatever its `__new__`
returned, as into a datetime.
"""

_SPRAY = """
import datetime
kept = [bytes([65]) * size for size in range(20, 60) for _ in range(200)]
del kept[:]
d = datetime.datetime(2000, 1, 1)
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "date_replace": _SPRAY
    + """
made = [datetime.date.replace(d) for _ in range(2000)]
LOOT = CANARY if made else None
""",
    "date_replace_by_super": _SPRAY
    + """
made = [super(datetime.datetime, d).replace() for _ in range(2000)]
LOOT = CANARY if made else None
""",
    "date_replace_by_a_derived_class": _SPRAY
    + """
class D(datetime.date):
    pass
made = [D.replace(d) for _ in range(2000)]
LOOT = CANARY if made else None
""",
    "date_replace_by_a_pattern": _SPRAY
    + """
match datetime.date:
    case object(replace=function):
        made = [function(d) for _ in range(2000)]
LOOT = CANARY if made else None
""",
    "date_replace_by_a_methodcaller": _SPRAY
    + """
import operator
made = [operator.methodcaller("replace", d)(datetime.date) for _ in range(2000)]
LOOT = CANARY if made else None
""",
}
_TAKEN = """
import datetime
class Small(tuple):
    pass
class D(datetime.datetime):
    def __new__(cls, *values, **options):
        return taken[0] if taken else super().__new__(cls, *values, **options)
taken = []
d = D(2000, 1, 1)
taken.append(Small())
"""
ATTACKS |= {
    "datetime_of_another_type": _TAKEN
    + """
LOOT = CANARY if type(d + datetime.timedelta(1)) is Small else None
""",
    "datetime_of_another_type_by_combine": _TAKEN
    + """
LOOT = CANARY if type(D.combine(datetime.date(2000, 1, 1), datetime.time(1))) is Small else None
""",
    "datetime_of_another_type_in_a_hook": """
import datetime
class Base(datetime.datetime):
    def __init_subclass__(cls):
        global LOOT
        LOOT = CANARY if type(cls.today()) is tuple else None
class D(Base):
    def __new__(cls, *values, **options):
        return ()
""",
    "datetime_of_another_type_by_make_dataclass": """
import dataclasses, datetime
class Base:
    def __new__(cls, *values, **options):
        return ()
class D(datetime.datetime):
    pass
E = dataclasses.make_dataclass("E", [], bases=(Base, D))
LOOT = CANARY if type(E.today()) is tuple else None
""",
    "datetime_of_an_inherited_new": """
import datetime
class Base:
    pass
class D(Base, datetime.datetime):
    pass
d = D(2000, 1, 1)
def new(cls, *values):
    return ()
Base.__new__ = new
LOOT = CANARY if type(d + datetime.timedelta(1)) is tuple else None
""",
    "datetime_of_a_new_that_was_set": """
import datetime
class D(datetime.datetime):
    pass
d = D(2000, 1, 1)
D.__new__ = lambda cls, *values: ()
LOOT = CANARY if type(d + datetime.timedelta(1)) is tuple else None
""",
    "datetime_of_a_new_that_was_set_on_a_base": """
import datetime
class Base(datetime.datetime):
    pass
class D(Base):
    pass
d = D(2000, 1, 1)
setattr(Base, "__new__", lambda cls, *values: ())
LOOT = CANARY if type(d + datetime.timedelta(1)) is tuple else None
""",
}
