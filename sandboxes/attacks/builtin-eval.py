"""Run text as code with eval.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
"""

print("WON evaluated", eval("1 + 1"), eval("open")(TARGET["file"]).read())
