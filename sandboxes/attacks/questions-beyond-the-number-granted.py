"""Ask the model more often than the policy grants.

guarantee: bounded-spend
layer: both
wins: prints
outcome: harmless
needs: llm_query
"""

answered = 0
for number in range(TARGET["calls"] + 5):
    try:
        reply = llm_query(f"question {number}")
    except Exception as error:
        reply = f"Error: {error}"
    answered += not reply.startswith("Error")
if answered <= TARGET["calls"]:
    raise PermissionError(f"only {answered} questions were answered")
print("WON", answered)
