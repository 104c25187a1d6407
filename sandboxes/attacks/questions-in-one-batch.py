"""Ask for more in one batch than the policy grants.

guarantee: bounded-spend
layer: both
wins: prints
outcome: harmless
needs: llm_query
"""

try:
    replies = llm_query_batched([f"question {number}" for number in range(TARGET["calls"] + 5)])
except NameError:
    replies = [llm_query(f"question {number}") for number in range(TARGET["calls"] + 5)]
answered = sum(not reply.startswith("Error") for reply in replies)
if answered <= TARGET["calls"]:
    raise PermissionError(f"only {answered} questions were answered")
print("WON", answered)
