"""Read the exception that was being handled, and its frame.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

try:
    try:
        1 / 0
    except ZeroDivisionError:
        [][0]
except IndexError as error:
    print("WON reached", error.__context__.__traceback__.tb_frame)
