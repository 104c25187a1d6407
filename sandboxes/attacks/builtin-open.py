"""Call open.

guarantee: no-reflection
layer: language
wins: reflects
"""

reached = open
print("WON reached", reached)
print(reached(TARGET["file"]).read())
