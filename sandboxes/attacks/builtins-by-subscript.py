"""Take open out of __builtins__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

try:
    reached = __builtins__["open"]
except TypeError:
    reached = __builtins__.open
print("WON reached", reached)
print(reached(TARGET["file"]).read())
