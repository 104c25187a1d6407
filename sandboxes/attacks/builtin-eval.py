"""Run text as code with eval.

guarantee: no-reflection
layer: language
wins: reflects
"""

print("WON evaluated", eval("1 + 1"), eval("open")(TARGET["file"]).read())
