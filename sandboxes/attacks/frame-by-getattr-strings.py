"""Read the frame of a generator with getattr and a name put together at run time.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def make():
    yield 1

frame = getattr(make(), "gi" + "_frame")
print("WON reached", frame)
print(getattr(frame, "f_" + "builtins")["open"](TARGET["file"]).read())
