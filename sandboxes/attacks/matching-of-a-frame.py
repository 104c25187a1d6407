"""Read the frame of a traceback with a keyword pattern.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        match trace:
            case object(tb_frame=frame):
                print("WON reached", frame)
        return True

with Manager():
    1 / 0
