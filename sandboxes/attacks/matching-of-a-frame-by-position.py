"""Read the frame of a generator by position, with a class that claims generators.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import abc

def make():
    yield 1

class Claims(abc.ABC):
    __match_args__ = ("gi_frame",)

Claims.register(type(make()))
match make():
    case Claims(frame):
        print("WON reached", frame)
