"""Throw into a generator and read where it stood.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

def made():
    try:
        yield 1
    except ValueError as error:
        yield error.__traceback__.tb_frame.f_back

spy = made()
next(spy)
print("WON reached", spy.throw(ValueError("x")))
