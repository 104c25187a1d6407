"""Call the class maker through its alias in typing.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import typing

maker = typing.get_origin(typing.Type[int])
Made = maker("Made", (), {"__del__": lambda self: None})
print("WON made", Made)
