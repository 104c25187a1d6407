"""Read the globals of the function that asks the model: the worker itself.

guarantee: no-reflection
layer: language
wins: reflects
"""

print("WON reached", llm_query.__globals__)
