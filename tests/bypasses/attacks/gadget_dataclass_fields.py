"""A dataclass's functions are text made of what its fields say, and a field is asked more than once.

Where a name stands in the body of a generated function and not among its parameters, it is looked up in the globals and
builtins of library code: a field that is called `open` is given the real one. And a field that is called as something is
that a library keeps (`format` of a str, `_numerator` of a Fraction) is read and set without a guard.
"""

_FLIP = """
from dataclasses import dataclass, field, make_dataclass
class Flip:
    def __init__(self, first, times):
        self.first, self.left = first, times
    def __bool__(self):
        self.left -= 1
        return self.first if self.left >= 0 else not self.first
LOOT = []
def take(make):
    for first in (True, False):
        for times in range(12):
            try:
                LOOT.append(make(Flip(first, times))().open)
            except Exception:
                pass
"""

ADVISORY = ""
GUARANTEE = "no-reflection"
ATTACKS = {
    "init_only_field_that_is_no_parameter": """
from dataclasses import InitVar, dataclass, field
LOOT = []
@dataclass
class C:
    open: InitVar[object] = field(init=False)
    def __post_init__(self, given):
        LOOT.append(given)
C()
""",
    "init_only_field_of_make_dataclass": """
from dataclasses import InitVar, make_dataclass, field
LOOT = []
class Base:
    def __post_init__(self, given):
        LOOT.append(given)
make_dataclass("C", [("open", InitVar[object], field(init=False))], bases=(Base,))()
""",
    "init_only_field_that_another_class_made_of_it": """
from dataclasses import InitVar, dataclass, field, fields
LOOT = []
@dataclass
class C:
    x: object = field(init=False)
    def __post_init__(self, *given):
        LOOT.extend(given)
try:
    @dataclass
    class Z:
        open: InitVar[object] = fields(C)[0]
except Exception:
    pass
@dataclass
class D(C):
    pass
D()
""",
    "init_of_a_field": _FLIP + """
def make(flip):
    @dataclass
    class C:
        open: object = field(init=flip)
    return C
take(make)
""",
    "kw_only_of_a_field": _FLIP + """
def make(flip):
    @dataclass
    class C:
        open: object = field(kw_only=flip)
    return C
take(make)
""",
    "kw_only_of_a_class": _FLIP + """
def make(flip):
    @dataclass(kw_only=flip)
    class C:
        open: object
    return C
take(make)
""",
    "kw_only_of_make_dataclass": _FLIP + """
take(lambda flip: make_dataclass("C", ["open"], kw_only=flip))
""",
    "field_that_a_descriptor_makes": _FLIP + """
def make(flip):
    class Maker:
        def __get__(self, instance, owner=None):
            return field(init=flip)
    @dataclass
    class C:
        open: object = Maker()
    return C
take(make)
""",
    "format_of_a_text": """
import dataclasses
@dataclasses.dataclass(init=False, repr=False, eq=False)
class C(str):
    "Without it, Python 3.11.2 asks for a signature, and fails."
    format: object
LOOT = dataclasses.asdict(C("{0.__globals__[SECRET]}"))["format"](helper)
""",
    "format_of_a_text_by_replace": """
import dataclasses
LOOT = []
@dataclasses.dataclass(init=False, repr=False, eq=False)
class C(str):
    format: object
    def __new__(cls, text="", **values):
        return str.__new__(cls, text)
    def __init__(self, text="", **values):
        LOOT.extend(value(helper) for value in values.values())
dataclasses.replace(C("{0.__globals__[SECRET]}"))
""",
    "format_of_a_text_by_a_mixin": """
import dataclasses
@dataclasses.dataclass(init=False, repr=False, eq=False)
class C:
    format: object
class D(C, str):
    pass
LOOT = dataclasses.asdict(D("{0.__globals__[SECRET]}"))["format"](helper)
""",
    "format_of_a_text_by_equality": """
import dataclasses
LOOT = []
class Asks:
    def __eq__(self, other):
        LOOT.append(other(helper))
@dataclasses.dataclass(init=False, repr=False)
class C(str):
    "Without it, Python 3.11.2 asks for a signature, and fails."
    format: object
other = C("")
other.format = Asks()
C("{0.__globals__[SECRET]}") == other
""",
    "format_of_a_text_by_another_name": """
import dataclasses
LOOT = []
class Asks:
    def __eq__(self, other):
        LOOT.append(other(helper))
@dataclasses.dataclass
class C:
    x: object = 1
@dataclasses.dataclass
class Z:
    format: object = dataclasses.fields(C)[0]
@dataclasses.dataclass(init=False, repr=False)
class D(C, str):
    pass
other = D("")
other.format = Asks()
D("{0.__globals__[SECRET]}") == other
""",
    "parts_of_a_fraction": """
import dataclasses, fractions
@dataclasses.dataclass(eq=False, repr=False)
class C(fractions.Fraction):
    _numerator: object
    def __new__(cls, *values):
        return super().__new__(cls, 1, 2)
LOOT = C(CANARY).numerator
""",
    "parts_of_a_fraction_by_a_mixin": """
import dataclasses, fractions
@dataclasses.dataclass(eq=False, repr=False)
class C:
    _numerator: object
class D(C, fractions.Fraction):
    def __new__(cls, *values):
        return super().__new__(cls, 1, 2)
LOOT = D(CANARY).numerator
""",
    "name_that_pprint_reads": """
import pprint
from dataclasses import dataclass, fields
@dataclass
class C(AttributeError):
    x: int = 1
shown = fields(C)[0]
@dataclass
class D:
    obj: object = shown
LOOT = CANARY if "obj=None" in pprint.pformat(C(3), width=1) else ""
""",
}
