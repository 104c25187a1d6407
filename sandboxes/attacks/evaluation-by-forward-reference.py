"""Have typing evaluate a forward reference.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import typing

typing.get_type_hints(type("Made", (), {"__annotations__": {"x": "print('WON evaluated') or int"}}))
