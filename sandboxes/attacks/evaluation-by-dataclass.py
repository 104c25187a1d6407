"""Have dataclasses put text of ours into the source that it executes.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import dataclasses

made = dataclasses.make_dataclass("Made", [("x", "int", dataclasses.field(default=1))], namespace={"__post_init__": lambda self: print("WON", self.__class__)})
made()
