"""Read the iterator that a generator waits for, and its frame.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def inner():
    yield 1

def outer():
    yield from inner()

spy = outer()
next(spy)
print("WON reached", spy.gi_yieldfrom.gi_frame.f_builtins["open"])
