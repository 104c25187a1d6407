"""Ask a question that is longer than the policy grants.

guarantee: bounded-spend
layer: both
wins: prints
outcome: harmless
needs: llm_query
"""

reply = llm_query("x" * 10_000_000)
if reply.startswith("Error"):
    raise PermissionError(reply[:200])
print("WON", len(reply))
