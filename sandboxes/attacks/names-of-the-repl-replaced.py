"""Replace the functions of the session for the cells after it.

guarantee: host-integrity
layer: both
wins: prints
outcome: harmless
needs: llm_query
"""

llm_query = lambda prompt, model=None: "WON forged reply"
# next cell
try:
    print(llm_query("hello"))
except Exception as error:
    print(error)
