"""Read the frame that an exception passed through.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

try:
    1 / 0
except ZeroDivisionError as error:
    frame = error.__traceback__.tb_frame
    print("WON reached", frame)
    print(frame.f_builtins["open"](TARGET["file"]).read())
