"""Read from the host's standard input.

guarantee: no-reflection
layer: language
wins: reflects
"""

print("WON reached", input)
