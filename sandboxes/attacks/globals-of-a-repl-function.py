"""Read the globals of the function that asks the model: the worker itself.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
needs: llm_query
"""

print("WON reached", sorted(llm_query.__globals__)[:3])
