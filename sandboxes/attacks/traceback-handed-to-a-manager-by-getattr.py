"""Be handed the traceback, and read it by strings.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        frame = getattr(trace, "tb_" + "frame")
        print("WON reached", getattr(frame, "f_" + "back"))
        return True

with Manager():
    1 / 0
