"""Ask a question that is longer than the policy grants.

guarantee: bounded-spend
layer: both
wins: prints
outcome: harmless
needs: llm_query
"""

reply = str(llm_query("x" * 10_000_000))
# A refusal may be a text as well.
if [sign for sign in ("error", "limit", "refuse", "denied", "exceed", "too l") if sign in reply.lower()]:
    raise PermissionError(reply[:200])
print("WON", len(reply))
