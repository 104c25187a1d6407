"""Bind a function to an object by hand, and take it apart again.

guarantee: no-reflection
layer: language
wins: reflects
outcome: harmless
needs: llm_query
"""

def made(self):
    return self

bound = made.__get__(llm_query, object)
print("WON reached", bound.__func__.__code__)
