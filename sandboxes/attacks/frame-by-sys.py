"""Take the current frame from sys.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

import sys

frame = sys._getframe()
print("WON reached", frame)
print(frame.f_builtins["open"](TARGET["file"]).read())
