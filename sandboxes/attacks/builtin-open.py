"""Call open.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

reached = open
print("WON reached", reached)
print(reached(TARGET["file"]).read())
