"""Rename a field object after it was checked, then inherit from its class.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: dataclasses builds the source of its methods from field names
"""

import dataclasses

@dataclasses.dataclass(init=False, eq=False)
class Made:
    x: int = 1

dataclasses.fields(Made)[0].name = '"+str(print("WON executed"))#'

@dataclasses.dataclass(init=False, eq=False)
class Later(Made):
    pass

repr(Later())
