"""Start the debugger, whose prompt runs anything.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

reached = breakpoint
print("WON reached", reached)
