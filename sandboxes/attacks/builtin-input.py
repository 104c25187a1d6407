"""Read from the host's standard input.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON reached", input)
