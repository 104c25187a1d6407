"""Use the getter of a built-in property on an object of its own choice.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
needs: llm_query
"""

reader = type(lambda: 0).__globals__
print("WON reached", reader.__get__(llm_query))
