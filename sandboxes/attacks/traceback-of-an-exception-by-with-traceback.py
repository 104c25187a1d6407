"""Give an exception the traceback of another.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

try:
    1 / 0
except ZeroDivisionError as error:
    print("WON reached", ValueError().with_traceback(error.__traceback__).__traceback__.tb_frame)
