"""Put source text into a field name that says it is an identifier.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: dataclasses builds the source of its methods from field names
"""

import dataclasses

class Name(str):
    def isidentifier(self):
        return True

Made = dataclasses.make_dataclass("Made", [Name('"+str(print("WON executed"))#')], init=False, eq=False)
repr(Made())
