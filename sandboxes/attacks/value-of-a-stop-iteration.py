"""Take the value out of StopIteration, and the generator with it.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def made():
    frame = yield
    return frame

spy = made()
next(spy)
try:
    spy.send(spy)
except StopIteration as error:
    print("WON reached", error.value.gi_code)
