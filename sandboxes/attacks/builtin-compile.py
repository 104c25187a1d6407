"""Make code of text with compile, and run it as a lambda would.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

code = compile("1 + 1", "<text>", "eval")
print("WON compiled", code)
