"""Add a field with source text for a name to a dataclass, and inherit from it.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: dataclasses builds the source of its methods from field names
"""

import dataclasses

@dataclasses.dataclass
class Base:
    x: int = 1

field = dataclasses.field(default=1)
field.name = '"+str(print("WON executed"))#'
field._field_type = Base.__dataclass_fields__["x"]._field_type
Base.__dataclass_fields__["y"] = field

@dataclasses.dataclass(init=False, eq=False)
class Made(Base):
    pass

repr(Made())
