"""Call __import__.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

reached = __import__("os").popen
print("WON reached", reached)
print(__import__("io").open(TARGET["file"]).read())
