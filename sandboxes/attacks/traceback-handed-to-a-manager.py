"""Be handed the traceback as the manager of a with statement.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

class Manager:
    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace):
        print("WON reached", trace.tb_frame.f_builtins["open"])
        print(trace.tb_frame.f_builtins["open"](TARGET["file"]).read())
        return True

with Manager():
    1 / 0
