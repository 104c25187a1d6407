"""Put source text into the keys of __annotations__, for dataclasses to execute.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: dataclasses builds the source of its methods from field names
"""

import dataclasses

class Made:
    x: int = 1

Made.__annotations__['"+str(print("WON executed"))#'] = int
dataclasses.dataclass(init=False, eq=False)(Made)
repr(Made())
