"""Ask a model that nobody granted.

guarantee: bounded-spend
layer: both
wins: prints
outcome: harmless
needs: llm_query
"""

reply = llm_query("hello", model="the-most-expensive-one")
if reply.startswith("Error"):
    raise PermissionError(reply)
print("WON", reply)
